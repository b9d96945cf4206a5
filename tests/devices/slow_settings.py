"""A plain copy of the caching allocator's rules under settings: lists that are searched from the beginning each time.

Written from the comments and functions of PyTorch's CUDACachingAllocator.cpp: get_free_block, should_split,
alloc_block, try_allocate_expandable_block, find_expandable_block, map_block, unmap_block, release_cached_blocks,
release_available_cached_blocks and garbage_collect_cached_blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MIB = 1 << 20


@dataclass(eq=False)
class Piece:
    """A part of a segment: free without a name."""

    size: int
    name: object = None
    mapped: bool = True
    since: int = 0


@dataclass(eq=False)
class Area:
    """A segment; `page` is 0 unless it is expandable."""

    number: int
    small: bool
    stream: int
    pieces: list[Piece]
    page: int = 0


class Spot(NamedTuple):
    """Where a piece is."""

    area: Area
    index: int

    @property
    def piece(self) -> Piece:
        return self.area.pieces[self.index]

    @property
    def offset(self) -> int:
        return sum(piece.size for piece in self.area.pieces[: self.index])

    @property
    def alone(self) -> bool:
        return len(self.area.pieces) == 1


@dataclass
class Rules:
    """Settings in bytes; 0 and None mean none."""

    expandable: bool = False
    max_split: int | None = None
    rounding: int = 20 * MIB
    divisions: int = 0
    threshold: float = 0.0
    fraction: float = 1.0


@dataclass
class SlowAllocator:
    """An allocator on a card of `total` bytes."""

    total: int
    rules: Rules = field(default_factory=Rules)
    areas: list[Area] = field(default_factory=list[Area])
    numbers: int = 0
    searches: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    retries: int = 0
    peak_reserved: int = 0
    peak_allocated: int = 0

    # Figures

    @property
    def reserved(self) -> int:
        return sum(piece.size for area in self.areas for piece in area.pieces if piece.mapped)

    @property
    def allocated(self) -> int:
        return sum(piece.size for area in self.areas for piece in area.pieces if piece.name is not None)

    @property
    def allowed(self) -> int | None:
        return None if self.rules.fraction >= 1 else int(self.total * self.rules.fraction)

    @property
    def collects(self) -> bool:
        return self.rules.threshold > 0 and self.allowed is not None

    def count_peak(self) -> None:
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.peak_allocated = max(self.peak_allocated, self.allocated)

    # Requests

    def round_up(self, nbytes: int) -> int:
        size, divisions = -(-max(nbytes, 1) // 512) * 512, self.rules.divisions
        if divisions > 1 and nbytes > 512 * divisions:
            lower = 1
            while lower * 2 <= nbytes:
                lower *= 2
            return next(
                lower + lower * step // divisions
                for step in range(divisions + 1)
                if lower + lower * step // divisions >= nbytes
            )
        return size

    def allocate(self, nbytes: int, name: object, stream: int = 0) -> tuple[int, int, int] | None:
        """Returns the segment's number, the offset in it and the size; None if the card has not enough."""
        size = self.round_up(nbytes)
        small = size <= MIB
        spot = self.search(small, size, stream)
        if spot is None:
            if self.collects:
                self.collect_garbage()
            spot = self.request(small, size, stream)
            if spot is None and self.release_oversize(small, size, stream):
                spot = self.request(small, size, stream)
            if spot is None:
                self.empty_cache()
                self.retries += 1
                spot = self.request(small, size, stream)
            if spot is None:
                return None
        piece, rest = spot.piece, spot.piece.size - size
        if small or self.rules.expandable:
            splits = rest >= 512
        else:
            splits = rest > MIB and (self.rules.max_split is None or size < self.rules.max_split)
        if splits:
            piece.size = size
            spot.area.pieces.insert(spot.index + 1, Piece(rest, since=self.searches[small]))
        piece.name = name
        self.count_peak()
        return spot.area.number, spot.offset, piece.size

    def free_spots(self, small: bool, stream: int) -> list[Spot]:
        """Returns the free mapped pieces of a pool and stream, by size and address."""
        spots = [
            Spot(area, index)
            for area in self.areas
            if (area.small, area.stream) == (small, stream)
            for index, piece in enumerate(area.pieces)
            if piece.name is None and piece.mapped
        ]
        return sorted(spots, key=lambda spot: (spot.piece.size, spot.area.number, spot.offset))

    def search(self, small: bool, size: int, stream: int) -> Spot | None:
        if self.collects:
            self.searches[small] += 1
        spots = [spot for spot in self.free_spots(small, stream) if spot.piece.size >= size]
        if not spots:
            return None
        at = 0
        if self.rules.expandable:
            while at + 1 < len(spots) and reach(spots[at + 1]) < reach(spots[at]):
                at += 1
        block, limit = spots[at].piece.size, self.rules.max_split
        if limit is not None and size < limit <= block:
            return None
        if limit is not None and size >= limit and block >= size + self.rules.rounding:
            return None
        return spots[at]

    def request(self, small: bool, size: int, stream: int) -> Spot | None:
        """Requests memory from the card."""
        nbytes = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.allowed is not None and self.reserved + nbytes > self.allowed:
            return None
        if self.rules.expandable:
            return self.expand(small, size, stream)
        if self.reserved + nbytes > self.total:
            return None
        area = Area(self.numbers, small, stream, [Piece(nbytes)])
        self.numbers += 1
        self.areas.append(area)
        self.count_peak()
        return Spot(area, 0)

    # Expandable segments

    def expand(self, small: bool, size: int, stream: int) -> Spot | None:
        area, index = self.growing(small, size, stream)
        while True:
            piece = area.pieces[index]
            if not piece.mapped:
                before = piece
                if not self.map_pages(area, index, min(size, piece.size)):
                    return None
                index = next(at for at, each in enumerate(area.pieces) if each is before)
            if area.pieces[index].size >= size:
                return Spot(area, index)
            # The unmapped addresses behind the piece are mapped for what is missing; both merge.
            missing, following = size - area.pieces[index].size, area.pieces[index + 1]
            if not self.map_pages(area, index + 1, min(missing, following.size)):
                return None
            index = next(at for at, each in enumerate(area.pieces) if each is following)

    def growing(self, small: bool, size: int, stream: int) -> tuple[Area, int]:
        for area in self.areas:
            if not area.page or (area.small, area.stream) != (small, stream):
                continue
            for index, piece in enumerate(area.pieces):
                if piece.mapped:
                    continue
                first = index - 1 if index and area.pieces[index - 1].name is None else index
                room = 0
                for each in area.pieces[first:]:
                    if each.name is not None:
                        break
                    room += each.size
                if room >= size:
                    return area, first
        page = 2 * MIB if small else 20 * MIB
        length = -(-(self.total + self.total // 8) // page) * page
        self.areas.append(Area(self.numbers, small, stream, [Piece(length, mapped=False)], page))
        self.numbers += 1
        return self.areas[-1], 0

    def map_pages(self, area: Area, index: int, nbytes: int) -> bool:
        """Maps the first bytes of a piece in whole pages, and merges it with its free neighbours."""
        start = Spot(area, index).offset
        piece = area.pieces[index]
        mapped = -(-(start + nbytes) // area.page) * area.page - start
        if self.reserved + mapped > self.total:
            return False
        if mapped < piece.size:
            area.pieces.insert(index + 1, Piece(piece.size - mapped, mapped=False))
            piece.size = mapped
        piece.mapped, piece.since = True, self.searches[area.small]
        self.merge(area, piece)
        self.count_peak()
        return True

    def merge(self, area: Area, piece: Piece) -> None:
        """Merges a free piece with free neighbours that are mapped as it is; it is the one that remains."""
        for step in (-1, 1):
            at = area.pieces.index(piece) + step
            if 0 <= at < len(area.pieces):
                other = area.pieces[at]
                if other.name is None and other.mapped == piece.mapped:
                    piece.size += other.size
                    del area.pieces[at]

    def unmap_pages(self, area: Area, piece: Piece) -> None:
        """Unmaps the whole pages in a free piece; what is left before and behind stays mapped."""
        start = Spot(area, area.pieces.index(piece)).offset
        first = -(-start // area.page) * area.page
        last = (start + piece.size) // area.page * area.page
        if first >= last:
            return
        at, now = area.pieces.index(piece), self.searches[area.small]
        parts = [
            Piece(first - start, since=now),
            Piece(last - first, mapped=False),
            Piece(start + piece.size - last, since=now),
        ]
        area.pieces[at : at + 1] = [part for part in parts if part.size]
        self.merge(area, parts[1])

    # Frees and releases

    def free(self, name: object) -> None:
        for area in self.areas:
            for piece in area.pieces:
                if piece.name == name:
                    piece.name, piece.since = None, self.searches[area.small]
                    self.merge(area, piece)
                    return

    def empty_cache(self) -> None:
        for area, piece in [*self.idle()]:
            if area.page:
                self.unmap_pages(area, piece)
            else:
                self.areas.remove(area)
        self.areas = [area for area in self.areas if any(piece.mapped for piece in area.pieces)]

    def idle(self) -> Iterator[tuple[Area, Piece]]:
        """Yields segments without memory in use, and the free pieces of expandable ones."""
        for area in self.areas:
            for piece in area.pieces:
                if piece.name is None and piece.mapped and (area.page or len(area.pieces) == 1):
                    yield area, piece

    def release_oversize(self, small: bool, size: int, stream: int) -> bool:
        limit = self.rules.max_split
        if limit is None:
            return False
        need = max(size, limit)
        spots = self.free_spots(small, stream)
        larger = [spot for spot in spots if spot.piece.size >= need]
        if larger and not larger[0].area.page:
            self.areas.remove(larger[0].area)
            return True
        released = 0
        for spot in reversed([spot for spot in spots if spot.piece.size < need]):
            if released >= need or spot.piece.size < limit:
                break
            if not spot.area.page:
                released += spot.piece.size
                self.areas.remove(spot.area)
        return released >= need

    def collect_garbage(self) -> None:
        assert self.allowed is not None
        limit = int(self.rules.threshold * self.allowed)
        if self.reserved <= limit:
            return
        target, reclaimed, freed = self.reserved - limit, 0, True
        while reclaimed < target and freed:
            spots = [
                Spot(area, 0)
                for area in self.areas
                if not area.small and len(area.pieces) == 1 and area.pieces[0].name is None and area.pieces[0].mapped
            ]
            if not spots:
                return
            spots.sort(key=lambda spot: (spot.area.stream, spot.piece.size, spot.area.number))
            ages = {spot.area.number: self.searches[False] - spot.piece.since for spot in spots}
            average, freed = sum(ages.values()) / len(ages), False
            for spot in spots:
                if not spot.area.page and ages[spot.area.number] >= average:
                    reclaimed, freed = reclaimed + spot.piece.size, True
                    self.areas.remove(spot.area)


def reach(spot: Spot) -> int:
    """Returns the size that a free piece could have by mapping the addresses behind it."""
    behind = spot.area.pieces[spot.index + 1 : spot.index + 2]
    return spot.piece.size + sum(piece.size for piece in behind if not piece.mapped)


RULES = {
    "": Rules(),
    "expandable_segments:True": Rules(expandable=True),
    "max_split_size_mb:20": Rules(max_split=20 * MIB),
    "max_split_size_mb:40,max_non_split_rounding_mb:30": Rules(max_split=40 * MIB, rounding=30 * MIB),
    "garbage_collection_threshold:0.6,per_process_memory_fraction:0.5": Rules(threshold=0.6, fraction=0.5),
    "expandable_segments:True,max_split_size_mb:20": Rules(expandable=True, max_split=20 * MIB),
    "roundup_power2_divisions:4": Rules(divisions=4),
    "max_split_size_mb:20,garbage_collection_threshold:0.5,per_process_memory_fraction:0.7": Rules(
        max_split=20 * MIB, threshold=0.5, fraction=0.7
    ),
}
"""Settings in the format of `PYTORCH_ALLOC_CONF`, and what they mean."""
