"""CuPy's own pool on a real card, with a limit and a count: the default, since it costs an op next to nothing."""

from __future__ import annotations

import gc
import threading
from collections import deque
from typing import Any

from nbtf._devices.base import Label, MemoryStats, Piece, told
from nbtf._devices.cuda_guard import make_current_again
from nbtf._devices.cuda_memory import UNIT, Plan, What

_TRIES = 20
"""How often a preallocation asks for less; a third of the first request is left then."""
_MOST_UNCOUNTED = 4096
"""Frees that may wait to be counted, so that their list stays short."""


class Held:
    """Memory of CuPy's pool that buffers hold. Its death is counted; the pool itself sees the array die."""

    __slots__ = ("_freed", "address", "dtype", "nbytes", "owner", "requested", "shape", "what")

    def __init__(self, array: Any, what: What, owner: PoolMemory) -> None:
        """Takes down what the array is."""
        memory = array.data.mem
        self._freed = owner.freed
        self.what, self.owner, self.dtype, self.shape = what, owner, array.dtype, array.shape
        self.address, self.nbytes, self.requested = memory.ptr, memory.size, array.nbytes

    def __del__(self) -> None:
        """Tells that it is gone; on any thread, at any moment, without a lock."""
        try:
            self._freed.append(self.requested)
        except AttributeError:  # an interrupt came before it had one
            pass


class PoolMemory:
    """CuPy's own pool with a limit, and a count of what goes through it."""

    def __init__(self, cupy: Any, ordinal: int, limit: int, plan: Plan, name: str) -> None:
        """Makes a pool. Its device must be current, and the stream that will use it.

        Seeding puts the whole limit into the pool as one piece, so that later failures come from fragmentation alone.
        """
        self._cupy, self._ordinal, self.name = cupy, ordinal, name
        self._seeded = plan.preallocate
        bound = getattr(cupy.cuda.memory, "SingleDeviceMemoryPool", None)
        self._bound = bound is not None
        self._pool = pool = (bound or cupy.cuda.MemoryPool)()
        if self._seeded:
            limit = self._seed(limit)
        pool.set_limit(size=limit)  # always: CUPY_GPU_MEMORY_LIMIT is applied to every pool that is made
        self.limit = limit
        self.freed: deque[int] = deque()
        self._lock = threading.Lock()
        self._requested = 0
        self.peak = self.num_allocs = self.largest = 0
        self.allocate = self._counting()

    def _seed(self, limit: int) -> int:
        """Takes the limit from the card; less where somebody else was faster. Returns what it got."""
        pool = self._pool
        pool.set_limit(size=0)
        tries = _TRIES
        while True:
            try:
                seed = pool.malloc(limit)
            except MemoryError:
                tries -= 1
                free = self._cupy.cuda.runtime.memGetInfo()[0]
                limit = int(min(limit, free) * 0.95) // UNIT * UNIT
                if not limit or not tries:
                    raise
            else:
                del seed
                return limit

    def _counting(self) -> Any:
        """Returns the allocator: the pool's, and a few numbers. It costs each array a fifth of a microsecond."""
        malloc, used = self._pool.malloc, self._pool.used_bytes
        limit, error = self.limit, self._cupy.cuda.memory.OutOfMemoryError

        def allocate(nbytes: int) -> Any:
            if nbytes > limit:  # the pool must not look for room: it would first give back all that is idle
                raise error(nbytes, self.level()[1], limit)
            try:
                pointer = malloc(nbytes)
            except MemoryError:
                gc.collect()  # the pool has done so, too, but then it asks the card and not what came back
                pointer = malloc(nbytes)
            in_use = used()
            self.num_allocs += 1
            if in_use > self.peak:
                self.peak = in_use
            if nbytes > self.largest:
                self.largest = nbytes
            return pointer

        return allocate

    def hold(self, array: Any, what: What) -> Any:
        """Returns what keeps an array charged; an empty one holds nothing."""
        if not array.nbytes:
            return None
        self.freed.append(-array.nbytes)
        if len(self.freed) > _MOST_UNCOUNTED:
            self._count()
        return Held(array, what, self)

    def _count(self) -> int:
        """Adds up what came and went; returns what tensors asked for."""
        with self._lock:
            for _ in range(len(self.freed)):
                self._requested -= self.freed.popleft()
            return self._requested

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes taken from the card."""
        if self._bound:  # plain counters, for any thread
            return self._pool.used_bytes(), self._pool.total_bytes()
        runtime = self._cupy.cuda.runtime
        device = runtime.getDevice()
        runtime.setDevice(self._ordinal)  # such a pool answers for the current device
        try:
            return self._pool.used_bytes(), self._pool.total_bytes()
        finally:
            if device != self._ordinal:
                make_current_again(device, runtime.setDevice)

    def stats(self) -> MemoryStats:
        """Returns the account. The pool does not tell of its free pieces, so the largest is all that is free."""
        requested = self._count()
        in_use, pool = self.level()
        return MemoryStats(
            in_use=in_use,
            peak=max(self.peak, in_use),
            requested=requested,
            pool=pool,
            limit=self.limit,
            num_allocs=self.num_allocs,
            largest_alloc=self.largest,
            largest_free=pool - in_use,
        )

    def reset_peak(self) -> None:
        """Sets the peak to what is in use now, and counts anew."""
        self.peak, self.num_allocs, self.largest = self.level()[0], 0, 0

    def map(self) -> None:
        """Returns nothing: CuPy's pool keeps its pieces to itself."""

    def piece(self, hold: object) -> Piece | None:
        """Returns where memory is; the whole card is one region."""
        if not isinstance(hold, Held) or hold.owner is not self:
            return None
        return Piece(0, hold.address, hold.nbytes, hold.requested)

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns what tensors hold. It looks through everything that lives in this process: for people, not loops."""
        held = [one for one in gc.get_objects() if one.__class__ is Held and one.owner is self]
        found: list[tuple[Piece, Label | None]] = []
        for one in held:
            label: Any = told(one.what.label(one.dtype, one.shape))
            found.append((Piece(0, one.address, one.nbytes, one.requested), label))
        return found

    def trim(self) -> int:
        """Gives cached memory back to the card; what was preallocated stays."""
        if self._seeded:
            return 0
        before = self._pool.total_bytes()
        self._pool.free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()
        return before - self._pool.total_bytes()

    def close(self) -> None:
        """Gives back what is not in use; the rest goes with the last tensor."""
        self._pool.free_all_blocks()
