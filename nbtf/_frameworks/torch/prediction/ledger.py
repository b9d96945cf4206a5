"""Records what each allocation is for, and which allocations make up the peak."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakSet, WeakValueDictionary

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation, Block, Death
from nbtf._frameworks.torch.modules import ModuleStack
from nbtf._frameworks.torch.prediction.callers import Callers, PredictedPiece
from nbtf._frameworks.torch.prediction.module_shares import module_shares
from nbtf._frameworks.torch.simulation.recurrent import RESERVE

PURPOSES = ("parameters", "gradients", "optimizer", "activations", "inputs", "temporaries")
"""Purposes of memory, in the order in which they are reported."""

FORWARD, BACKWARD, STEP, COPY, NO_GRADIENT = "forward", "backward", "step", "copy", "no gradient"
"""Phases in which memory is allocated."""

_PURPOSE_OF = {FORWARD: "activations", COPY: "inputs"}
"""Purposes by phase, for memory of no parameter, gradient or optimizer; in other phases it is temporary."""


class Peak(NamedTuple):
    """The peak of a device: bytes in use, bytes by purpose, the line that reached it, and the most bytes reserved.

    `by_module` are the bytes by part of the model; the path is empty for memory of no module. Gradients and optimizer
    state belong to the module of their parameter, and other memory to the module that ran.
    `modelled` counts the bytes whose size only a library on a real card knows. `number` is the allocation that reached
    the peak, counted over all devices.
    """

    device: int
    allocated: int
    reserved: int
    line: str
    by_purpose: dict[str, int]
    by_module: dict[str, int]
    retries: int
    ooms: int
    modelled: int
    number: int


class Ledger:
    """Records allocations and frees, and learns from modules and optimizers what the memory was for."""

    def __init__(
        self, torch: Any, line: Callable[[], str], check: Callable[[], object], callers: Callers | None = None
    ) -> None:
        """Stores what it calls and records.

        Args:
          torch: PyTorch.
          line: returns the current program line.
          check: called before each allocation; it may raise an error.
          callers: records the calls that lead to each allocation; None records none.
        """
        self._torch, self._line, self.check, self.callers = torch, line, check, callers
        self.phase: str | None = None
        """The phase when PyTorch does not show it: an optimizer step or a copy."""
        self.is_saving = False
        """Whether `torch.save` is copying tensors to the host, which does not count as reading values."""
        self.steps = 0
        self.allocations = 0
        self._steps_at_peak = 0
        self.modelled: set[int] = set()
        """Numbers of allocations whose size is modelled."""
        self._purposes: dict[int, str] = {}
        self._modules: dict[int, str] = {}
        """The path of the module of each allocation, if it has one."""
        self._paths: dict[int, str] = {}
        """The path of the module of each parameter, by id."""
        self._running = threading.local()
        self._numbers: dict[tuple[int, int], int] = {}
        self._optimizers: WeakSet[Any] = WeakSet()
        self._parameters: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by id: tensors compare their values

    def phase_now(self) -> str:
        """Returns the current phase."""
        if self.phase is not None:
            return self.phase
        if self._torch._C._current_autograd_node() is not None:
            return BACKWARD
        return FORWARD if self._torch.is_grad_enabled() else NO_GRADIENT

    @property
    def steps_without_peak(self) -> int:
        """Returns the number of optimizer steps since the peak last rose or the cell began."""
        return self.steps - self._steps_at_peak

    def reach_peak(self) -> str:
        """Records a new peak, and returns the program line that reached it."""
        self._steps_at_peak = self.steps
        return self._line()

    def begin_cell(self) -> None:
        """Resets the count of `steps_without_peak`."""
        self._steps_at_peak = self.steps

    def current_line(self) -> str:
        """Returns the program line that is running."""
        return self._line()

    def purpose(self, number: int, phase: str) -> str:
        """Returns the purpose of an allocation."""
        return self._purposes.get(number) or _PURPOSE_OF.get(phase, "temporaries")

    def module(self, number: int) -> str:
        """Returns the path of the module of an allocation; empty if it has none."""
        return self._modules.get(number, "")

    def tell_module(self, number: int) -> None:
        """Records that the running module makes an allocation."""
        path = self._stack().current.path
        if path:
            self._modules[number] = path

    # Learning what the memory is for

    def listen(self) -> Iterator[Any]:
        """Observes modules and optimizers; yields the handles that end the observation."""
        optimizers = sys.modules[self._torch.optim.Optimizer.__module__]
        hooks = self._torch.nn.modules.module
        yield hooks.register_module_forward_pre_hook(self._see_module)
        yield hooks.register_module_forward_hook(self._see_end, always_call=True)
        yield optimizers.register_optimizer_step_pre_hook(self._see_step)
        yield optimizers.register_optimizer_step_post_hook(self._see_state)

    def _stack(self) -> ModuleStack:
        """Returns the modules that run on this thread."""
        return self._running.__dict__.setdefault("modules", ModuleStack())

    def _see_end(self, module: Any, *_: Any) -> None:
        self._stack().end(module)

    def _see_module(self, module: Any, _: Any) -> None:
        self._stack().begin(module)
        path = self._stack().current.path
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None and tensor.is_cuda and tensor.is_leaf:  # otherwise `functional_call` computed it
                self._mark(tensor, "parameters", path)
                if tensor.requires_grad and self._parameters.get(id(tensor)) is not tensor:
                    self._parameters[id(tensor)], self._paths[id(tensor)] = tensor, path

    def _see_step(self, optimizer: Any, *_: Any) -> None:
        self.phase = STEP
        self._optimizers.add(optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if self._parameters.get(id(parameter)) is not parameter:
                    self._parameters[id(parameter)], self._paths[id(parameter)] = parameter, ""
                path = self._paths[id(parameter)]
                self._mark(parameter, "parameters", path)
                self._mark(parameter.grad, "gradients", path)

    def _see_state(self, optimizer: Any, *_: Any) -> None:
        self.phase = None
        self.steps += 1
        self._mark_state(optimizer)

    def _mark_state(self, optimizer: Any) -> None:
        for parameter, state in optimizer.state.items():
            for value in state.values():
                self._mark(value, "optimizer", self._paths.get(id(parameter), ""))

    def _mark(self, tensor: Any, purpose: str, path: str) -> None:
        if isinstance(tensor, self._torch.Tensor) and tensor.is_cuda:
            number = self._numbers.get((tensor.get_device(), _address(tensor)))
            if number is not None:
                self._purposes[number], self._modules[number] = purpose, path

    def tell_address(self, device: int, address: int, number: int) -> None:
        """Records which allocation is at an address, so that its tensors can be recognized."""
        self._numbers[device, address] = number

    def finish(self) -> None:
        """Finds the tensors that no step reported: unused gradients, and the optimizer state of a failed step."""
        for parameter in [*self._parameters.values()]:
            self._mark(parameter.grad, "gradients", self._paths[id(parameter)])
        for optimizer in self._optimizers:
            self._mark_state(optimizer)


class WatchedAllocator(CachingAllocator):
    """An allocator that records its allocations and frees in order."""

    ledger: Ledger

    def watch(self, ledger: Ledger) -> None:
        """Starts recording into a ledger."""
        self.ledger = ledger
        self._events: list[tuple[int, int, str]] = []
        self._highest, self._peak_event, self._peak_number, self._peak_line = 0, 0, 0, ""

    def begin(self) -> int:
        """Starts a new peak with an empty cache, and returns how many bytes the cache held."""
        cached = self.empty_cache()
        self._highest, self._peak_event, self._peak_line = self.level()[0], len(self._events), ""
        self.reset_peak_stats()
        return cached

    def allocate(self, nbytes: int, stream: int = 0, label: Any = None) -> Allocation | None:
        """Allocates memory, and records the line if it reaches a new peak."""
        ledger = self.ledger
        ledger.check()
        number = ledger.allocations = ledger.allocations + 1
        phase = ledger.phase_now()
        if label is not None and label.op.startswith(RESERVE):
            ledger.modelled.add(number)
        try:
            allocation = super().allocate(nbytes, stream, number)
        except Exception:
            self._peak_line = ledger.current_line()  # a request that does not fit ends the program on this line
            raise
        if allocation is not None:
            self._events.append((number, allocation.size, phase))
            ledger.tell_address(self.device, allocation.address, number)
            ledger.tell_module(number)
            if ledger.callers is not None:
                ledger.callers.record(number, nbytes, sys._getframe(1))
            allocated = self.level()[0]
            if allocated > self._highest:
                self._highest, self._peak_event, self._peak_number = allocated, len(self._events), number
                self._peak_line = ledger.reach_peak()
        return allocation

    def _end_use(self, death: Death, block: Block) -> None:
        number: Any = block.label
        self._events.append((number, -block.size, ""))
        super()._end_use(death, block)

    def peak(self) -> Peak:
        """Returns what was in use at the peak, and its purposes."""
        alive = self._alive_at_peak()
        sizes, modules = Counter[str](), Counter[str]()
        for number, (size, phase) in alive.items():
            sizes[self.ledger.purpose(number, phase)] += size
            modules[self.ledger.module(number)] += size
        stats = self.stats()
        return Peak(
            device=self.device,
            allocated=self._highest,
            reserved=stats["reserved_bytes.all.peak"],
            line=self._peak_line,
            by_purpose={purpose: sizes[purpose] for purpose in PURPOSES},
            by_module=module_shares(modules),
            retries=stats["num_alloc_retries"],
            ooms=stats["num_ooms"],
            modelled=sum([size for number, (size, _) in alive.items() if number in self.ledger.modelled]),
            number=self._peak_number,
        )

    def pieces_at_peak(self) -> list[PredictedPiece]:
        """Returns the allocations in use at the peak, the oldest first; none if callers are not recorded."""
        callers = self.ledger.callers
        if callers is None:
            return []
        return [callers.piece(number, size) for number, (size, _) in self._alive_at_peak().items()]

    def _alive_at_peak(self) -> dict[int, tuple[int, str]]:
        """Returns size and phase of the allocations in use at the peak, by number."""
        alive: dict[int, tuple[int, str]] = {}
        for number, size, phase in self._events[: self._peak_event]:
            if size > 0:
                alive[number] = size, phase
            else:
                alive.pop(number, None)
        return alive


def _address(tensor: Any) -> int:
    """Returns the start address of the memory that holds a tensor."""
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
