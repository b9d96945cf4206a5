"""Which memory of its card does a simulated GPU map? Regions, requested from the card one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol
from weakref import ref

import numpy as np

from nbtf._devices.bfc.chunks import MIN_CHUNK, Hole, OldHandles, Region, Tile, rounded
from nbtf._locks import new_lock

# Source of every rule and constant in this file: bfc_allocator.h and .cc of TensorFlow 2.21.
_FIRST_REGION = 2 << 20
_BACKPEDAL = np.float32(0.9)
# Regions are never adjacent, as on a card; the addresses are those of a typical CUDA process.
_FIRST_ADDRESS = 0x7F0000000000
_ADDRESS_STEP = 2 << 20


class Tenant(Protocol):
    """A user of a card's memory; `owner` is the library that it belongs to, empty for nbtf."""

    owner: str

    @property
    def mapped(self) -> int:
        """Bytes that it has mapped; read without its lock."""
        ...


class Tenants:
    """The few tenants that share a card, held weakly; cheap, since each of a thousand cards has such a set."""

    __slots__ = ("_references",)

    def __init__(self) -> None:
        """Starts empty."""
        self._references: tuple[ref[Tenant], ...] = ()

    def __iter__(self) -> Iterator[Tenant]:
        """Yields the tenants that are alive."""
        references = self._references
        return iter([tenant for reference in references if (tenant := reference()) is not None] if references else ())

    def add(self, tenant: Tenant) -> None:
        """Adds a tenant."""
        self._references = *self._references, ref(tenant)

    def discard(self, tenant: Tenant) -> None:
        """Removes a tenant if it is present."""
        self._references = tuple([reference for reference in self._references if reference() is not tenant])


class Driver:
    """The memory of one physical card, which several pools may share. It keeps no count; the pools do."""

    __slots__ = ("pools", "total")

    lock = new_lock()
    """Held from a request until the pool has mapped the memory; one lock for all cards, which may be many."""

    def __init__(self, total_bytes: int) -> None:
        """Creates a card with all of its memory free."""
        self.total = total_bytes
        self.pools = Tenants()

    @property
    def free(self) -> int:
        """Bytes that are not mapped."""
        pools = [*self.pools]
        return self.total - sum([pool.mapped for pool in pools]) if pools else self.total

    def mapped_beside(self, tenant: Tenant) -> int:
        """Returns the bytes that all other tenants have mapped."""
        return sum([pool.mapped for pool in self.pools if pool is not tenant])

    def mapped_by(self, owner: str) -> int:
        """Returns the bytes that a library has mapped."""
        return sum([pool.mapped for pool in self.pools if pool.owner == owner])

    def request(self, nbytes: int) -> bool:
        """Returns whether enough memory is free to map; the caller holds the lock."""
        return nbytes <= self.free


class Pool:
    """The regions of one allocator, and the free blocks in them.

    The free blocks of all bins are in one list, sorted by size and then by address. The lock must be held to access the
    lists. A change of the regions prepares all attributes and then sets all of them or none.
    """

    owner = ""

    def __init__(self, limit: int, growth: bool, driver: Driver | None) -> None:
        """Creates a pool without regions."""
        self.limit, self.growth = limit, growth
        self._driver = driver or Driver(sys.maxsize)
        self._next_region = rounded(min(limit, _FIRST_REGION) if growth else limit)
        self._next_address = _FIRST_ADDRESS
        self._regions: list[Region] = []
        self._regions_made = 0
        self._free: list[tuple[int, int, Tile]] = []
        self._lock = new_lock()
        self._old_handles: OldHandles | None = None
        self._handles_made = 0
        self._pool = self._peak_pool = 0
        self._driver.pools.add(self)

    @property
    def next_region(self) -> int:
        """Size of the next region, ignoring the limit."""
        return self._next_region

    @property
    def released_regions(self) -> int:
        """Number of regions that were released to the card."""
        return self._regions_made - len(self._regions)

    @property
    def mapped(self) -> int:
        """Bytes of all regions."""
        return self._pool

    @property
    def card(self) -> Driver:
        """The memory of its card."""
        return self._driver

    def _extend(self, need: int) -> bool:
        """Maps a region of at least `need` bytes, usually twice the last one; returns whether it worked."""
        available = (self.limit - self._pool) & -MIN_CHUNK
        if need > available:
            return False
        grew, usual = need > self._next_region, self._next_region
        while need > usual:
            usual *= 2
        self._next_region = usual
        size = min(usual, available)
        with self._driver.lock:
            while not self._driver.request(size):
                smaller = rounded(int(np.float32(size) * _BACKPEDAL))
                # Below 2560 bytes, rounding undoes the reduction, and TensorFlow would request forever.
                if smaller < need or smaller == size:
                    return False
                size = smaller
            self._map(size, usual if grew else 2 * usual)
        return True

    def _map(self, size: int, next_region: int) -> None:
        """Adds a region with a single free block."""
        region = Region(self._regions_made, self._next_address, size)
        hole = Hole()
        hole.address, hole.size, hole.region, hole.in_use, hole.label = region.address, size, region, False, None
        hole.prev = hole.next = region
        region.prev = region.next = hole
        old, handles = self._old_handles, self._handles_made
        if old is None:
            hole.handle, hole.requested, handles = handles, 0, handles + 1
        else:
            hole.handle, hole.requested, old = old
        self._become(
            _regions=[*self._regions, region],
            _free=sorted([*self._free, (size, hole.address, hole)]),
            _old_handles=old,
            _handles_made=handles,
            _regions_made=self._regions_made + 1,
            _next_address=self._next_address + (size + 2 * _ADDRESS_STEP) // _ADDRESS_STEP * _ADDRESS_STEP,
            _next_region=next_region,
            _pool=self._pool + size,
            _peak_pool=max(self._peak_pool, self._pool + size),
        )

    def _become(self, **state: Any) -> None:
        """Sets attributes; an interrupt is raised only after all are set.

        It sets them one by one: accessing `__dict__` would make the object's attributes permanently slower.
        """
        try:
            for name, value in state.items():
                setattr(self, name, value)
        except BaseException:
            for name, value in state.items():
                setattr(self, name, value)
            raise

    def _collect(self, need: int) -> bool:
        """Releases all idle regions if `need` bytes could be mapped afterwards."""
        idle = [region for region in self._regions if region.is_idle()]
        total = sum(region.size for region in idle)
        if not idle or need > self.limit - self._pool + total:
            return False
        self._drop(idle)
        return True

    def _drop(self, idle: list[Region]) -> int:
        """Releases idle regions; returns the number of bytes."""
        old = self._old_handles
        for region in idle:
            old = (region.next.handle, region.next.requested, old)
        nbytes = sum([region.size for region in idle])
        self._become(
            _regions=[region for region in self._regions if region not in idle],
            _free=[entry for entry in self._free if entry[2].region not in idle],
            _old_handles=old,
            _pool=self._pool - nbytes,
        )
        return nbytes
