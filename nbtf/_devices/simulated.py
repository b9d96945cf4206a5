"""A GPU made of NumPy: real arrays in this computer's memory, charged as on the card that it stands for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from nbtf._devices import cost, exhausted
from nbtf._devices.backends import MemoryOptions, MemoryRequest
from nbtf._devices.base import (
    GPU,
    Buffer,
    Device,
    Label,
    Made,
    Runnable,
    Spec,
    arrays_of,
    buffer_of,
    nbytes_of,
)
from nbtf._devices.bfc.allocator import BFCAllocator, Driver
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.bfc.memory import BFCMemory
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.collectives import COLLECTIVE
from nbtf._devices.cpu import bound
from nbtf._devices.exhausted import Request
from nbtf._devices.host_memory import available_bytes
from nbtf._devices.journal import Box, Journal
from nbtf._devices.lent import memory_of_lent
from nbtf._devices.limits import decide, garbage_collection, memory_limit, resolve_growth
from nbtf._devices.names import full_name
from nbtf._devices.sites import CallSite, Site
from nbtf._locks import new_lock
from nbtf._types import DType, as_dtype, float32
from nbtf.errors import ResourceExhaustedError

# TensorFlow's own buffer, taken just before the first op. Source: BaseGPUDevice::InitScratchBuffers, gpu_device.cc.
_SCRATCH = Label("scratch", "uint8", (1028,))
# A look at the computer's memory takes 0.1 ms. Small requests are not worth it; after one, a part of what was seen
# may be taken without another, for a while.
_WORTH_A_LOOK = 1 << 20
_LOOK_PART = 1 / 16
_LOOK_SECONDS = 0.1
# What is left to the rest of the program: kernels need room for intermediate results.
_LEFT_FREE = 64 << 20
_REMEMBERED = 4096
"""Requests of ops that are remembered, with the labels of their results."""
_SURELY_FITS = 1 << 20
"""A card and a limit of so many bytes have room for the scratch buffer, whatever is asked of them later."""


QuickRequest: TypeAlias = "tuple[Callable[..., Any], int, Label]"
"""What the lane needs to know of an op: its function, and bytes and label of its result."""


def open_card(card: PhysicalGPU) -> Driver:
    """Returns the driver of a card: which part of its memory is free."""
    return memory_of_lent(card) or Driver(card.memory_bytes)


class MemoryPlan(NamedTuple):
    """The rules of an allocator that nobody has needed so far; see `BFCAllocator`."""

    limit: int
    growth: bool = False
    garbage_collection: bool = True
    fragmentation_fraction: float = 0.0
    driver: Driver | None = None
    name: str = "GPU_0_bfc"

    def allocator(self) -> BFCAllocator:
        """Returns an allocator that has taken nothing yet."""
        return BFCAllocator(
            self.limit,
            growth=self.growth,
            garbage_collection=self.garbage_collection,
            fragmentation_fraction=self.fragmentation_fraction,
            driver=self.driver,
            name=self.name,
        )


def plan_memory(card: PhysicalGPU, shared: Driver, request: MemoryRequest) -> MemoryPlan:
    """Returns how a GPU will take memory of its card."""
    options, environ = request.options, request.environ
    facts = card.memory_bytes, shared.free, card.card.compute_capability, options, request.limit_mib
    rules = _rules(*facts, environ) if decide(environ) else _usual_rules(*facts)
    # Unified memory oversubscribes the card.
    driver = None if options.unified or (options.fraction or 0) > 1 else shared
    return MemoryPlan(*rules, options.fragmentation, driver, f"GPU_{request.number}_bfc")


@lru_cache(maxsize=64)
def _usual_rules(
    total: int, free: int, capability: tuple[int, int], options: MemoryOptions, limit_mib: float | None
) -> tuple[int, bool, bool]:
    """Returns what `_rules` does where no variable has a say: the same for a thousand cards."""
    return _rules(total, free, capability, options, limit_mib, {})


def _rules(
    total: int,
    free: int,
    capability: tuple[int, int],
    options: MemoryOptions,
    limit_mib: float | None,
    environ: Mapping[str, str],
) -> tuple[int, bool, bool]:
    """Returns the limit of a GPU's memory, whether it grows with use, and whether idle regions may be given back."""
    limit = memory_limit(
        total=total,
        free=free,
        compute_capability=capability,
        fraction=options.fraction,
        logical_limit_mib=limit_mib,
        unified=options.unified,
        environ=environ,
    )
    return limit, resolve_growth(options.growth, environ), garbage_collection(environ)


def build_gpu(index: int, card: PhysicalGPU, memory: MemoryPlan, alone: bool) -> GPU:
    """Returns `GPU:index`."""
    return SimulatedGPU(index, card, memory, alone and memory_of_lent(card) is None)


class SimulatedGPU(GPU):
    """One logical GPU on a simulated card.

    Its arrays are its own: what goes in and out is copied. The allocator is asked before host memory is touched; the
    chunk it grants is the hold of the buffer.

    The first op has all GPUs map memory, but few programs look at a thousand of them. Where nobody listens and nobody
    else is on the card, the allocator is made by the first look, and has then what it would have had all the time.
    """

    xp = np
    _opening = new_lock()
    simulated = models_time = updates_in_place = tells_pieces = lane = records_in_lane = is_exact = True

    def __init__(self, index: int, card: PhysicalGPU, plan: MemoryPlan, alone: bool = False) -> None:
        """Makes `GPU:index`.

        Args:
          index: the number of the logical device.
          card: the physical GPU it is on, or on a part of which.
          plan: how it takes its part of the card's memory.
          alone: whether nobody else takes memory of the card.
        """
        self.index = index
        self.name = full_name("GPU", index, card.task)
        self.task = card.task
        self.constants = {}
        self.card = card
        self._plan, self._alone = plan, alone
        self._allocator: BFCAllocator | None = None
        self._memory: BFCMemory | None = None
        self._scratch: Chunk | None = None
        self._is_late = False
        """Whether the first look has it map memory, as if it had long done so."""
        self._requests: dict[tuple[object, ...], tuple[int, Label]] = {}
        self._quick: dict[tuple[object, ...], QuickRequest] = {}
        self._functions: dict[Any, Callable[..., Any]] = {}
        self._journal: Journal | None = None
        self._unlooked = 0
        self._look_again = 0.0

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in."""
        return self._copied_in(array, array.copy, label)

    def put_scalar(self, array: np.ndarray[Any, Any], label: Label) -> Buffer:
        """Charges a scalar that nobody ever changes: that it is one array each time cannot be seen."""
        return buffer_of(array, self._charge(array.nbytes, label, copied=True))

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one."""
        return self._copied_in(buffer._array, lambda: source.get(buffer), label)

    def _copied_in(self, array: Any, copy: Callable[[], Any], label: Label | None) -> Buffer:
        label = label or Label("copy", as_dtype(array.dtype).name, array.shape)
        allocation = self._charge(array.nbytes, label, copied=True)
        try:
            self._look_at_computer(array.nbytes)
            return buffer_of(copy(), allocation)
        except MemoryError as error:
            self._give_back([allocation])
            raise self._computer_is_too_small(array.nbytes, label, error, copied=True) from error

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copies a buffer out."""
        array = buffer._array
        try:
            self._look_at_computer(array.nbytes)
            return array.copy()
        except MemoryError as error:
            label = Label("copy", as_dtype(array.dtype).name, array.shape)
            raise self._computer_is_too_small(array.nbytes, label, error, copied=True) from error

    def run(
        self,
        op: Runnable,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        """Runs a kernel with NumPy, after the allocator has granted its results."""
        if self._scratch is None:
            self._map_first()
        arrays = arrays_of(buffers)
        if op.shares_memory:
            return [buffer_of(array, _hold_shown(array, buffers)) for array in self._results(op, arrays, attrs)]
        allocations: list[Chunk | None] = []
        try:
            if specs is not None:
                self._charge_results(op, specs, site, allocations)
            return self._owned(op, self._results(op, arrays, attrs), arrays, allocations, site)
        except MemoryError as error:
            self._give_back(allocations)
            raise self._computer_is_too_small(*_first(op, specs, error), error) from error
        except BaseException:
            # Now, not when the traceback dies: a notebook keeps the last one.
            self._give_back(allocations)
            raise

    def quick(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Is the express lane: returns the one array that an op makes, and what holds its memory.

        The kernel runs first, since the road may have to run it again, and must then find the account as it was: only
        small results may be made before the allocator is asked.

        Raises:
          LookupError: the road must do it: a result that is large or whose size is not known before, or any error.
        """
        if op.shares_memory:
            return self.view(op, inputs, attrs)
        key = (op, attrs, *[(buffer._array.shape, buffer._dtype, buffer._host) for buffer in inputs])
        try:
            request = self._quick.get(key)
        except TypeError:  # lists among the attributes
            key = (op, tuple([tuple(attr) if attr.__class__ is list else attr for attr in attrs]), *key[2:])
            request = self._quick.get(key)
        if request is None:
            if len(self._quick) >= _REMEMBERED:
                self._quick.clear()
            request = self._quick[key] = self.quick_request(op, inputs, attrs)
        return self.granted(op, inputs, attrs, request)

    def granted(
        self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], request: QuickRequest
    ) -> tuple[Any, Any]:
        """Returns what `quick` does, where it is known what the op asks for; nothing is refused where somebody listens.

        Raises:
          LookupError: the road must do it.
        """
        function, nbytes, label = request
        arrays = [buffer._array for buffer in inputs]
        array = function(*arrays, *attrs)
        if array.__class__ is not np.ndarray:
            array = np.asarray(array)
        elif not op.function:
            owner = array if array.base is None else array.base
            for input_array in arrays:
                if owner is input_array or owner is input_array.base:
                    array = array.copy()
                    break
        allocator = self._allocator
        if array.nbytes != nbytes or allocator is None or not (self._journal is None or allocator.has_room(nbytes)):
            raise LookupError
        chunk = allocator.allocate(nbytes, label)
        if chunk is None and nbytes:
            raise LookupError
        return array, chunk

    def view(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Returns an array that shows the memory of an input, and what holds that."""
        if self._scratch is None:
            raise LookupError
        function = self._functions.get(op)
        if function is None:
            function = self._functions[op] = bound(op)
        arrays: list[Any] = []
        holds: list[Any] = []
        for buffer in inputs:
            if buffer._host:
                raise LookupError
            array, hold = buffer._array, buffer._allocation  # together: see `Variable._take`
            arrays.append(array)
            holds.append(hold)
        array = function(*arrays, *attrs)
        return array, next((hold for x, hold in zip(arrays, holds, strict=True) if x is array), holds[0])

    def quick_request(
        self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...], site: CallSite | None = None
    ) -> QuickRequest:
        """Returns what the lane needs to know of an op.

        Raises:
          LookupError: the road must do it.
        """
        if self._scratch is None or any([buffer._host for buffer in inputs]):
            raise LookupError
        specs = op.specs(inputs, op.normalised(dict(zip(op.attrs, attrs, strict=True))))
        if not specs or None in specs[0].shape:
            raise LookupError
        nbytes, label = self._new_request(op, specs[0].shape, specs[0].dtype, site)
        if nbytes >= _WORTH_A_LOOK:
            raise LookupError
        return bound(op), nbytes, label

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long the card would take; the time that NumPy took is of no interest."""
        if op.shares_memory or op.type == COLLECTIVE:
            return 0.0, "modelled"
        nbytes = sum(nbytes_of(shape, dtype) for shape, dtype in (*inputs, *outputs))
        work = cost.operations(op.type, [shape for shape, _ in inputs], [shape for shape, _ in outputs])
        return cost.op_seconds(self.card.card, nbytes, work), "modelled"

    def copy_time_of(self, nbytes: int, seconds: float) -> tuple[float, bool]:
        """Returns how long the copy would take on the card's bus."""
        return cost.copy_seconds(self.card.card, nbytes), True

    def synchronize(self) -> None:
        """Does nothing: NumPy has finished when it returns."""

    def close(self) -> None:
        """Gives the memory back to the card; the arrays of this device's buffers can still be read."""
        if self._allocator is not None or self._journal is not None:  # who listens hears that its buffer is freed
            self.allocator.close()

    # Memory

    @property
    def allocator(self) -> BFCAllocator:
        """Its part of the card's memory."""
        return self._allocator or self._open()

    @property
    def memory(self) -> BFCMemory:  # pyright: ignore[reportIncompatibleVariableOverride]  # made by the first look
        """The account of that."""
        if self._memory is None:
            self._open()
        return cast("BFCMemory", self._memory)

    def _open(self) -> BFCAllocator:
        """Makes the allocator, unless another thread has; what is late is done before anybody listens."""
        with self._opening:
            allocator = self._allocator
            if allocator is None:
                allocator = self._plan.allocator()
                memory, scratch = BFCMemory(allocator), self._scratch
                if self._is_late:
                    scratch = allocator.allocate(_SCRATCH.shape[0], _SCRATCH)
                allocator.keep_journal(self._journal)
                self._allocator, self._memory, self._scratch = allocator, memory, scratch  # all or nothing: no calls
        return allocator

    def keep_journal(self, journal: Journal | None) -> None:
        """Takes down from now on what happens to the pieces of its memory, or no longer."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            if self._allocator is not None:
                self._allocator.keep_journal(journal)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts what was taken down since the last time into boxes."""
        if self._allocator is not None:
            self._allocator.hand_over(boxes)

    @property
    def started(self) -> bool:
        """Whether it has mapped memory; the first op does, if nobody did before."""
        return self._is_late or self._scratch is not None

    def use(self, memory: MemoryPlan) -> None:
        """Takes memory by another plan, before it has started."""
        self._plan, self._allocator, self._memory = memory, None, None

    def fresh_allocator(self, limit: int | None) -> BFCAllocator:
        """Returns an unused allocator with the rules of this GPU's, for another limit."""
        return self.allocator.fresh(limit)

    def start(self) -> None:
        """Maps the first memory as TensorFlow does; later, where nobody can tell."""
        fits = min(self._plan.limit, self.card.memory_bytes) >= _SURELY_FITS
        if self._alone and fits and self._journal is None and self._allocator is None:
            self._is_late = True
        else:
            self._map_first()

    def _map_first(self) -> None:
        """Maps the first memory, with TensorFlow's own buffer in front."""
        allocator = self.allocator
        with self._opening:
            if self._scratch is None:
                self._scratch = allocator.allocate(_SCRATCH.shape[0], _SCRATCH)

    def _charge(self, nbytes: int, label: Label, copied: bool = False) -> Chunk | None:
        """Takes memory on the card; an empty tensor takes none."""
        if self._scratch is None:
            self._map_first()
        chunk = self.allocator.allocate(nbytes, label)
        if chunk is None and nbytes:
            raise self._card_is_full(nbytes, label, copied)
        return chunk

    def _card_is_full(self, nbytes: int, label: Label, copied: bool = False) -> ResourceExhaustedError:
        device_text = f"simulated {self.short_name} ({self.card.card.name})"
        request, card = self._request(nbytes, label, copied), self.card.memory_bytes
        return ResourceExhaustedError(exhausted.card_is_full(request, device_text, self.allocator, card))

    def _give_back(self, allocations: Sequence[Chunk | None]) -> None:
        for chunk in allocations:
            if chunk is not None:
                self.allocator.free(chunk)

    def _request(self, nbytes: int, label: Label, copied: bool) -> Request:
        return Request(nbytes, label.shape, as_dtype(label.dtype).c_name, self.name, copied)

    def _look_at_computer(self, nbytes: int) -> None:
        """Raises `MemoryError` if this computer has no room, before it is filled to the point where programs die."""
        if nbytes < _WORTH_A_LOOK:
            return
        now = time.monotonic()
        self._unlooked -= nbytes
        if self._unlooked < 0 or now > self._look_again:
            available = available_bytes()
            if nbytes > available - min(_LEFT_FREE, available // 8):
                raise _NoRoomError(available)
            self._unlooked, self._look_again = int(available * _LOOK_PART), now + _LOOK_SECONDS

    def _computer_is_too_small(
        self, nbytes: int, label: Label, error: MemoryError, copied: bool = False
    ) -> ResourceExhaustedError:
        self.allocator.refuse(nbytes, label)
        stats = self.allocator.stats()
        text = exhausted.computer_is_too_small(
            self._request(nbytes, label, copied),
            f"simulated {self.short_name}",
            stats.bytes_limit - stats.bytes_in_use,
            error.available if isinstance(error, _NoRoomError) else None,
            self.allocator.name,
        )
        return ResourceExhaustedError(text)

    # Kernels

    @staticmethod
    def _results(op: Runnable, arrays: list[Any], attrs: Mapping[str, Any]) -> list[Any]:
        try:
            results = op.kernel(np, *arrays, **attrs)
        except (FloatingPointError, RuntimeWarning):  # as on the CPU, which says why
            with np.errstate(all="ignore"):
                results = op.kernel(np, *arrays, **attrs)
        if results.__class__ is tuple or results.__class__ is list:
            return [np.asarray(array) for array in results]
        return [np.asarray(results)]

    def _charge_results(
        self, op: Runnable, specs: Sequence[Spec], site: Site | CallSite, allocations: list[Chunk | None]
    ) -> None:
        """Takes the memory of all results whose size is known before the kernel has run."""
        total = 0
        for shape, dtype in specs:
            try:
                nbytes, label = self._requests[op, shape, dtype, id(site)]
            except KeyError:
                if None in shape:
                    return
                nbytes, label = self._new_request(op, cast("tuple[int, ...]", shape), dtype, site)
            chunk = self.allocator.allocate(nbytes, label)
            if chunk is None and nbytes:
                raise self._card_is_full(nbytes, label)
            allocations.append(chunk)
            total += nbytes
        if total >= _WORTH_A_LOOK:
            self._look_at_computer(total)

    def _new_request(
        self, op: Runnable, shape: tuple[int, ...], dtype: DType, site: Site | CallSite
    ) -> tuple[int, Label]:
        """Returns bytes and label of a result: the same as long as they are remembered, as is the place."""
        if len(self._requests) >= _REMEMBERED:
            self._requests.clear()
        request = math.prod(shape) * dtype.size, Label(op.type, dtype.name, shape, site)
        self._requests[op, shape, dtype, id(site)] = request
        return request

    def _owned(
        self, op: Runnable, results: list[Any], arrays: list[Any], allocations: list[Chunk | None], site: Any
    ) -> list[Buffer]:
        """Returns buffers that own what they show, each with a chunk of its size."""
        owning_buffers: list[Buffer] = []
        for number, array in enumerate(results):
            owner = array if array.base is None else array.base
            for input_array in arrays:
                if owner is input_array or input_array.__class__ is list or owner is input_array.base:
                    array = _copy_if_shared(array, arrays)
                    break
            allocation = allocations[number] if number < len(allocations) else None
            if (array.nbytes != allocation._block.requested) if allocation is not None else array.nbytes:
                if allocation is not None:
                    self.allocator.free(allocation)
                label = Label(op.type, as_dtype(array.dtype).name, array.shape, site)
                allocation = self._charge(array.nbytes, label)
                allocations.append(allocation)
            owning_buffers.append(buffer_of(array, allocation))
        return owning_buffers


def _hold_shown(array: Any, buffers: Sequence[Buffer]) -> Any:
    """Returns the hold of the input that a result is; of the first if it is a view of it, or an update in its place."""
    return next((buffer for buffer in buffers if buffer._array is array), buffers[0])._allocation


def _copy_if_shared(array: Any, inputs: list[Any]) -> Any:
    """Returns a copy of an array that shows the memory of an input.

    On a card a slice or a transposed matrix is written out; it does not keep the whole input alive.
    """
    owner = array if array.base is None else array.base
    for input_array in inputs:
        if input_array.__class__ is list:
            array = _copy_if_shared(array, input_array)
        elif owner is input_array or owner is input_array.base:
            return array.copy()
    return array


def _first(op: Runnable, specs: Sequence[Spec] | None, error: MemoryError) -> tuple[int, Label]:
    """Returns bytes and label of what a message is about: the first result, or the array that NumPy could not make."""
    if specs and None not in specs[0].shape:
        shape, dtype = specs[0]
    else:
        shape, dtype = getattr(error, "shape", ()), as_dtype(getattr(error, "dtype", float32))
    lengths = cast("tuple[int, ...]", shape)
    return math.prod(lengths) * dtype.size, Label(op.type, dtype.name, lengths)


class _NoRoomError(MemoryError):
    """This computer has too little left."""

    def __init__(self, available: int) -> None:
        """Keeps how much it has."""
        super().__init__()
        self.available = available
