"""`cupy.cuda.memory`: memory of the cards is memory of this computer, pools and limits are as CuPy's [2.1]."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fake_cupy.machine import MACHINE
from tests.fake_cupy.runtime import CUDARuntimeError
from tests.fake_cupy.stream import get_current_stream

_UNIT = 512


class OutOfMemoryError(MemoryError):
    """What a pool raises."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes)")


class BaseMemory:
    """A piece of memory."""

    ptr: int = 0
    size: int = 0
    device_id: int = 0


class Memory(BaseMemory):
    """Memory from the driver."""

    def __init__(self, size: int) -> None:
        self.device_id = MACHINE.touch()
        card = MACHINE.cards[self.device_id]
        MACHINE.did("malloc", self.device_id, size)
        if card.taken + size > card.memory:
            raise CUDARuntimeError(2)
        card.taken += size
        self._card, self.size = card, size
        self._bytes = np.empty(size + 256, np.uint8)
        self.ptr = (self._bytes.ctypes.data + 255) & -256 if size else 0

    def __del__(self) -> None:
        if hasattr(self, "_card"):
            self._card.taken -= self.size


class UnownedMemory(BaseMemory):
    """Memory that somebody else looks after; `owner` dies with it."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = MACHINE.device if device_id < 0 else device_id


class MemoryPointer:
    """A place in a piece of memory."""

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    @property
    def device_id(self) -> int:
        return self.mem.device_id


class MemoryHook:
    """Hears of the memory that pools hand out on this thread, while it is entered."""

    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        if self.name in hooks():
            raise KeyError(f"memory hook {self.name} already exists")
        hooks()[self.name] = self
        return self

    def __exit__(self, *error: object) -> None:
        del hooks()[self.name]

    def malloc_preprocess(self, **event: Any) -> None: ...

    def malloc_postprocess(self, **event: Any) -> None: ...

    def free_postprocess(self, **event: Any) -> None: ...


def hooks() -> dict[str, MemoryHook]:
    """The hooks of this thread."""
    return MACHINE.local.__dict__.setdefault("memory_hooks", {})


class _Chunk:
    def __init__(self, mem: Memory, ptr: int, size: int, stream: int) -> None:
        self.mem, self.ptr, self.size, self.stream = mem, ptr, size, stream
        self.before: _Chunk | None = None
        self.after: _Chunk | None = None
        self.free = False


# Not a weak reference in the memory itself: the collector clears those of garbage before it is finalized.
_POOLS: weakref.WeakValueDictionary[int, SingleDeviceMemoryPool] = weakref.WeakValueDictionary()


class PooledMemory(BaseMemory):
    """Memory that goes back to its pool, which it holds weakly [2.4]."""

    def __init__(self, chunk: _Chunk, pool: SingleDeviceMemoryPool) -> None:
        self.chunk, self._pool = chunk, id(pool)
        self.ptr, self.size, self.device_id = chunk.ptr, chunk.size, chunk.mem.device_id

    def __del__(self) -> None:
        pool = _POOLS.get(self._pool)
        if pool is not None:
            pool.take_back(self.chunk)
        for hook in list(hooks().values()):
            hook.free_postprocess(device_id=self.device_id, mem_size=self.size, mem_ptr=self.ptr, pmem_id=id(self))


class SingleDeviceMemoryPool:
    """Best fit with coalescing, one arena for each stream."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self.device_id = MACHINE.touch()
        _POOLS[id(self)] = self
        self._allocator = allocator or _malloc
        self._free: dict[int, list[_Chunk]] = {}
        self._used = self._total = 0
        self._limit = int(os.environ.get("CUPY_GPU_MEMORY_LIMIT", "0"))  # of every pool that is made
        self._lock = threading.RLock()
        self._dead: deque[_Chunk] = deque()

    def malloc(self, size: int) -> MemoryPointer:
        for hook in list(hooks().values()):
            hook.malloc_preprocess(device_id=self.device_id, size=size, mem_size=size)
        with self._lock:
            self._bury()
            pointer = self._malloc(size)
        for hook in list(hooks().values()):
            hook.malloc_postprocess(device_id=self.device_id, size=size, mem_size=size, mem_ptr=pointer.ptr, pmem_id=0)
        return pointer

    def _bury(self) -> None:
        while self._dead:
            self._take_back(self._dead.popleft())

    def take_back(self, chunk: _Chunk) -> None:
        """Is called by finalizers, at any moment: whoever asks next does it."""
        self._dead.append(chunk)

    def _malloc(self, size: int) -> MemoryPointer:
        size = -(-size // _UNIT) * _UNIT
        if not size:
            return MemoryPointer(BaseMemory(), 0)
        stream = get_current_stream(self.device_id).ptr
        arena = self._free.setdefault(stream, [])
        fitting = sorted((one for one in arena if one.size >= size), key=lambda one: one.size)
        chunk = fitting[0] if fitting else self._new(size, stream)
        if fitting:
            arena.remove(chunk)
        if chunk.size > size:
            rest = _Chunk(chunk.mem, chunk.ptr + size, chunk.size - size, stream)
            rest.before, rest.after, rest.free = chunk, chunk.after, True
            if rest.after is not None:
                rest.after.before = rest
            chunk.after, chunk.size = rest, size
            arena.append(rest)
        chunk.free = False
        self._used += chunk.size
        return MemoryPointer(PooledMemory(chunk, self), 0)

    def _new(self, size: int, stream: int) -> _Chunk:
        for attempt in range(3):
            if attempt == 2:
                gc.collect()
            if attempt:
                self.free_all_blocks()
            if not self._limit or self._total + size <= self._limit:
                try:
                    mem: Any = self._allocator(size).mem
                except CUDARuntimeError as error:
                    if error.status != 2:
                        raise
                else:
                    self._total += size
                    return _Chunk(mem, mem.ptr, size, stream)
        raise OutOfMemoryError(size, self._total, self._limit)

    def _take_back(self, chunk: _Chunk) -> None:
        self._used -= chunk.size
        arena = self._free.setdefault(chunk.stream, [])
        chunk.free = True
        after, before = chunk.after, chunk.before
        if after is not None and after.free:
            arena.remove(after)
            self._joined(chunk, after)
        if before is not None and before.free:
            arena.remove(before)
            self._joined(before, chunk)
            chunk = before
        arena.append(chunk)

    @staticmethod
    def _joined(first: _Chunk, second: _Chunk) -> None:
        first.size += second.size
        first.after = second.after
        if first.after is not None:
            first.after.before = first

    def free_all_blocks(self, stream: object = None) -> None:
        with self._lock:
            self._bury()
            self._free_all()

    def _free_all(self) -> None:
        for arena in self._free.values():
            for chunk in [one for one in arena if one.before is None and one.after is None]:
                arena.remove(chunk)
                self._total -= chunk.size

    def used_bytes(self) -> int:
        with self._lock:
            self._bury()
        return self._used

    def total_bytes(self) -> int:
        with self._lock:
            self._bury()
        return self._total

    def free_bytes(self) -> int:
        with self._lock:
            self._bury()
        return self._total - self._used

    def n_free_blocks(self) -> int:
        return sum(map(len, self._free.values()))

    def get_limit(self) -> int:
        return self._limit

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self._limit = int(MACHINE.cards[self.device_id].memory * fraction) if fraction else size or 0


_POOL_OF_ONE = SingleDeviceMemoryPool  # tests hide the name


class MemoryPool:
    """A pool for each device; every method is about the one of the current device [2.1]."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self._allocator = allocator
        self._pools: dict[int, SingleDeviceMemoryPool] = {}

    def _pool(self) -> SingleDeviceMemoryPool:
        device = MACHINE.touch()
        if device not in self._pools:
            self._pools[device] = _POOL_OF_ONE(self._allocator)
        return self._pools[device]

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: getattr(self._pool(), name)(*args, **kwargs)


def _malloc(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


DEFAULT_POOL = MemoryPool()
_ALLOCATORS: dict[str, Any] = {"global": None}


def alloc(size: int) -> MemoryPointer:
    return get_allocator()(size)


def get_allocator() -> Any:
    return _get_thread_local_allocator() or _ALLOCATORS["global"] or DEFAULT_POOL.malloc


def set_allocator(allocator: Any = None) -> None:
    if _get_thread_local_allocator() is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _ALLOCATORS["global"] = allocator


def _get_thread_local_allocator() -> Any:
    return getattr(MACHINE.local, "allocator", None)


def _set_thread_local_allocator(allocator: Any) -> None:
    MACHINE.local.allocator = allocator
