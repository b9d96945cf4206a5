"""CuPy's own pool on a real card, with a limit and statistics; the default, because it adds almost no cost per op."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from nbtf._devices.base import Label, MemoryStats, Piece, describe_label
from nbtf._devices.cuda.guard import make_current_again
from nbtf._devices.cuda.memory import UNIT, Plan, Purpose

_TRIES = 20
"""Number of attempts to preallocate, each with a smaller size; the last requests a third of the first."""


class Held:
    """Memory of the CuPy pool that buffers hold; the pool itself notices when the array dies."""

    __slots__ = ("__weakref__", "address", "dtype", "nbytes", "owner", "purpose", "requested", "shape")

    def __init__(self, array: Any, purpose: Purpose, owner: PoolMemory) -> None:
        """Stores the properties of an array."""
        memory = array.data.mem
        self.purpose, self.owner, self.dtype, self.shape = purpose, owner, array.dtype, array.shape
        self.address, self.nbytes, self.requested = memory.ptr, memory.size, array.nbytes


class PoolMemory:
    """CuPy's own pool with a limit, and statistics of its allocations."""

    def __init__(self, cupy: Any, ordinal: int, limit: int, plan: Plan, name: str) -> None:
        """Creates a pool. Its device and the stream that will use it must be current.

        Seeding puts the whole limit into the pool as one contiguous block, so that later failures are due to
        fragmentation alone.
        """
        self._cupy, self._ordinal, self.name = cupy, ordinal, name
        self._seeded = plan.preallocate
        bound = getattr(cupy.cuda.memory, "SingleDeviceMemoryPool", None)
        self._bound = bound is not None
        self._pool = pool = (bound or cupy.cuda.MemoryPool)()
        if self._seeded:
            limit = self._seed(limit)
        pool.set_limit(size=limit)  # set in any case: otherwise CuPy applies CUPY_GPU_MEMORY_LIMIT
        self.limit = limit
        self._alive: set[ref[Held]] = set()
        self.peak = self.num_allocs = self.largest = 0
        self.allocate = self._counting()

    def _seed(self, limit: int) -> int:
        """Reserves the limit on the card, or less if another program was faster; returns the reserved bytes."""
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
        """Returns the pool's allocator with statistics, which cost 0.2 µs per array."""
        malloc, used = self._pool.malloc, self._pool.used_bytes
        limit, error = self.limit, self._cupy.cuda.memory.OutOfMemoryError

        def allocate(nbytes: int) -> Any:
            if nbytes > limit:  # fail now: the pool would first release all idle memory to make room
                raise error(nbytes, self.level()[1], limit)
            try:
                pointer = malloc(nbytes)
            except MemoryError:
                gc.collect()  # the pool collects as well, but then requests memory from the card instead of reusing it
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
        """Returns the hold that keeps an array charged; None for an empty array."""
        if not array.nbytes:
            return None
        memory = Held(array, purpose, self)
        self._alive.add(ref(memory, self._alive.discard))  # a C callback: no Python frame runs when the array dies
        return memory

    def _alive_memory(self) -> list[Held]:
        """Returns the holds that are still alive."""
        return [memory for death in self._alive.copy() if (memory := death()) is not None]

    def level(self) -> tuple[int, int]:
        """Returns bytes in use and bytes reserved on the card."""
        if self._bound:  # plain counters that any thread can read
            return self._pool.used_bytes(), self._pool.total_bytes()
        runtime = self._cupy.cuda.runtime
        device = runtime.getDevice()
        runtime.setDevice(self._ordinal)  # CuPy's pool reports the figures of the current device
        try:
            return self._pool.used_bytes(), self._pool.total_bytes()
        finally:
            if device != self._ordinal:
                make_current_again(device, runtime.setDevice)

    def stats(self) -> MemoryStats:
        """Returns the statistics. The pool does not expose its free blocks, so all free memory counts as one block."""
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
        """Sets the peak to the current use, and resets the other counts."""
        self.peak, self.num_allocs, self.largest = self.level()[0], 0, 0

    def map(self) -> None:
        """Returns None: CuPy's pool does not expose its blocks."""

    def piece(self, allocation: object) -> Piece | None:
        """Returns where memory is; the whole card is one region."""
        if not isinstance(allocation, Held) or allocation.owner is not self:
            return None
        return Piece(0, allocation.address, allocation.nbytes, allocation.requested)

    def pieces(self) -> list[tuple[Piece, Label | None]]:
        """Returns the pieces that tensors hold."""
        pieces: list[tuple[Piece, Label | None]] = []
        for memory in self._alive_memory():
            label: Any = describe_label(memory.purpose.label(memory.dtype, memory.shape))
            pieces.append((Piece(0, memory.address, memory.nbytes, memory.requested), label))
        return pieces

    def trim(self) -> int:
        """Releases cached memory to the card; preallocated memory stays reserved."""
        if self._seeded:
            return 0
        bytes_before = self._pool.total_bytes()
        self._pool.free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()
        return bytes_before - self._pool.total_bytes()

    def close(self) -> None:
        """Releases memory that is not in use; the rest is released with the last tensor."""
        self._pool.free_all_blocks()
