"""Answers in five questions whether a GPU is used: is it listed, visible, used, real and faster?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nbtf._counts import counted
from nbtf._devices.cuda.probe import hidden, probe
from nbtf._devices.discovery import gpus
from nbtf._devices.names import short_name
from nbtf._record.events import OpPlaced
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.inventory import DeviceInfo, devices
from nbtf._runtime.placement import in_words

RUNGS = ("listed", "visible", "used", "real", "faster")

# Ops that pass values on and compute nothing; their placement does not show whether a GPU is used.
_COMPUTE_NOTHING = frozenset(
    {"_EagerConst", "Identity", "ReadVariableOp", "VarHandleOp", "AssignVariableOp", "VarIsInitializedOp"}
)


class Rung(NamedTuple):
    """One question and its answer; `holds` is None if it was not asked, and `why` gives the reason."""

    name: str
    holds: bool | None
    why: str


class GpuUse:
    """The result of the check; true only if the last op ran on a real GPU. Prints a sentence and the five rungs."""

    def __init__(self, rungs: list[Rung]) -> None:
        """Stores the answered rungs in order; those after the first failed one are marked as not asked."""
        rung_names = [rung.name for rung in rungs]
        self.rungs: tuple[Rung, ...] = (
            *rungs,
            *[Rung(name, None, "not asked") for name in RUNGS if name not in rung_names],
        )

    def __bool__(self) -> bool:
        """Returns whether a real GPU is used, regardless of whether it is faster."""
        return all([rung.holds for rung in self.rungs[:4]])

    @property
    def sentence(self) -> str:
        """The answer and its reason: `No: this computer lists no GPU`."""
        failed = next((rung for rung in self.rungs[:4] if rung.holds is False), None)
        return f"No: {failed.why}" if failed else f"Yes: {self.rungs[3].why}"

    @property
    def rung(self) -> str:
        """The first rung that does not hold, or the last one."""
        return next((rung.name for rung in self.rungs if rung.holds is False), RUNGS[-1])

    def __repr__(self) -> str:
        """Returns the sentence, followed by one line for each rung."""
        marks = {True: "yes", False: "no", None: "–"}
        return "\n".join([self.sentence, *[f"  {rung.name:8}{marks[rung.holds]:4} {rung.why}" for rung in self.rungs]])


def gpu_use(compute: Callable[[], object], compare: Callable[[str], tuple[bool, str]]) -> GpuUse:
    """Answers the five questions in order.

    Args:
      compute: runs a small matrix product under a recorder; called if no op was recorded.
      compare: returns for a real GPU's name whether it is faster than the CPU, and the figures as text.
    """
    context = CURRENT.context
    rungs = [_listed(context), _visible(context)]
    if rungs[0].holds is False:
        return GpuUse(rungs[:1])
    if not rungs[1].holds:
        return GpuUse(rungs)
    placed = _last_op(context)
    if placed is None:
        compute()
        placed = _last_op(context)
    rungs.append(_used(placed))
    if placed is None or not rungs[2].holds:
        return GpuUse(rungs)
    name = short_name(placed.device)
    device = next(info for info in devices() if info.name == name)
    rungs.append(_real(placed.op, device))
    if rungs[3].holds:
        rungs.append(Rung("faster", *compare(name)))
    return GpuUse(rungs)


def _listed(context: Context) -> Rung:
    configuration = context.configuration
    gpu_count = len(configuration.physical) - 1
    if configuration.machine is not None:
        return Rung("listed", True, counted(len(gpus(configuration.machine, {})), "simulated GPU"))
    if gpu_count:
        return Rung("listed", True, counted(gpu_count, "GPU"))
    if hidden(configuration.environ):
        return Rung("listed", None, "not asked: a process cannot count GPUs that are hidden from it")
    return Rung("listed", False, f"this computer lists no GPU: {probe(configuration.environ).reason}")


def _visible(context: Context) -> Rung:
    configuration = context.configuration
    present = configuration.physical[1:]
    used = configuration.used("GPU")
    if used:
        return Rung("visible", True, f"this process uses {len(used)} of them")
    switched_off = hidden(configuration.environ)
    if present:
        reason = "tf.config.set_visible_devices hides all GPUs"
    elif switched_off:
        reason = switched_off
    else:
        reason = f"CUDA_VISIBLE_DEVICES={configuration.environ.get('CUDA_VISIBLE_DEVICES', '')} leaves no GPU"
    return Rung("visible", False, reason)


def _used(placed: OpPlaced | None) -> Rung:
    if placed is None:
        return Rung("used", False, "no op has run")
    headline, _, explanation = in_words(placed.op, placed.device, placed.reason).partition(": ")
    return Rung("used", headline.startswith("GPU"), f"{placed.op} ran on {headline}: {explanation}")


def _real(op: str, device: DeviceInfo) -> Rung:
    if device.simulated:
        return Rung("real", False, f"{op} ran on {device.name}, which is simulated (NumPy on this CPU)")
    return Rung("real", True, f"{op} ran on {device.name}, {device.model} ({device.bus_id})")


def _last_op(context: Context) -> OpPlaced | None:
    """Returns the recorded placement of the last op that computed something."""
    listening = [recorder for _, recorder in context.observers.note_takers]
    for recorder in filter(None, (*listening, context.last_recorder)):
        for event in reversed(recorder.snapshot().events):
            if isinstance(event, OpPlaced) and event.op not in _COMPUTE_NOTHING:
                return event
    return None
