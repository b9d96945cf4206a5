"""A real GPU, used through CuPy: how it is opened, holds data, runs ops and is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from nbtf._devices.backends import MemoryRequest
from nbtf._devices.base import GPU, Buffer, Device, Label, Made, Runnable, Spec, arrays_of, buffer_of
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.cuda import errors as cuda_errors
from nbtf._devices.cuda.copying import NotReachable, between, unpinned
from nbtf._devices.cuda.failing import FailingGPU, first_result
from nbtf._devices.cuda.guard import Before, Events, Guard, make_current_again, stream_for
from nbtf._devices.cuda.library import load_cupy
from nbtf._devices.cuda.memory import CudaMemory, MemoryManager, Plan, Purpose, plan_for
from nbtf._devices.cuda.opened import remember
from nbtf._devices.cuda.pool import PoolMemory
from nbtf._devices.first_use import FirstUse
from nbtf._devices.names import full_name
from nbtf._devices.sites import CallSite, Site
from nbtf._locks import new_lock
from nbtf._types import as_dtype
from nbtf.errors import OpError

SYNC = "NBTF_SYNC"
_OFF = frozenset({"", "0", "false", "off", "no"})


def open_card(card: PhysicalGPU) -> None:
    """Opens nothing: the first op on a card opens it."""


def plan_memory(card: PhysicalGPU, shared: None, request: MemoryRequest) -> Plan:
    """Returns how a GPU will reserve memory."""
    options = request.options
    return plan_for(request.limit_mib, options.fraction, options.growth, request.environ)


def build_gpu(index: int, card: PhysicalGPU, memory: Plan, alone: bool) -> GPU:
    """Returns `GPU:index`."""
    return CudaGPU(index, card, memory, alone)


class CudaGPU(FailingGPU):
    """One logical GPU on all or a part of a real card.

    CUDA is not used before its first op. From then on, it has its own stream, memory pool and limit. Each call switches
    the thread to them and restores the thread's previous state at the end.
    """

    holds_text = False

    def __init__(self, index: int, card: PhysicalGPU, plan: Plan, alone: bool = True, cupy: Any = None) -> None:
        """Creates `GPU:index`.

        Args:
          index: number of the logical device.
          card: physical GPU that it is on.
          plan: how it reserves memory.
          alone: whether it is the only logical GPU on its card.
          cupy: the module CuPy; imported if None.
        """
        self.index, self.card = index, card
        self.name = full_name("GPU", index)
        self.constants = {}
        self.xp = cupy or load_cupy()
        self.ordinal = card.ordinal
        self.dlpack_device = 2, card.ordinal
        self.use(plan)
        self.first_use = self._uses = FirstUse(self.short_name)
        self._sync = plan.environ.get(SYNC, "").strip().lower() not in _OFF  # for debugging
        self._alone = alone
        self._array: type[Any] = self.xp.ndarray
        self._runtime = self.xp.cuda.runtime
        self._guard: Guard | None = None
        self._lost: OpError | None = None
        self._opening = new_lock()

    # Opening

    def use(self, memory: Plan) -> None:
        """Sets the memory plan, which applies once the GPU starts."""
        card = self.card
        limit = memory.limit(card.memory_bytes, card.memory_bytes, card.card.compute_capability)
        self._plan = memory
        self.account = self.memory = CudaMemory(memory, limit)

    def start(self) -> None:
        """Does nothing: a real card reserves memory at its first op, not before."""

    @property
    def started(self) -> bool:
        """Whether it has been used and thus has a CUDA context."""
        return self._guard is not None or self._lost is not None

    @property
    def state(self) -> str:
        """`unopened`, `ready`, or `lost: ` followed by the reason."""
        if self._lost is not None:
            return f"lost: {self._lost.message}"
        return "ready" if self.started else "unopened"

    def open(self) -> Guard:
        """Returns the guard; the first call opens the card."""
        if self._lost is not None:
            raise type(self._lost)(None, None, self._lost.message)
        with self._opening:
            if self._guard is None:
                try:
                    remember(self)
                    self._guard = self._opened()
                except Exception as error:
                    if cuda_errors.is_out_of_memory(error):
                        text = f"{self._name_with_card()} has too little free memory to start: {error}"
                        raise cuda_errors.no_memory(
                            text, "Other programs may be using the memory: see nvidia-smi."
                        ) from error
                    self.fail_without_memory(error)
            return self._guard

    def enter(self) -> tuple[Guard, Before]:
        """Switches the thread to this device; the guard's `leave` switches back. The first call opens the card."""
        guard = self._guard or self.open()
        try:
            return guard, guard.enter()
        except Exception as error:  # errors of earlier asynchronous work, by nbtf or not, are raised here
            self.fail_without_memory(error)

    def _opened(self) -> Guard:
        """Creates stream and memory with the card current; restores the thread's state."""
        cuda, runtime = self.xp.cuda, self._runtime
        previous_ordinal = runtime.getDevice()
        runtime.setDevice(self.ordinal)
        try:
            self.stream = stream_for(self.xp, self._alone)
            guard = Guard(self.xp, self.ordinal, self.stream, None)
            entered = guard.enter()
            try:
                if self._plan.preallocate:
                    with suppress(Exception):  # a missing library is reported when a product needs it
                        cuda.get_cublas_handle()
                free, total = runtime.memGetInfo()
                limit = self._plan.limit(total, free, self.card.card.compute_capability)
                manager = self._manager(limit)
            finally:
                guard.leave(entered)
        finally:
            if previous_ordinal != self.ordinal:
                make_current_again(previous_ordinal, runtime.setDevice)
        self.events = Events(self.xp, self.stream)
        self.account.use(manager)
        self._memory_manager = manager
        return Guard(self.xp, self.ordinal, self.stream, manager.allocate)

    def _manager(self, limit: int) -> MemoryManager:
        name = f"GPU_{self.index}_{'bfc' if self._plan.bfc else 'pool'}"
        if not self._plan.bfc:
            return PoolMemory(self.xp, self.ordinal, limit, self._plan, name)
        from nbtf._devices.cuda.region import RegionMemory

        return RegionMemory(self.xp, self.ordinal, limit, self._plan, name)

    # Data

    def put(self, array: np.ndarray[Any, Any], label: Label | None = None) -> Buffer:
        """Copies a host array in; afterwards the array may change, although the card may still be copying."""
        self.check_holds(as_dtype(array.dtype))
        source = unpinned(array)
        guard, state = self.enter()
        try:
            return self.keep(self.xp.asarray(source), label)
        except Exception as error:
            raise self.explained(error, array.nbytes, array.shape, array.dtype, copied=True) from None
        finally:
            guard.leave(state)

    def get(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """Copies a buffer out; waits until its value is available."""
        array = buffer._array
        guard, state = self.enter()
        try:
            return array.get(stream=self.stream)
        except Exception as error:
            raise self.explained(error, array.nbytes, array.shape, array.dtype, copied=True) from None
        finally:
            guard.leave(state)

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one; does not wait if both are real cards."""
        if not isinstance(source, CudaGPU):
            return self.put(source.get(buffer), label)
        try:
            return between(source, self, buffer._array, label)
        except NotReachable:
            return self.put(source.get(buffer), label)

    def keep(self, array: Any, label: Label | None) -> Buffer:
        """Returns a buffer for an array that was copied here, charged to this device."""
        purpose = Purpose("copy") if label is None else Purpose(label.op, label.site)
        return buffer_of(array, self._memory_manager.charge(array, purpose))

    # Running

    def run(
        self,
        op: Runnable,
        buffers: Sequence[Any],
        attrs: Mapping[str, Any],
        specs: Sequence[Spec] | None = None,
        site: Site | CallSite = None,
    ) -> list[Buffer]:
        """Runs a kernel with CuPy; returns when the kernel has started."""
        arrays = arrays_of(buffers)
        key = (op, *[None if array.__class__ is list else (array.dtype, array.ndim) for array in arrays])
        new = key not in self._uses.seen
        guard, state = self.enter()
        try:
            if new:
                self._uses.start(op.type)
            results = op.kernel(self.xp, *arrays, **attrs)
            if results.__class__ is not tuple and results.__class__ is not list:
                results = (results,)
            purpose = Purpose(op.type, site)
            results_in_buffers = [self._buffer(array, arrays, buffers, op.shares_memory, purpose) for array in results]
            if self._sync:
                self.stream.synchronize()
            if new:
                self._uses.finish(key)
            return results_in_buffers
        except Exception as error:
            self._uses.give_up()
            self.fail(error, *first_result(specs))
        finally:
            guard.leave(state)

    def _buffer(self, array: Any, arrays: list[Any], buffers: Sequence[Any], shares: bool, purpose: Purpose) -> Buffer:
        """Returns a buffer for a result: with its own memory, or with that of an input that it may share."""
        if array.__class__ is not self._array:
            array = self.xp.asarray(array)
        memory = array.data.mem
        if array.nbytes:
            for input_array, buffer in _flat(arrays, buffers):
                if input_array.data.mem is memory:
                    if shares:
                        return buffer_of(array, buffer._allocation)
                    array = array.copy()
                    break
            else:
                if array.base is not None and memory.size >= array.nbytes + _WASTED:
                    array = array.copy()  # otherwise a part would keep the larger array alive
        return buffer_of(array, self._memory_manager.charge(array, purpose))

    # Waiting and closing

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long starting an op took, or finishing it if `NBTF_SYNC` is set."""
        return seconds, "finished" if self._sync else "launch"

    def synchronize(self) -> None:
        """Waits until all started work has finished; raises pending errors."""
        if not self.started:
            return
        guard, state = self.enter()
        try:
            self.stream.synchronize()
        except Exception as error:
            self.fail_without_memory(error)
        finally:
            guard.leave(state)

    def close(self) -> None:
        """Releases idle memory to the card; memory that tensors still hold is released with them."""
        guard = self._guard
        self.constants.clear()  # constants and device refer to each other
        if guard is None:
            return
        with suppress(Exception):
            state = guard.enter()
            try:
                self._memory_manager.close()
            finally:
                guard.leave(state)

    def mem_info(self) -> tuple[int, int] | None:
        """Returns free and total bytes of the card as CUDA reports them; None without a context."""
        guard = self._guard
        if guard is None:
            return None
        with suppress(Exception):
            state = guard.enter()
            try:
                return self._runtime.memGetInfo()
            finally:
                guard.leave(state)
        return None

    def lose(self, error: OpError) -> None:
        """Makes every later call fail at once with an error like this one."""
        self._lost = type(error)(None, None, error.message)  # a new error object, which keeps no frames alive
        self._guard = None


_WASTED = 512
"""A result may keep up to this many bytes of a larger array without a copy: the pool rounds up to it."""


def _flat(arrays: list[Any], buffers: Sequence[Any]) -> list[tuple[Any, Any]]:
    pairs: list[tuple[Any, Any]] = []
    for array, buffer in zip(arrays, buffers, strict=True):
        pairs += zip(array, buffer, strict=True) if array.__class__ is list else ((array, buffer),)
    return pairs
