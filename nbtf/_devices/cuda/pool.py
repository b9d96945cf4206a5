"""CuPy's own pool on a real card, with a limit and a count: the default, since it costs an op next to nothing."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from nbtf._devices.base import Label, MemoryStats, Piece, describe_label
from nbtf._devices.cuda.guard import make_current_again
from nbtf._devices.cuda.memory import UNIT, Plan, Purpose

_TRIES = 20
"""How often a preallocation asks for less; a third of the first request is left then."""


class Held:
    """Memory of CuPy's pool that buffers hold; the pool itself sees the array die."""

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "owner", "purpose", "requested", "shape")

    def __init__(self, array: Any, purpose: Purpose, owner: PoolMemory) -> None:
        """Takes down what the array is."""
        memory = array.data.mem
        self.purpose, self.owner, self.dtype, self.shape = purpose, owner, array.dtype, array.shape
        self.address, self.nbytes, self.requested = memory.ptr, memory.size, array.nbytes


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
        self._alive: set[ref[Held]] = set()
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

    def charge(self, array: Any, purpose: Purpose) -> Any:
        """Returns what keeps an array charged; an empty one holds nothing."""
        if not array.nbytes:
            return None
        memory = Held(array, purpose, self)
        self._alive.add(ref(memory, self._alive.discard))  # no frame of Python's runs when it dies
        return memory

    def _alive_memory(self) -> list[Held]:
        """Returns what is alive of all that was handed out."""
        return [memory for death in self._alive.copy() if (memory := death()) is not None]

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
        requested = sum([memory.requested for memory in self._alive_memory()])
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

    def piece(self, allocation: object) -> Piece | None:
        """Returns where memory is; the whole card is one region."""
        if not isinstance(allocation, Held) or allocation.owner is not self:
            return None
        return Piece(0, allocation.address, allocation.nbytes, allocation.requested)

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns what tensors hold."""
        pieces: list[tuple[Piece, Label | None]] = []
        for memory in self._alive_memory():
            label: Any = describe_label(memory.purpose.label(memory.dtype, memory.shape))
            pieces.append((Piece(0, memory.address, memory.nbytes, memory.requested), label))
        return pieces

    def trim(self) -> int:
        """Gives cached memory back to the card; what was preallocated stays."""
        if self._seeded:
            return 0
        bytes_before = self._pool.total_bytes()
        self._pool.free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()
        return bytes_before - self._pool.total_bytes()

    def close(self) -> None:
        """Gives back what is not in use; the rest goes with the last tensor."""
        self._pool.free_all_blocks()
