"""What PyTorch's allocator cuts memory into: blocks, the pools that keep free ones, allocations that people hold."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any
from weakref import ref

from nbtf._devices.caching.settings import AllocatorSettings

# c10/core/AllocatorConfig.h of PyTorch 2.13.
MIN_BLOCK = 512
SMALL = 1 << 20
"""The largest size that the small pool serves."""

SMALL_SEGMENT = 2 << 20
_LEAST_OWN_SEGMENT = 10 << 20
_SEGMENT_STEP = 2 << 20


def rounded(nbytes: int, settings: AllocatorSettings) -> int:
    """Returns the size that a request is charged: a multiple of 512, or a step between powers of 2 where asked for.

    >>> rounded(1, AllocatorSettings()), rounded(513, AllocatorSettings())
    (512, 1024)
    >>> rounded(1200 << 10, AllocatorSettings.parse("roundup_power2_divisions:4")) >> 10
    1280
    """
    if nbytes < MIN_BLOCK:
        return MIN_BLOCK
    divisions = settings.divisions_for(nbytes)
    if divisions > 1 and nbytes > MIN_BLOCK * divisions:
        step = (1 << (nbytes.bit_length() - 1)) // divisions
        return -(-nbytes // step) * step
    return (nbytes + MIN_BLOCK - 1) & -MIN_BLOCK


def segment_size(size: int, settings: AllocatorSettings) -> int:
    """Returns how much is asked from the card for a block of this size: 2 MiB, 20 MiB or multiples of 2 MiB.

    >>> [segment_size(mib << 20, AllocatorSettings()) >> 20 for mib in (1, 2, 11)]
    [2, 20, 12]
    """
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < _LEAST_OWN_SEGMENT:
        return settings.large_segment_size
    return -(-size // _SEGMENT_STEP) * _SEGMENT_STEP


class ExpandableSegment:
    """A range of addresses, larger than the card, of which pages are mapped as they are needed."""

    __slots__ = ("address", "page", "size")

    def __init__(self, address: int, page: int, total: int) -> None:
        """Reserves addresses for nine eighths of a card of `total` bytes."""
        self.address, self.page = address, page
        self.size = -(-(total + total // 8) // page) * page

    def outside(self, start: int, end: int) -> tuple[int, int]:
        """Returns the pages that a range touches, as addresses."""
        first, last = (start - self.address) // self.page, -(-(end - self.address) // self.page)
        return self.address + first * self.page, self.address + last * self.page

    def inside(self, start: int, end: int) -> tuple[int, int]:
        """Returns the pages that a range covers wholly."""
        first, last = -(-(start - self.address) // self.page), (end - self.address) // self.page
        return self.address + first * self.page, self.address + last * self.page


class Block:
    """A piece of a segment, in use or free, between its neighbours. A piece of addresses may be not mapped."""

    __slots__ = (
        "address",
        "allocated",
        "label",
        "mapped",
        "next",
        "pool",
        "prev",
        "requested",
        "searches_before",
        "segment",
        "size",
        "stream",
        "streams",
    )

    def __init__(
        self, pool: Pool, stream: int, address: int, size: int, segment: ExpandableSegment | None = None
    ) -> None:
        """Makes a free, mapped block without neighbours."""
        self.pool, self.stream, self.address, self.size, self.segment = pool, stream, address, size, segment
        self.prev: Block | None = None
        self.next: Block | None = None
        self.requested, self.label = 0, None
        self.allocated, self.mapped = False, True
        self.streams: tuple[int, ...] = ()
        """Streams beside its own whose work may still use it."""
        self.searches_before = 0

    @property
    def is_active(self) -> bool:
        """Whether somebody holds it, or work on another stream may still use it."""
        return self.allocated or bool(self.streams)

    @property
    def is_split(self) -> bool:
        """Whether it is not all of its segment."""
        return self.prev is not None or self.next is not None

    @property
    def age(self) -> int:
        """How many searches of its pool it has been free for."""
        return self.pool.searches - self.searches_before


class Pool:
    """The free blocks for small requests or for large ones, by stream, size and address: the first that fits is best.

    Addresses of expandable segments that have no memory are kept apart.
    """

    def __init__(self, is_small: bool) -> None:
        """Makes an empty pool."""
        self.is_small = is_small
        self.blocks: list[tuple[int, int, int, Block]] = []
        self.unmapped: list[tuple[int, int, Block]] = []
        """Addresses of expandable segments without memory, by stream and address."""
        self.searches = 0

    def insert(self, block: Block) -> None:
        """Keeps a free block."""
        block.searches_before = self.searches
        insort(self.blocks, (block.stream, block.size, block.address, block))

    def remove(self, block: Block) -> None:
        """Takes a free block out."""
        del self.blocks[bisect_left(self.blocks, (block.stream, block.size, block.address))]

    def insert_unmapped(self, block: Block) -> None:
        """Keeps addresses without memory."""
        insort(self.unmapped, (block.stream, block.address, block))

    def remove_unmapped(self, block: Block) -> None:
        """Takes addresses without memory out."""
        del self.unmapped[bisect_left(self.unmapped, (block.stream, block.address))]


class Death(ref["Allocation"]):
    """Remembers which block an allocation stands for. Its callback is a method of C's, so nothing can interrupt it."""

    __slots__ = ("block",)

    block: Block | None


class Allocation:
    """Memory that was allocated. It belongs to whoever holds this object, and is given back when the object dies."""

    __slots__ = ("__weakref__", "_death", "address", "host", "label", "requested", "size", "stream")

    def __init__(self, requested: int, stream: int, label: Any, at_death: Callable[[Any], object]) -> None:
        """Stands for nothing yet."""
        self.requested, self.stream, self.label = requested, stream, label
        self.address = self.size = 0
        self.host = 0
        """Where its values are in this computer's memory, where it has any."""
        self._death = Death(self, at_death)
        self._death.block = None

    def __repr__(self) -> str:
        """Returns where it is and how large."""
        return f"<{self.size:,} bytes at {self.address:#x}>"

    @property
    def in_use(self) -> bool:
        """Whether it has not been freed yet. A free counts when the allocator looks at it, at its next question."""
        return self._death.block is not None
