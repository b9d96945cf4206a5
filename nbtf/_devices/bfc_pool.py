"""Which memory a simulated GPU has mapped: regions, asked from the card one by one."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort

import numpy as np

from nbtf._devices.bfc_chunks import MIN_CHUNK, Block, OldHandles, Region, rounded

# Every rule and constant of this file: bfc_allocator.h and .cc of TensorFlow 2.21.
_FIRST_REGION = 2 << 20
_BACKPEDAL = np.float32(0.9)
# Regions never touch, as on a card; the addresses are those of a typical CUDA process.
_FIRST_ADDRESS = 0x7F0000000000
_ADDRESS_STEP = 2 << 20


class Driver:
    """The memory of one physical card, which several allocators may share."""

    def __init__(self, total_bytes: int) -> None:
        """Makes a card with all of its memory free."""
        self.total = total_bytes
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """Bytes that nobody has mapped."""
        return self.total - self._taken

    def request(self, nbytes: int) -> bool:
        """Maps memory; says whether there was enough."""
        with self._lock:
            if nbytes > self.total - self._taken:
                return False
            self._taken += nbytes
            return True

    def release(self, nbytes: int) -> None:
        """Gives mapped memory back."""
        with self._lock:
            self._taken -= nbytes


class Pool:
    """The regions of one allocator, and the free blocks in them.

    The free blocks of all bins stand in one list, sorted by size and then address. Whoever touches the lists holds
    the lock.
    """

    def __init__(self, limit: int, growth: bool, driver: Driver | None) -> None:
        """Makes a pool without regions."""
        self.limit, self.growth = limit, growth
        self._driver = driver
        self._next_region = rounded(min(limit, _FIRST_REGION) if growth else limit)
        self._next_address = _FIRST_ADDRESS
        self._regions: list[Region] = []
        self._regions_made = 0
        self._free: list[tuple[int, int, Block]] = []
        self._lock = threading.Lock()
        self._old_handles: OldHandles | None = None
        self._handles_made = 0
        self._pool = self._peak_pool = 0

    @property
    def next_region(self) -> int:
        """Bytes that the next region would have, were there no limit."""
        return self._next_region

    def _extend(self, need: int) -> bool:
        """Maps a region of at least `need` bytes, usually twice the last one; says whether that went."""
        available = (self.limit - self._pool) & -MIN_CHUNK
        if need > available:
            return False
        grew = need > self._next_region
        while need > self._next_region:
            self._next_region *= 2
        size = min(self._next_region, available)
        while self._driver is not None and not self._driver.request(size):
            smaller = rounded(int(np.float32(size) * _BACKPEDAL))
            # Below 2560 bytes rounding undoes the reduction; TensorFlow would ask for ever.
            if smaller < need or smaller == size:
                return False
            size = smaller
        if not grew:
            self._next_region *= 2
        self._map(size)
        return True

    def _map(self, size: int) -> None:
        """Adds a region that is one free block."""
        region = Region(self._regions_made, self._next_address, size)
        hole = Block()
        hole.address, hole.size, hole.region, hole.in_use, hole.label = region.address, size, region, False, None
        hole.prev = hole.next = region
        region.prev = region.next = hole
        if self._old_handles is None:
            hole.handle, hole.requested = self._handles_made, 0
            self._handles_made += 1
        else:
            hole.handle, hole.requested, self._old_handles = self._old_handles
        self._regions_made += 1
        self._next_address += (size + 2 * _ADDRESS_STEP) // _ADDRESS_STEP * _ADDRESS_STEP
        self._regions.append(region)
        insort(self._free, (size, hole.address, hole))
        self._pool += size
        self._peak_pool = max(self._peak_pool, self._pool)

    def _collect(self, need: int) -> bool:
        """Gives all idle regions back if `need` bytes could be mapped then."""
        idle = [region for region in self._regions if region.is_idle()]
        total = sum(region.size for region in idle)
        if total == 0 or need > self.limit - self._pool + total:
            return False
        self._drop(idle)
        return True

    def _drop(self, idle: list[Region]) -> int:
        """Gives idle regions back; returns their bytes."""
        for region in idle:
            hole = region.next
            del self._free[bisect_left(self._free, (hole.size, hole.address))]
            self._regions.remove(region)
            self._old_handles = (hole.handle, hole.requested, self._old_handles)
            self._release(region.size)
        return sum(region.size for region in idle)

    def _release(self, nbytes: int) -> None:
        """Gives bytes of a region that is gone back to the card."""
        self._pool -= nbytes
        if self._driver is not None:
            self._driver.release(nbytes)
