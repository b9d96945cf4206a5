"""What goes wrong on a simulated GPU, and when: for tests of what survives it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from unittest.mock import patch

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.simulated import SimulatedGPU
from nbtf.errors import FailedPreconditionError, InternalError

Kind = Literal["oom", "oom_always_above", "async_fault", "invalid_device", "slow"]
"""`async_fault`: the op succeeds, the error comes with the next op or wait, and the device is lost.

Cards that cannot reach each other and kernels that are compiled at first use are the fake CuPy's: a simulated GPU has
neither, its copies go through the host and its time is a function of shapes.
"""


@dataclass
class Fault:
    """One line of the plan.

    `op` and `device` say where (None: everywhere), `nth` at which such op, counted from 1. `amount` is in bytes for
    `oom_always_above`, in seconds for `slow`.
    """

    kind: Kind
    op: str | None = None
    nth: int = 1
    device: str | None = None
    amount: float = 0
    seen: int = 0
    happened: int = 0

    def comes(self, op: str, device: str) -> bool:
        """Counts an op; says whether the fault comes now."""
        if self.op not in (None, op) or self.device not in (None, device):
            return False
        self.seen += 1
        if self.seen == self.nth:
            self.happened += 1
        return self.seen == self.nth


class Faults:
    """A plan of faults for all simulated GPUs."""

    def __init__(self) -> None:
        self.plan: list[Fault] = []
        self.refusing: set[BFCAllocator] = set()
        """Those that refuse what is asked for next."""
        self.lost: dict[Any, InternalError] = {}
        """Devices after an asynchronous fault; the error is told at the next op, copy or wait, and from then on."""

    def inject(self, kind: Kind, **where: Any) -> Fault:
        """Adds a line to the plan."""
        self.plan.append(Fault(kind, **where))
        return self.plan[-1]

    def before(self, device: Any, op: str) -> bool:
        """Raises what an op meets; returns whether the device is lost once it has run."""
        self.check(device)
        coming = [
            fault.kind for fault in self.plan if fault.kind not in _LASTING and fault.comes(op, device.short_name)
        ]
        if "invalid_device" in coming:
            raise FailedPreconditionError(None, None, f"{device.short_name} cannot be used: this GPU does not exist.")
        if "oom" in coming:
            self.refusing.add(device.allocator)
        return "async_fault" in coming

    def check(self, device: Any) -> None:
        """Raises the error of a device that is lost."""
        if device in self.lost:
            raise self.lost[device]

    def refuses(self, nbytes: int) -> bool:
        """Says whether a request is too large for the plan."""
        large = [fault for fault in self.plan if fault.kind == "oom_always_above" and nbytes > fault.amount]
        for fault in large:
            fault.happened += 1
        return bool(large)

    def delay(self, device: Any, op: str) -> float:
        """Returns by how many seconds an op is late; modelled, nobody waits."""
        late = 0.0
        for fault in self.plan:
            if fault.op not in (None, op) or fault.device not in (None, device.short_name):
                continue
            if fault.kind == "slow":
                fault.happened += 1
                late += fault.amount
        return late


_LASTING = ("oom_always_above", "slow")


@contextmanager
def faults() -> Generator[Faults]:
    """A plan that holds for all simulated GPUs inside a `with`."""
    plan = Faults()

    def around(name: str, make: Callable[[Any], Any], owner: type = SimulatedGPU) -> Any:
        return patch.object(owner, name, make(getattr(owner, name)))

    with (
        around("run", lambda run: _running(plan, run)),
        around("allocate", lambda allocate: _allocating(plan, allocate), BFCAllocator),
        around("copy_from", lambda copy: _copying(plan, copy)),
        around("get", lambda get: _waiting(plan, get)),
        around("put", lambda put: _waiting(plan, put)),
        around("synchronize", lambda synchronize: _waiting(plan, synchronize)),
        around("time_of", lambda time_of: _timing(plan, time_of)),
    ):
        yield plan


def _running(plan: Faults, run: Any) -> Any:
    def runs(self: Any, op: Any, *args: Any) -> Any:
        breaks = plan.before(self, op.type)
        results = run(self, op, *args)
        if breaks:
            text = (
                f"{self.short_name} is lost: a kernel used an illegal address. It may have happened in an earlier op."
            )
            plan.lost[self] = InternalError(None, None, text)
        return results

    return runs


def _allocating(plan: Faults, allocate: Any) -> Any:
    def allocates(self: BFCAllocator, nbytes: int, label: object = None) -> Any:
        if nbytes and (self in plan.refusing or plan.refuses(nbytes)):
            plan.refusing.discard(self)
            self.refuse(nbytes, label)
            return None
        return allocate(self, nbytes, label)

    return allocates


def _copying(plan: Faults, copy: Any) -> Any:
    def copies(self: Any, source: Any, buffer: Any, label: Any = None) -> Any:
        plan.check(self)
        plan.check(source)
        return copy(self, source, buffer, label)

    return copies


def _waiting(plan: Faults, function: Any) -> Any:
    def waits(self: Any, *args: Any) -> Any:
        plan.check(self)
        return function(self, *args)

    return waits


def _timing(plan: Faults, time_of: Any) -> Any:
    def takes(self: Any, op: Any, *args: Any) -> Any:
        seconds, kind = time_of(self, op, *args)
        return seconds + plan.delay(self, op.type), kind

    return takes
