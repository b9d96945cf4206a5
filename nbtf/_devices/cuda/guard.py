"""Switches a thread to a device, its stream and its allocator, and restores the previous state."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

Allocator: TypeAlias = Callable[[int], Any]
Before: TypeAlias = tuple[int, Any, Any]
"""A thread's previous state: its device, its stream if it was a different one, and its allocator."""

PER_THREAD_STREAMS = "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM"


class Guard:
    """The three settings that CuPy reads from the thread to decide where kernels run and memory is allocated.

    They are compared on every entry, even with one GPU: the user's own `with cupy.cuda.Device(1)` or `with stream`
    around a call must not redirect nbtf's kernels and memory. Only settings that differ are switched.
    """

    __slots__ = (
        "_allocator",
        "_current",
        "_get",
        "_get_device",
        "_ordinal",
        "_pointer",
        "_set",
        "_set_device",
        "_stream",
    )

    def __init__(self, cupy: Any, ordinal: int, stream: Any, allocator: Allocator | None) -> None:
        """Looks up CuPy's functions; with None as allocator, the thread's own stays."""
        runtime = cupy.cuda.runtime
        self._get_device, self._set_device = runtime.getDevice, runtime.setDevice
        self._current = cupy.cuda.get_current_stream
        self._get, self._set = allocator_of_thread(cupy)
        self._ordinal, self._stream, self._pointer, self._allocator = ordinal, stream, stream.ptr, allocator

    def enter(self) -> Before:
        """Switches the thread; returns the state for `leave`."""
        ordinal = self._ordinal
        device = self._get_device()
        if device != ordinal:
            self._set_device(ordinal)
        stream = None
        try:
            current = self._current(ordinal)
            if current is not self._stream and current.ptr != self._pointer:
                self._stream.use()
                stream = current
            allocator = self._get()
            if self._allocator is not None and allocator is not self._allocator:
                self._set(self._allocator)
        except BaseException:
            self.leave((device, stream, self._allocator))
            raise
        return device, stream, allocator

    def leave(self, state: Before) -> None:
        """Switches back: allocator and stream first, because a stream belongs to the device."""
        device, stream, allocator = state
        if self._allocator is not None and allocator is not self._allocator:
            self._set(allocator)
        if stream is not None:
            with suppress(Exception):  # after the loss of a device, the error from the block is more useful
                stream.use()
        if device != self._ordinal:
            make_current_again(device, self._set_device)


def make_current_again(device: int, set_device: Callable[[int], object]) -> None:
    """Makes a thread's previous device current again, if the process has a context there.

    Without a context, it would create one. A thread that never used CUDA counts as being on device 0, so hundreds of
    MiB would be reserved on an unused card. Such a thread keeps its device, as with PyTorch.
    """
    if device not in _WITH_CONTEXT:
        if not has_context(device):
            return
        _WITH_CONTEXT.add(device)
    with suppress(Exception):  # after the loss of a device, the earlier error is more useful
        set_device(device)


_WITH_CONTEXT: set[int] = set()


def has_context(ordinal: int) -> bool:
    """Returns whether this process has a CUDA context on a card; True if the driver does not report it."""
    return context_state(ordinal) is not False


def context_state(ordinal: int) -> bool | None:
    """Returns whether this process has a CUDA context on a card; does not create one.

    Returns:
      None if the driver is missing or not initialized.

    Source: NVIDIA, CUDA Driver API, `cuDevicePrimaryCtxGetState`; before `cuInit` it returns an error.
    """
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        failed = driver.cuDeviceGet(ctypes.byref(device), ordinal)
        failed = failed or driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
    except (OSError, AttributeError):
        return None
    return None if failed else bool(active.value)


def allocator_of_thread(cupy: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Returns functions that get and set the allocator of this thread.

    CuPy's own functions have private names and are eight times as fast as `using_allocator`, which is the fallback for
    versions without them.
    """
    memory = cupy.cuda.memory
    get = getattr(memory, "_get_thread_local_allocator", None)
    set_ = getattr(memory, "_set_thread_local_allocator", None)
    if get is not None and set_ is not None:
        return get, set_
    entered = _Entered(cupy.cuda.using_allocator)
    return entered.get, entered.set


class _Entered(threading.local):
    """The blocks of `using_allocator` that this thread has open."""

    def __init__(self, using: Callable[[Any], Any]) -> None:
        self._using = using
        self._open: list[tuple[Any, Any]] = []

    def get(self) -> Any:
        """Returns the allocator of the innermost open block; None outside blocks."""
        return self._open[-1][1] if self._open else None

    def set(self, allocator: Any) -> None:
        """Opens a block, or closes the blocks inside the one with this allocator."""
        allocators = [opened for _, opened in self._open]
        if allocator is None or allocator in allocators:
            keep = 0 if allocator is None else allocators.index(allocator) + 1
            while len(self._open) > keep:
                self._open.pop()[0].__exit__(None, None, None)
            return
        block = self._using(allocator)
        block.__enter__()
        self._open.append((block, allocator))


def stream_for(cupy: Any, alone: bool) -> Any:
    """Returns the stream of a logical device; its physical device must be current.

    A logical device that is alone on its card uses the null stream, which orders nbtf's work with the user's CuPy and
    PyTorch code. Several devices on a card get their own streams, of the kind that still waits for the null stream.
    """
    per_thread = os.environ.get(PER_THREAD_STREAMS, "0") not in ("", "0")
    return cupy.cuda.Stream.null if alone and not per_thread else cupy.cuda.Stream()


class Events:
    """Events of one device, which are reused."""

    __slots__ = ("_free", "_make", "_stream")

    def __init__(self, cupy: Any, stream: Any) -> None:
        """Starts without events."""
        self._make, self._stream = cupy.cuda.Event, stream
        self._free: list[Any] = []

    def record(self) -> Any:
        """Returns an event recorded after all started work; the device must be current."""
        try:
            event = self._free.pop()
        except IndexError:
            event = self._make(disable_timing=True)
        event.record(self._stream)
        return event

    def wait(self, event: Any) -> None:
        """Makes all later work on the stream wait for an event; the host does not wait."""
        self._stream.wait_event(event)

    def give_back(self, event: Any) -> None:
        """Keeps an event for reuse, once the wait has been queued on every stream that needs it."""
        if len(self._free) < 64:
            self._free.append(event)
