"""A real GPU, by CuPy."""

from __future__ import annotations

import atexit
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from nbtf._devices import exhausted
from nbtf._devices.backends import MemoryRequest
from nbtf._devices.base import GPU, Buffer, Device, Label, Made, Runnable, Spec, arrays_of, buffer_of
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.cuda import errors as cuda_errors
from nbtf._devices.cuda.copying import NotReachable, between, unpinned
from nbtf._devices.cuda.guard import Before, Events, Guard, make_current_again, stream_for
from nbtf._devices.cuda.library import load_cupy
from nbtf._devices.cuda.memory import CudaMemory, MemoryManager, Plan, Purpose, plan_for
from nbtf._devices.cuda.pool import PoolMemory
from nbtf._devices.cuda.probe import FORKED
from nbtf._devices.exhausted import Request
from nbtf._devices.first_use import FirstUse
from nbtf._devices.names import full_name
from nbtf._devices.sites import CallSite, Site
from nbtf._locks import new_lock
from nbtf._types import as_dtype
from nbtf.errors import FailedPreconditionError, OpError, ResourceExhaustedError

SYNC = "NBTF_SYNC"
_OFF = frozenset({"", "0", "false", "off", "no"})


def open_card(card: PhysicalGPU) -> None:
    """Opens nothing: the first op on a card does."""


def plan_memory(card: PhysicalGPU, shared: None, request: MemoryRequest) -> Plan:
    """Returns how a GPU will take memory."""
    options = request.options
    return plan_for(request.limit_mib, options.fraction, options.growth, request.environ)


def build_gpu(index: int, card: PhysicalGPU, memory: Plan, alone: bool) -> GPU:
    """Returns `GPU:index`."""
    return CudaGPU(index, card, memory, alone)


class CudaGPU(GPU):
    """One logical GPU on a real card, or on a part of one.

    Nothing is asked of CUDA before its first op. Then it has a stream, a memory pool and a limit of its own; a thread
    is switched to them for the time of a call, and given back as it was.
    """

    holds_text = False

    def __init__(self, index: int, card: PhysicalGPU, plan: Plan, alone: bool = True, cupy: Any = None) -> None:
        """Makes `GPU:index`.

        Args:
          index: the number of the logical device.
          card: the physical GPU it is on.
          plan: how it takes memory.
          alone: whether it is the only one on its card.
          cupy: CuPy, which is imported when None.
        """
        self.index, self.card = index, card
        self.name = full_name("GPU", index)
        self.constants = {}
        self.xp = cupy or load_cupy()
        self.ordinal = card.ordinal
        self.dlpack_device = 2, card.ordinal
        self.use(plan)
        self.first_use = self._uses = FirstUse(self.short_name)
        self._sync = plan.environ.get(SYNC, "").strip().lower() not in _OFF  # for those who look for a fault
        self.lane = not self._sync
        self._alone = alone
        self._array: type[Any] = self.xp.ndarray
        self._runtime = self.xp.cuda.runtime
        self._functions: dict[Any, tuple[Callable[..., Any], Purpose]] = {}
        self._guard: Guard | None = None
        self._lost: OpError | None = None
        self._opening = new_lock()

    # Opening

    def use(self, memory: Plan) -> None:
        """Takes memory in this way, when it comes to that."""
        card = self.card
        limit = memory.limit(card.memory_bytes, card.memory_bytes, card.card.compute_capability)
        self._plan = memory
        self.account = self.memory = CudaMemory(memory, limit)

    def start(self) -> None:
        """Does nothing: a real card is taken by the first op on it, and not before."""

    @property
    def started(self) -> bool:
        """Whether it has been used: there is a CUDA context then."""
        return self._guard is not None or self._lost is not None

    @property
    def state(self) -> str:
        """`unopened`, `ready`, or `lost: ` and why."""
        if self._lost is not None:
            return f"lost: {self._lost.message}"
        return "ready" if self.started else "unopened"

    def open(self) -> Guard:
        """Returns the guard; the first call takes the card."""
        if self._lost is not None:
            raise type(self._lost)(None, None, self._lost.message)
        with self._opening:
            if self._guard is None:
                try:
                    _end_in_time()
                    _DEVICES.add(self)
                    self._guard = self._opened()
                except Exception as error:
                    if cuda_errors.is_out_of_memory(error):
                        text = f"{self._name_with_card()} has no memory left to start with: {error}"
                        raise cuda_errors.no_memory(text, "Other programs may hold it: see nvidia-smi.") from error
                    self._raise(error)
            return self._guard

    def enter(self) -> tuple[Guard, Before]:
        """Switches the thread to this device; `leave` of the guard gives it back. The first call takes the card."""
        guard = self._guard or self.open()
        try:
            return guard, guard.enter()
        except Exception as error:  # whatever was broken before, by nbtf or not, is heard of here
            self._raise(error)

    def _opened(self) -> Guard:
        """Takes stream and memory, with the card current; leaves the thread as it was."""
        cuda, runtime = self.xp.cuda, self._runtime
        previous_ordinal = runtime.getDevice()
        runtime.setDevice(self.ordinal)
        try:
            self.stream = stream_for(self.xp, self._alone)
            guard = Guard(self.xp, self.ordinal, self.stream, None)
            entered = guard.enter()
            try:
                if self._plan.preallocate:
                    with suppress(Exception):  # what is missing is said when a product needs it
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
        """Copies a host array in; CuPy has taken it down when this returns, the card may still be reading."""
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
        """Copies a buffer out; waits until its value is there."""
        array = buffer._array
        guard, state = self.enter()
        try:
            return array.get(stream=self.stream)
        except Exception as error:
            raise self.explained(error, array.nbytes, array.shape, array.dtype, copied=True) from None
        finally:
            guard.leave(state)

    def copy_from(self, source: Device, buffer: Buffer, label: Label | None = None) -> Buffer:
        """Copies a buffer of another device to this one, without waiting where both are real cards."""
        if not isinstance(source, CudaGPU):
            return self.put(source.get(buffer), label)
        try:
            return between(source, self, buffer._array, label)
        except NotReachable:
            return self.put(source.get(buffer), label)

    def keep(self, array: Any, label: Label | None) -> Buffer:
        """Returns a buffer of an array that was copied here, charged to this device."""
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
        """Runs a kernel with CuPy; returns when it has been started."""
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
            self._fail(error, *_first_result(specs))
        finally:
            guard.leave(state)

    def quick(self, op: Any, inputs: tuple[Any, ...], attrs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Is the express lane: returns the one array that an op makes, and what holds its memory.

        Raises:
          LookupError: the road must do it: an op or arrays it has not seen, arrays of another kind, any error.
        """
        guard = self._guard
        arrays = [buffer._array for buffer in inputs]
        key = (op, *[(array.dtype, array.ndim) for array in arrays])
        if guard is None or key not in self._uses.seen:
            raise LookupError
        for array in arrays:
            if array.__class__ is not self._array:
                raise LookupError
        function, purpose = self._functions.get(op) or self._bound(op)
        try:
            state = guard.enter()
        except Exception:
            raise LookupError from None
        try:
            array = function(*arrays, *attrs)
            memory = array.data.mem
            for buffer in inputs:
                if buffer._array.data.mem is memory and array.nbytes:
                    if not op.shares_memory:
                        raise LookupError
                    return array, buffer._allocation
            if array.base is not None and memory.size >= array.nbytes + _WASTED:
                array = array.copy()  # as on the road
            return array, self._memory_manager.charge(array, purpose)
        except Exception:  # the road says what it means
            raise LookupError from None
        finally:
            guard.leave(state)

    def _bound(self, op: Any) -> tuple[Callable[..., Any], Purpose]:
        """Returns the function behind an op, and what its results are for; both are made once."""
        kernel = getattr(self.xp, op.function) if op.function else partial(op.kernel, self.xp)
        function_and_purpose = self._functions[op] = kernel, Purpose(op.type)
        return function_and_purpose

    def _buffer(self, array: Any, arrays: list[Any], buffers: Sequence[Any], shares: bool, purpose: Purpose) -> Buffer:
        """Returns a buffer for a result: in memory of its own, or in that of an input which it may show."""
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
                    array = array.copy()  # a part of something larger, which it would keep
        return buffer_of(array, self._memory_manager.charge(array, purpose))

    # Ending

    def time_of(
        self, op: Runnable, inputs: Sequence[Made], outputs: Sequence[Made], seconds: float
    ) -> tuple[float, str]:
        """Returns how long it took to start an op, or to finish it where each is waited for."""
        return seconds, "finished" if self._sync else "launch"

    def synchronize(self) -> None:
        """Waits for everything that was started; raises errors that were pending."""
        if not self.started:
            return
        guard, state = self.enter()
        try:
            self.stream.synchronize()
        except Exception as error:
            self._raise(error)
        finally:
            guard.leave(state)

    def close(self) -> None:
        """Gives idle memory back to the card; what tensors still hold goes with them."""
        guard, self.lane = self._guard, False
        self.constants.clear()  # they know the device, which knows them
        if guard is None:
            return
        with suppress(Exception):
            state = guard.enter()
            try:
                self._memory_manager.close()
            finally:
                guard.leave(state)

    def mem_info(self) -> tuple[int, int] | None:
        """Returns free and total bytes of the card, as CUDA sees them; None before there is a context."""
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
        """Lets every later call fail with an error like this one, at once."""
        self._lost = type(error)(None, None, error.message)  # one that has not been raised: it keeps no frames
        self._guard, self.lane = None, False

    # Errors

    def _name_with_card(self) -> str:
        return f"{self.short_name} ({self.card.card.name})"

    def _raise(self, error: Exception) -> NoReturn:
        """Raises nbtf's error for one that is not about memory."""
        self._fail(error, about_memory=False)

    def _fail(self, error: Exception, *request: Any, about_memory: bool = True) -> NoReturn:
        """Raises nbtf's error for any; no frame of ours keeps it, for that would be a ring that keeps memory."""
        explained: Exception | None = None
        try:
            explained = self.explained(error, *request) if about_memory else self._meaning(error)
            if explained is error:
                raise error
            raise explained from self._cause_of(error)
        finally:
            del explained, error

    def _meaning(self, error: Exception) -> Exception:
        meaning = cuda_errors.meaning(error, self._name_with_card())
        if meaning.lost and isinstance(meaning.error, OpError):
            for device in list(_DEVICES):  # such an error is one of the process, not of a card
                device.lose(meaning.error)
        return meaning.error

    def _cause_of(self, error: BaseException) -> BaseException | None:
        """Returns what to show as the cause: not an error that is passed on, nor one that keeps memory alive."""
        return None if isinstance(error, OpError) or self._is_out_of_memory(error) else error

    def _is_out_of_memory(self, error: BaseException) -> bool:
        if type(error).__name__ != "CUBLASError":
            return cuda_errors.is_out_of_memory(error)
        info = self.mem_info()
        return cuda_errors.is_out_of_memory(error, None if info is None else info[0])

    def explained(
        self,
        error: Exception,
        nbytes: int = 0,
        shape: tuple[int, ...] = (),
        dtype: Any = np.float32,
        copied: bool = False,
    ) -> Exception:
        """Returns nbtf's error; for memory that ran out with how it stands and who holds it."""
        if not self._is_out_of_memory(error):
            return self._meaning(error)
        # A notebook keeps the last traceback: the frames of the kernel must not keep its arrays.
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        try:
            c_name = as_dtype(dtype).c_name
        except TypeError:
            c_name = str(dtype)
        request = Request(nbytes, tuple(shape), c_name, self.name, copied)
        info = self.mem_info()
        text = exhausted.real_card_is_full(
            request,
            self._name_with_card(),
            self._memory_manager.name,
            self.account.stats(),
            None if info is None else info[0],
            [(label, piece.nbytes) for piece, label in self.account.pieces()],
        )
        return ResourceExhaustedError(text)


_WASTED = 512
"""Bytes of a larger array that a result may keep without being copied: what the pool rounds up to."""


def _first_result(specs: Sequence[Spec] | None) -> tuple[int, tuple[int, ...], Any]:
    """Returns bytes, shape and dtype of the first result, for messages."""
    if not specs or None in specs[0].shape:
        return 0, (), np.float32
    shape: Any = specs[0].shape
    return int(np.prod(shape, dtype=np.int64)) * specs[0].dtype.size, shape, specs[0].dtype


def _flat(arrays: list[Any], buffers: Sequence[Any]) -> list[tuple[Any, Any]]:
    pairs: list[tuple[Any, Any]] = []
    for array, buffer in zip(arrays, buffers, strict=True):
        pairs += zip(array, buffer, strict=True) if array.__class__ is list else ((array, buffer),)
    return pairs


# The end of the process

_DEVICES: WeakSet[CudaGPU] = WeakSet()
"""Those that were opened."""


@cache
def _end_in_time() -> None:
    """Has `_end` called before what CuPy, which is imported by now, does at the end."""
    atexit.register(_end)


def _end() -> None:
    """Waits for the cards before Python takes CuPy apart; what is finalised later is on its own."""
    for device in list(_DEVICES):
        with suppress(Exception):
            device.synchronize()
        device.close()


def _after_fork() -> None:
    """CUDA does not survive a fork: what was opened is lost in the child."""
    for device in list(_DEVICES):
        if device.started:
            device.lose(FailedPreconditionError(FORKED))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
