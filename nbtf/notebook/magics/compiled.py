"""`%gpu_memory --compiled NAME`: how much memory has JAX planned for a function?"""

from __future__ import annotations

from typing import Any

from nbtf import runtime
from nbtf.notebook.session import Session
from nbtf.notebook.tables import Column, Table, size
from nbtf.notebook.usage_error import UsageError

COLUMNS = Column("part", "planned by XLA"), Column("nbytes", "bytes", size, number=True)
PLANNED = (
    "Planned, not measured: excludes other arrays, memory that JAX's allocator rounds up or keeps, and memory that "
    "cuBLAS or cuDNN use while it runs. %gpu_memory --who lists the existing arrays."
)
NO_PEAK = "This release of JAX does not report the peak, only the upper bound of all parts together."
FOR_HOST = "It is compiled for the CPU. For a GPU, XLA plans other temporaries."


def plan_of(session: Session, name: str) -> Table:
    """Returns the memory plan of the compiled function in a variable.

    Args:
      session: the session whose shell has the variable.
      name: the variable's name.

    Raises:
      UsageError: if there is no such variable, or its value is something else.
    """
    namespace: dict[str, Any] = session.shell.user_ns
    if name not in namespace:
        raise UsageError(
            f"%gpu_memory --compiled: no variable {name}. Compile one with {name} = jax.jit(f).lower(x).compile()"
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
