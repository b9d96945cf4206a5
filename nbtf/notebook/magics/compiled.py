"""`%gpu_memory --compiled NAME`: what memory has JAX planned for a function?"""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from nbtf import runtime
from nbtf.notebook.session import Session
from nbtf.notebook.tables import Column, Table, size

COLUMNS = Column("part", "planned by XLA"), Column("nbytes", "bytes", size, number=True)
PLANNED = (
    "Planned, not measured: other arrays, what JAX's allocator rounds up or keeps, and what cuBLAS or cuDNN take while "
    "it runs are not in it. %gpu_memory --who lists the arrays that there are."
)
NO_PEAK = "How much of it is in use at one moment this release of JAX does not tell: together at most."
FOR_HOST = "It is compiled for the CPU: for a GPU XLA plans other temporaries."


def plan_of(session: Session, name: str) -> Table:
    """Returns what is planned for the compiled function that a variable holds.

    Args:
      session: whose shell has the variable.
      name: of the variable.

    Raises:
      UsageError: there is none, or it holds something else.
    """
    namespace: dict[str, Any] = session.shell.user_ns
    if name not in namespace:
        raise UsageError(
            f"%gpu_memory --compiled: there is no variable {name}. compiled = jax.jit(f).lower(x).compile()"
        )
    try:
        plan = runtime.compiled_memory(namespace[name])
    except (TypeError, ValueError) as error:
        raise UsageError(f"%gpu_memory --compiled: {error}") from None
    figures = {
        "arguments": plan.arguments,
        "results": plan.results,
        "results in the place of donated arguments": -plan.reused,
        "temporaries": plan.temporaries,
        "code": plan.code,
        "together at most": plan.at_most,
        "at its peak": plan.peak,
    }
    rows = [{"part": label, "nbytes": nbytes} for label, nbytes in figures.items() if nbytes is not None]
    devices = f"each of {plan.device_count} devices" if plan.device_count > 1 else "a device"
    notes = [f"{name}, on {devices} of the platform {plan.platform}.", PLANNED]
    notes += [NO_PEAK] if plan.peak is None else []
    notes += [FOR_HOST] if plan.platform == "cpu" else []
    return Table(COLUMNS, rows, notes)
