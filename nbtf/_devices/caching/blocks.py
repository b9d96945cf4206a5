"""How PyTorch's allocator divides memory: blocks, pools of free blocks, and allocations for callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from nbtf._devices.caching.settings import AllocatorSettings

# c10/core/AllocatorConfig.h of PyTorch 2.13.
MIN_BLOCK = 512
SMALL = 1 << 20
"""Largest size that the small pool serves."""

SMALL_SEGMENT = 2 << 20
_LEAST_OWN_SEGMENT = 10 << 20
_SEGMENT_STEP = 2 << 20


def rounded(nbytes: int, settings: AllocatorSettings) -> int:
    """Returns the size charged for a request: a multiple of 512, or a step between powers of 2 if so configured.

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
    """Returns the size requested from the card for a block: 2 MiB, 20 MiB or a multiple of 2 MiB.

    >>> [segment_size(mib << 20, AllocatorSettings()) >> 20 for mib in (1, 2, 11)]
    [2, 20, 12]
    """
    if size <= SMALL:
        return SMALL_SEGMENT
    if size < _LEAST_OWN_SEGMENT:
        return settings.large_segment_size
    return -(-size // _SEGMENT_STEP) * _SEGMENT_STEP


class ExpandableSegment:
    """A range of addresses, larger than the card, whose pages are mapped as they are needed."""

    __slots__ = ("address", "page", "size")

    def __init__(self, address: int, page: int, total: int) -> None:
        """Reserves addresses for nine eighths of a card of `total` bytes."""
        self.address, self.page = address, page
        self.size = -(-(total + total // 8) // page) * page

    def outside(self, start: int, end: int) -> tuple[int, int]:
        """Returns the pages that a range touches, as a range of addresses."""
        first, last = (start - self.address) // self.page, -(-(end - self.address) // self.page)
        return self.address + first * self.page, self.address + last * self.page

    def inside(self, start: int, end: int) -> tuple[int, int]:
        """Returns the pages that a range covers completely, as a range of addresses."""
        first, last = -(-(start - self.address) // self.page), (end - self.address) // self.page
        return self.address + first * self.page, self.address + last * self.page


class Block:
    """A part of a segment, in use or free, between its neighbours. It may be a range of unmapped addresses."""

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
        """Creates a free, mapped block without neighbours."""
        self.pool, self.stream, self.address, self.size, self.segment = pool, stream, address, size, segment
        self.prev: Block | None = None
        self.next: Block | None = None
        self.requested = 0
        self.label: Any = None
        self.allocated, self.mapped = False, True
        self.streams: tuple[int, ...] = ()
        """Other streams whose work may still use it."""
        self.searches_before = 0

    def become(
        self,
        address: int,
        size: int,
        prev: Block | None,
        next: Block | None,
        allocated: bool,
        requested: int,
        label: Any,
        mapped: bool,
        streams: tuple[int, ...],
    ) -> None:
        """Sets everything that may change while the block exists, except its age."""
        self.address, self.size, self.prev, self.next = address, size, prev, next
        self.allocated, self.requested, self.label, self.mapped, self.streams = (
            allocated,
            requested,
            label,
            mapped,
            streams,
        )

    @property
    def is_active(self) -> bool:
        """Whether it is allocated, or work on another stream may still use it."""
        return self.allocated or bool(self.streams)

    @property
    def is_split(self) -> bool:
        """Whether it is only a part of its segment."""
        return self.prev is not None or self.next is not None

    @property
    def age(self) -> int:
        """Number of searches of its pool since it was freed."""
        return self.pool.searches - self.searches_before


class Pool:
    """The free blocks for small or for large requests, sorted by stream, size and address: the first fit is the best.

    Unmapped addresses of expandable segments are kept in a separate list.
    """

    def __init__(self, is_small: bool) -> None:
        """Creates an empty pool."""
        self.is_small = is_small
        self.blocks: list[tuple[int, int, int, Block]] = []
        self.unmapped: list[tuple[int, int, Block]] = []
        """Unmapped addresses of expandable segments, by stream and address."""
        self.searches = 0


class Death(ref["Allocation"]):
    """Holds the block of an allocation. Its callback is a C method, so that nothing can interrupt it."""

    __slots__ = ("block",)

    block: Block | None


class Allocation:
    """Allocated memory. It belongs to the holder of this object, and is freed when the object dies."""

    __slots__ = ("__weakref__", "_death", "address", "host", "label", "requested", "size", "stream")

    def __init__(self, requested: int, stream: int, label: Any, at_death: Callable[[Any], object]) -> None:
        """Starts without a block."""
        self.requested, self.stream, self.label = requested, stream, label
        self.address = self.size = 0
        self.host = 0
        """Address of its values in host memory; 0 without values."""
        self._death = Death(self, at_death)
        self._death.block = None

    def __repr__(self) -> str:
        """Returns its address and size."""
        return f"<{self.size:,} bytes at {self.address:#x}>"

    @property
    def in_use(self) -> bool:
        """Whether it is still allocated. A free takes effect at the allocator's next operation."""
        return self._death.block is not None
