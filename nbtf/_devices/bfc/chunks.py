"""How the BFC allocator divides memory: regions from the driver, blocks that tile them, and chunks for callers."""

from __future__ import annotations

from typing import Union
from weakref import ref

BINS = 21
MIN_CHUNK = 256

# TensorFlow reuses the numbers of its records, last in, first out, and keeps the old request in them: (number,
# request, the rest). Only the dump shows either.
OldHandles = tuple[int, int, "OldHandles | None"]

Tile = Union["Block", "Hole"]
"""A part of a region, in use or free."""


def rounded(nbytes: int) -> int:
    """Rounds up to the multiple of 256 that is charged.

    >>> rounded(1), rounded(256), rounded(257)
    (256, 256, 512)
    """
    return (nbytes + (MIN_CHUNK - 1)) & -MIN_CHUNK


def bin_of(nbytes: int) -> int:
    """Returns the bin for free blocks of a size. Bin k starts at 256 * 2**k bytes; bin 20 has no upper limit.

    >>> bin_of(256), bin_of(1023), bin_of(1 << 40)
    (0, 1, 20)
    """
    return min(BINS - 1, max(nbytes // MIN_CHUNK, 1).bit_length() - 1)


class Hole:
    """A free part of a region, between its neighbours. Holes and blocks tile the region."""

    __slots__ = ("address", "handle", "in_use", "label", "next", "prev", "region", "requested", "size")

    address: int
    handle: int
    """Number of its record in TensorFlow's allocator, shown in the dump."""
    in_use: bool
    label: object
    next: Tile
    prev: Tile
    region: Region
    requested: int
    size: int


class Block(ref["Chunk"]):
    """A part of a region that is in use; a weak reference to its chunk.

    Its callback is a C method, such as `append` of the list of pending frees. No Python frame runs when a chunk dies,
    so no interrupt can be swallowed there and lose the memory.
    """

    __slots__ = Hole.__slots__

    address: int
    handle: int
    in_use: bool
    label: object
    next: Tile
    prev: Tile
    region: Region
    requested: int
    size: int


class Region(Hole):
    """Memory from the driver; it is also both ends of the ring of its blocks, so that searches need no end check."""

    __slots__ = ("number",)

    number: int

    def __init__(self, number: int, address: int, size: int) -> None:
        """Creates a region without blocks. It counts as in use, so that nothing merges across its ends."""
        self.number, self.address, self.size = number, address, size
        self.in_use, self.region, self.prev, self.next = True, self, self, self

    def blocks(self) -> list[Tile]:
        """Returns the blocks and holes by address."""
        pieces: list[Tile] = []
        piece = self.next
        while piece is not self:
            pieces.append(piece)
            piece = piece.next
        return pieces

    def is_idle(self) -> bool:
        """Returns whether nothing in it is in use. Free neighbours are merged, so it then has a single hole."""
        return not self.next.in_use and self.next is self.prev


class Chunk:
    """Allocated memory. It belongs to the holder of the chunk, and is freed when the chunk dies."""

    __slots__ = ("__weakref__", "_block")

    _block: Block

    @property
    def size(self) -> int:
        """Bytes charged."""
        return self._block.size

    @property
    def requested(self) -> int:
        """Bytes requested."""
        return self._block.requested

    @property
    def offset(self) -> int:
        """Bytes from the start of its region."""
        return self._block.address - self._block.region.address

    @property
    def region(self) -> int:
        """Number of its region; the first region ever made has number 0."""
        return self._block.region.number

    @property
    def label(self) -> object:
        """The label passed to `allocate`."""
        return self._block.label

    @property
    def in_use(self) -> bool:
        """Whether it is still allocated. A free takes effect at the allocator's next operation."""
        return self._block.in_use
