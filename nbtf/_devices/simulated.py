"""A simulated GPU: NumPy arrays in this computer's memory, charged as on the real card."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

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
    buffer_of,
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


class SimulatedGPU(ChargedGPU):
    """One logical GPU on a simulated card.

    It owns its arrays: inputs and outputs are copied. Memory is requested from the allocator before host memory is
    touched, and the chunk that it grants becomes the hold of the buffer.
    """

    xp = np
    simulated = models_time = updates_in_place = tells_pieces = True

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in."""
        return self._copied_in(array, array.copy, label)

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
        arrays = [[buffer._array for buffer in each] if each.__class__ is list else each._array for each in buffers]
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

    @staticmethod
    def _results(op: Runnable, arrays: list[Any], attrs: Mapping[str, Any]) -> list[Any]:
        try:
            results = op.kernel(np, *arrays, **attrs)
        except (FloatingPointError, RuntimeWarning):  # the reason is the same as in `CPU.run`
            with np.errstate(all="ignore"):
                results = op.kernel(np, *arrays, **attrs)
        if results.__class__ is tuple or results.__class__ is list:
            return [np.asarray(array) for array in results]
        return [np.asarray(results)]

    def _charge_results(
        self, op: Runnable, specs: Sequence[Spec], site: Site | CallSite, allocations: list[Chunk | None]
    ) -> None:
        """Allocates all results whose sizes are known before the kernel runs."""
        total = 0
        for shape, dtype in specs:
            try:
                nbytes, label = self._requests[op, shape, dtype, id(site)]
            except KeyError:
                if None in shape:
                    return
                nbytes, label = self._new_request(op, cast("tuple[int, ...]", shape), dtype, site)
            chunk = (self._allocator or self._open()).allocate(nbytes, label)
            if chunk is None and nbytes:
                raise self._card_is_full(nbytes, label)
            allocations.append(chunk)
            total += nbytes
        if total >= WORTH_A_LOOK:
            self._look_at_computer(total)

    def _owned(
        self, op: Runnable, results: list[Any], arrays: list[Any], allocations: list[Chunk | None], site: Any
    ) -> list[Buffer]:
        """Returns buffers that own their arrays, each with a chunk of its size."""
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
            buffer = Buffer()
            buffer._array, buffer._allocation = array, allocation
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
