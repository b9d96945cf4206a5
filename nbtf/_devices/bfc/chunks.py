"""What the BFC allocator cuts memory into: regions from the driver, blocks that tile them, chunks that people hold."""

from __future__ import annotations

from typing import Union
from weakref import ref

BINS = 21
MIN_CHUNK = 256

# TensorFlow uses the numbers of its records again, last out first in, and the old request still stands in them:
# (number, request, the rest). Only the dump shows either.
OldHandles = tuple[int, int, "OldHandles | None"]

Tile = Union["Block", "Hole"]
"""What stands in a region: in use or free."""


def rounded(nbytes: int) -> int:
    """Rounds up to the multiple of 256 that is charged.

    >>> rounded(1), rounded(256), rounded(257)
    (256, 256, 512)
    """
    return (nbytes + (MIN_CHUNK - 1)) & -MIN_CHUNK


def bin_of(nbytes: int) -> int:
    """Returns the bin for free blocks of a size: bin k begins at 256 * 2**k bytes, bin 20 has no end.

    >>> bin_of(256), bin_of(1023), bin_of(1 << 40)
    (0, 1, 20)
    """
    return min(BINS - 1, max(nbytes // MIN_CHUNK, 1).bit_length() - 1)


class Hole:
    """A free piece of a region, between its neighbours. Holes and blocks tile the region."""

    __slots__ = ("address", "handle", "in_use", "label", "next", "prev", "region", "requested", "size")

    address: int
    handle: int
    """The number of TensorFlow's record of it, which its dump shows."""
    in_use: bool
    label: object
    next: Tile
    prev: Tile
    region: Region
    requested: int
    size: int


class Block(ref["Chunk"]):
    """A piece of a region that somebody holds: the weak reference to the chunk that stands for it.

    Its callback is a method of C's, such as `append` of the list of frees that wait. So no frame of Python's runs when
    a chunk dies, in which an interrupt could come, be swallowed, and lose the memory.
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
    """Memory from the driver; also both ends of the ring of its blocks, so that no search has to look for ends."""

    __slots__ = ("number",)

    number: int

    def __init__(self, number: int, address: int, size: int) -> None:
        """Makes a region without blocks. It counts as in use: nothing merges across its ends."""
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
        """Says whether nothing in it is in use. Free neighbours are merged, so one block is all there is then."""
        return not self.next.in_use and self.next is self.prev


class Chunk:
    """Memory that was allocated. It belongs to whoever holds the chunk, and is given back when the chunk dies."""

    __slots__ = ("__weakref__", "_block")

    _block: Block

    @property
    def size(self) -> int:
        """Bytes charged."""
        return self._block.size

    @property
    def requested(self) -> int:
        """Bytes asked for."""
        return self._block.requested

    @property
    def offset(self) -> int:
        """Bytes from the start of its region."""
        return self._block.address - self._block.region.address

    @property
    def region(self) -> int:
        """The number of its region; the first that was ever made is 0."""
        return self._block.region.number

    @property
    def label(self) -> object:
        """What the caller of `allocate` said about it."""
        return self._block.label

    @property
    def in_use(self) -> bool:
        """Whether it has not been freed yet. A free counts when the allocator looks at it, at its next question."""
        return self._block.in_use
