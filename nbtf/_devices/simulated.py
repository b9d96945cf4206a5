"""A simulated GPU: NumPy arrays in this computer's memory, charged as on the real card."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from nbtf._devices import cost
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
    label_of,
    nbytes_of,
)
from nbtf._devices.bfc.allocator import Driver
from nbtf._devices.bfc.chunks import Chunk
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.collectives import COLLECTIVE
from nbtf._devices.lent import memory_of_lent
from nbtf._devices.limits import garbage_collection, is_decided_by, memory_limit, resolve_growth
from nbtf._devices.simulated_account import WORTH_A_LOOK, ChargedGPU
from nbtf._devices.simulated_account import MemoryPlan as MemoryPlan
from nbtf._devices.sites import CallSite, Site
from nbtf._types import as_dtype, float32


def open_card(card: PhysicalGPU) -> Driver:
    """Returns the driver of a card, which knows how much of its memory is free."""
    return memory_of_lent(card) or Driver(card.memory_bytes)


def plan_memory(card: PhysicalGPU, shared: Driver, request: MemoryRequest) -> MemoryPlan:
    """Returns how a GPU will reserve memory on its card."""
    options, environ = request.options, request.environ
    facts = card.memory_bytes, shared.free, card.card.compute_capability, options, request.limit_mib
    rules = _rules(*facts, environ) if is_decided_by(environ) else _usual_rules(*facts)
    # Unified memory oversubscribes the card.
    driver = None if options.unified or (options.fraction or 0) > 1 else shared
    return MemoryPlan(*rules, options.fragmentation, driver, f"GPU_{request.number}_bfc")


@lru_cache(maxsize=64)
def _usual_rules(
    total: int, free: int, capability: tuple[int, int], options: MemoryOptions, limit_mib: float | None
) -> tuple[int, bool, bool]:
    """Returns what `_rules` returns without environment variables; cached, as many cards share the result."""
    return _rules(total, free, capability, options, limit_mib, {})


def _rules(
    total: int,
    free: int,
    capability: tuple[int, int],
    options: MemoryOptions,
    limit_mib: float | None,
    environ: Mapping[str, str],
) -> tuple[int, bool, bool]:
    """Returns a GPU's memory limit, whether memory grows with use, and whether idle regions may be released."""
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


_REMEMBERED = 4096
"""Maximum number of remembered requests, so that a loop over ever new shapes cannot fill the memory."""


class Requests(NamedTuple):
    """The requests for an op's results: bytes and label of each, and the total.

    They keep `specs` and `site` alive, whose identities are their key.
    """

    pieces: Sequence[tuple[int, Label]]
    total: int
    specs: Sequence[Spec]
    site: Site | CallSite


class SimulatedGPU(ChargedGPU):
    """One logical GPU on a simulated card.

    It owns its arrays: inputs and outputs are copied. Memory is requested from the allocator before host memory is
    touched, and the chunk that it grants becomes the hold of the buffer.
    """

    xp = np
    simulated = models_time = updates_in_place = tells_pieces = True

    def __init__(self, index: int, card: PhysicalGPU, plan: MemoryPlan, alone: bool = False) -> None:
        """Creates `GPU:index`; the arguments are those of `ChargedGPU`."""
        super().__init__(index, card, plan, alone)
        self._requests: dict[tuple[int, int], Requests] = {}
        """The requests for the results of an op at a place, by the identities of the results' specs and the place."""

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in."""
        return self._copied_in(array, array.copy, label)

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one."""
        return self._copied_in(buffer._array, lambda: source.get(buffer), label)

    def _copied_in(self, array: Any, copy: Callable[[], Any], label: Label | None) -> Buffer:
        nbytes, label = array.nbytes, label or Label("copy", as_dtype(array.dtype).name, array.shape)
        allocation = self._charge(nbytes, label, copied=True)
        try:
            if nbytes >= WORTH_A_LOOK:
                self._look_at_computer(nbytes)
            return buffer_of(copy(), allocation)
        except MemoryError as error:
            self._give_back([allocation])
            raise self._computer_is_too_small(nbytes, label, error, copied=True) from error

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
        arrays = [each._array if each.__class__ is not list else arrays_of(each) for each in buffers]
        allocations: list[Chunk | None] = []
        try:
            if specs is not None and not op.shares_memory:
                requests = self._requests.get((id(specs), id(site))) or self._new_requests(op, specs, site)
                self._charge_results(requests, allocations)
            try:
                results = getattr(np, op.function)(*arrays) if op.function else op.kernel(np, *arrays, **attrs)
            except (FloatingPointError, RuntimeWarning):  # the reason is the same as in `CPU.run`
                with np.errstate(all="ignore"):
                    results = op.kernel(np, *arrays, **attrs)
            if results.__class__ is not tuple and results.__class__ is not list:
                results = (results,)
            if op.shares_memory:
                return [buffer_of(array, _hold_shown(array, buffers)) for array in map(np.asarray, results)]
            return self._owned(op, results, arrays, allocations, site)
        except MemoryError as error:
            self._give_back(allocations)
            raise self._computer_is_too_small(*_first(op, specs, error), error) from error
        except BaseException:
            # Free now, not when the traceback dies: a notebook keeps the last traceback.
            self._give_back(allocations)
            raise

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long the card would take; the time that NumPy took does not matter."""
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
        """Returns the memory to the card; the arrays of this device's buffers can still be read."""
        if self._allocator is not None or self._journal is not None:  # observers are notified of the freed buffers
            self.allocator.close()

    # Kernels

    def _new_requests(self, op: Runnable, specs: Sequence[Spec], site: Site | CallSite) -> Requests:
        """Returns the requests for an op's results, up to the first whose size is unknown; remembers them."""
        if len(self._requests) >= _REMEMBERED:
            self._requests.clear()
        pieces: list[tuple[int, Label]] = []
        for shape, dtype in specs:
            if None in shape:
                break
            lengths = cast("tuple[int, ...]", shape)
            pieces.append((math.prod(lengths) * dtype.size, Label(op.type, dtype.name, lengths, site)))
        requests = Requests(pieces, sum([nbytes for nbytes, _ in pieces]), specs, site)
        self._requests[id(specs), id(site)] = requests
        return requests

    def _charge_results(self, requests: Requests, allocations: list[Chunk | None]) -> None:
        """Allocates all results whose sizes are known before the kernel runs."""
        allocate = (self._allocator or self._open()).allocate
        for nbytes, label in requests.pieces:
            chunk = allocate(nbytes, label)
            if chunk is None and nbytes:
                raise self._card_is_full(nbytes, label)
            allocations.append(chunk)
        if requests.total >= WORTH_A_LOOK:
            self._look_at_computer(requests.total)

    def _owned(
        self, op: Runnable, results: Sequence[Any], arrays: list[Any], allocations: list[Chunk | None], site: Any
    ) -> list[Buffer]:
        """Returns buffers that own their arrays, each with a chunk of its size."""
        owning_buffers: list[Buffer] = []
        granted = len(allocations)
        for array in results:
            if array.__class__ is not np.ndarray:
                array = np.asarray(array)
            owner = array if array.base is None else array.base
            for input_array in arrays:
                if owner is input_array or input_array.__class__ is list or owner is input_array.base:
                    array = _copy_if_shared(array, arrays)
                    break
            number = len(owning_buffers)
            allocation = allocations[number] if number < granted else None
            if array.nbytes != (0 if allocation is None else allocation._block.requested):
                if allocation is not None:
                    self.allocator.free(allocation)
                label = label_of(op.type, as_dtype(array.dtype).name, array.shape, site)
                allocation = self._charge(array.nbytes, label)
                allocations.append(allocation)
            buffer = Buffer()
            buffer._array = array
            buffer._allocation = allocation
            owning_buffers.append(buffer)
        return owning_buffers


def _hold_shown(array: Any, buffers: Sequence[Buffer]) -> Any:
    """Returns the hold of the input that a result is; for a view or an in-place update, that of the first input."""
    return next((buffer for buffer in buffers if buffer._array is array), buffers[0])._allocation


def _first(op: Runnable, specs: Sequence[Spec] | None, error: MemoryError) -> tuple[int, Label]:
    """Returns bytes and label for the error message: of the first result, or of the array that NumPy failed to make."""
    if specs and None not in specs[0].shape:
        shape, dtype = specs[0]
    else:
        shape, dtype = getattr(error, "shape", ()), as_dtype(getattr(error, "dtype", float32))
    lengths = cast("tuple[int, ...]", shape)
    return math.prod(lengths) * dtype.size, Label(op.type, dtype.name, lengths)


def _copy_if_shared(array: Any, inputs: list[Any]) -> Any:
    """Returns a copy of an array that shares an input's memory; any other array is returned unchanged.

    On a card, a slice or a transposed matrix is a new array and does not keep the whole input alive.
    """
    owner = array if array.base is None else array.base
    for input_array in inputs:
        if input_array.__class__ is list:
            array = _copy_if_shared(array, input_array)
        elif owner is input_array or owner is input_array.base:
            return array.copy()
    return array
