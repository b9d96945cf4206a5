"""A plain, slow BFC allocator, written from the rules, with which the fast one is compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nbtf._devices.bfc.allocator import BFCAllocator

BIN_STARTS = [256 << number for number in range(21)]


@dataclass
class Piece:
    offset: int
    size: int
    name: Any = None  # who has it; None is free
    requested: int = 0


@dataclass
class SlowBFC:
    limit: int
    growth: bool
    garbage_collection: bool
    fraction: float
    card: int  # bytes that the driver has left
    regions: dict[int, list[Piece]] = field(default_factory=dict)
    made: int = 0
    allocs: int = 0
    largest: int = 0
    peak: int = 0
    peak_pool: int = 0

    def __post_init__(self) -> None:
        self.next_region = -(-(min(self.limit, 2**21) if self.growth else self.limit) // 256) * 256

    @property
    def pieces(self) -> list[tuple[int, Piece]]:
        return [(number, piece) for number, pieces in sorted(self.regions.items()) for piece in pieces]

    @property
    def in_use(self) -> int:
        return sum(piece.size for _, piece in self.pieces if piece.name is not None)

    @property
    def pool(self) -> int:
        return sum(piece.size for _, piece in self.pieces)

    def bin_of(self, size: int) -> int:
        return max(number for number, start in enumerate(BIN_STARTS) if start <= size)

    def allocate(self, nbytes: int, name: Any) -> tuple[int, int, int] | None:
        """Returns region, offset and size."""
        need = -(-nbytes // 256) * 256
        found = self.find(need)
        if found is None and self.extend(need):
            found = self.find(need)
        if found is None and self.garbage_collection and self.collect(need) and self.extend(need):
            found = self.find(need)
        if found is None:
            return None
        number, piece = found
        rest = piece.size - need
        if rest >= need or rest >= (int(self.fraction * self.limit) or 128 * 2**20):
            pieces = self.regions[number]
            pieces.insert(pieces.index(piece) + 1, Piece(piece.offset + need, rest))
            piece.size = need
        piece.name, piece.requested = name, nbytes
        self.allocs += 1
        self.largest, self.peak = max(self.largest, piece.size), max(self.peak, self.in_use)
        return number, piece.offset, piece.size

    def find(self, need: int) -> tuple[int, Piece] | None:
        free = [(number, piece) for number, piece in self.pieces if piece.name is None]
        for bin_number in range(self.bin_of(need), 21):
            inside = [found for found in free if self.bin_of(found[1].size) == bin_number and found[1].size >= need]
            if inside:
                return min(inside, key=lambda found: (found[1].size, found[0], found[1].offset))
        return None

    def extend(self, need: int) -> bool:
        available = (self.limit - self.pool) // 256 * 256
        if need > available:
            return False
        grew = False
        while need > self.next_region:
            self.next_region, grew = self.next_region * 2, True
        size = min(self.next_region, available)
        while size > self.card:
            less = -(-int(np.float32(size) * np.float32(0.9)) // 256) * 256
            if less < need or less == size:
                return False
            size = less
        if not grew:
            self.next_region *= 2
        self.card -= size
        self.regions[self.made] = [Piece(0, size)]
        self.made += 1
        self.peak_pool = max(self.peak_pool, self.pool)
        return True

    def collect(self, need: int) -> bool:
        idle = [number for number, pieces in self.regions.items() if all(piece.name is None for piece in pieces)]
        total = sum(piece.size for number in idle for piece in self.regions[number])
        if total == 0 or need > self.limit - self.pool + total:
            return False
        for number in idle:
            del self.regions[number]
        self.card += total
        return True

    def free(self, name: Any) -> None:
        for pieces in self.regions.values():
            for piece in pieces:
                if piece.name == name:
                    piece.name = None
            for before, after in zip(pieces[-2::-1], pieces[:0:-1], strict=True):
                if before.name is None and after.name is None:
                    before.size += after.size
                    pieces.remove(after)


def problems(allocator: BFCAllocator) -> list[str]:
    """Returns what is wrong inside an allocator; nothing if all is well."""
    found: list[str] = []
    stats, regions = allocator.stats(), allocator.snapshot()
    for region in regions:
        ends = [0, *(chunk.offset + chunk.size for chunk in region.chunks)]
        if ends != [*(chunk.offset for chunk in region.chunks), region.size]:
            found.append(f"chunks do not tile region {region.region}")
        for one, other in zip(region.chunks, region.chunks[1:], strict=False):
            if not one.in_use and not other.in_use:
                found.append(f"two free neighbours in region {region.region} at {one.offset}")
    chunks = [chunk for region in regions for chunk in region.chunks]
    used = [chunk for chunk in chunks if chunk.in_use]
    free = sorted(chunk.size for chunk in chunks if not chunk.in_use)
    if free != [size for _, sizes in sorted(allocator.bins().items()) for size in sizes]:
        found.append("the bins do not hold the free chunks")
    sums = {
        "bytes_in_use": sum(chunk.size for chunk in used),
        "requested_bytes": sum(chunk.requested for chunk in used),
        "pool_bytes": sum(region.size for region in regions),
        "largest_free_chunk": max(free, default=0),
    }
    found += [
        f"{key} is {getattr(stats, key)}, not {value}" for key, value in sums.items() if getattr(stats, key) != value
    ]
    return found
