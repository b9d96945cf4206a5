"""The segments of the PyTorch allocator: how it gets them from the card, grows and releases them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import Any, NamedTuple

from nbtf._devices.bfc.pool import Driver
from nbtf._devices.caching import statistics as count
from nbtf._devices.caching.blocks import SMALL_SEGMENT, Block, ExpandableSegment, Pool, segment_size
from nbtf._devices.caching.history import History
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.caching.statistics import Statistics
from nbtf._devices.lent import FIRST_LENT_REGION

# Source of every rule in this file: c10/cuda/CUDACachingAllocator.cpp, shortly before and after PyTorch 2.13.
# Segments are never adjacent; the addresses are those of a typical CUDA process.
_FIRST_ADDRESS = 0x7F0000000000
_ADDRESS_STEP = 2 << 20


class Region(NamedTuple):
    """A range of addresses reserved on the card, with a unique number."""

    number: int
    address: int
    size: int


class Segments:
    """The segments of one card, and the pools of their free blocks.

    Changes must be made within `_all_or_none`, and what they replace kept first, so that an interrupt leaves nothing
    half done.
    """

    owner = "PyTorch"

    def __init__(self, card: Driver, settings: AllocatorSettings) -> None:
        """Reserves nothing yet. The card's lock must be held from a request until it is counted."""
        self.card, self.total, self.settings = card, card.total, settings
        self.memory_fraction = settings.memory_fraction
        self._addressable = card.total  # the addresses of an expandable segment suffice for the whole card
        self._small, self._large = Pool(True), Pool(False)
        self._statistics = Statistics()
        self._waiting: list[Block] = []
        """Freed blocks that are used on other streams."""
        self._next_address = _FIRST_ADDRESS
        self._regions: list[Region] = []
        """All segments by address; an expandable segment up to its last page that was ever mapped."""
        self._next_region = FIRST_LENT_REGION
        self._entries: list[Any] = []
        self.history: History | None = None
        """Records what happens, if a program has asked for it."""
        self._undo: list[tuple[Any, ...]] = []
        """Calls that undo the current change, last first: function and arguments."""

    @property
    def reserved(self) -> int:
        """Bytes of all segments."""
        return self._statistics.current(count.RESERVED_BYTES)

    @property
    def mapped(self) -> int:
        """Bytes of all segments, as the card counts them."""
        return self.reserved

    @property
    def mapped_by_others(self) -> int:
        """Bytes that CUDA's context and nbtf's own allocators have mapped on the card.

        PyTorch's errors count them as non-PyTorch memory, and `torch.cuda.mem_get_info()` does not count them as free.
        """
        return self.card.mapped_beside(self)

    @property
    def free_bytes(self) -> int:
        """Bytes still available on the card, as `torch.cuda.mem_get_info()` reports them."""
        return max(0, self.total - self.mapped_by_others - self.reserved)

    @property
    def allowed(self) -> int | None:
        """Maximum number of bytes that this process may use; None without a limit."""
        return None if self.memory_fraction >= 1 else int(self.memory_fraction * self.total)

    def region_of(self, address: int) -> Region:
        """Returns the segment that contains an address."""
        return self._regions[bisect_right(self._regions, address, key=attrgetter("address")) - 1]

    def _keep(self, block: Block) -> None:
        """Remembers a block as it is before it is changed."""
        self._undo.append(
            (
                block.become,
                block.address,
                block.size,
                block.prev,
                block.next,
                block.allocated,
                block.requested,
                block.label,
                block.mapped,
                block.streams,
            )
        )

    def _keep_list(self, changed: list[Any]) -> None:
        """Remembers a short list before it is changed."""
        self._undo.append((changed.__setitem__, slice(None), [*changed]))

    def _insert(self, blocks: list[Any], *entry: Any) -> None:
        """Adds an entry to a sorted list of blocks."""
        self._undo.append((_make_absent, blocks, entry))
        insort(blocks, entry)

    def _remove(self, blocks: list[Any], at: int) -> None:
        """Removes an entry from a sorted list of blocks."""
        self._undo.append((_make_present, blocks, blocks[at]))
        del blocks[at]

    def _add_free(self, block: Block) -> None:
        """Adds a free block to its pool, or unmapped addresses."""
        pool = block.pool
        if block.mapped:
            block.searches_before = pool.searches
            self._insert(pool.blocks, block.stream, block.size, block.address, block)
        else:
            self._insert(pool.unmapped, block.stream, block.address, block)

    def _remove_free(self, block: Block) -> None:
        """Removes a free block from its pool, or unmapped addresses."""
        pool = block.pool
        if block.mapped:
            self._remove(pool.blocks, bisect_left(pool.blocks, (block.stream, block.size, block.address)))
        else:
            self._remove(pool.unmapped, bisect_left(pool.unmapped, (block.stream, block.address)))

    def _all_or_none(self, change: Any, *arguments: Any) -> Any:
        """Makes a change; if it is interrupted, restores the previous state."""
        statistics, written_down = self._statistics, len(self._entries)
        values = [*statistics.values]
        events = 0 if self.history is None else len(self.history.events)
        self._undo = []
        try:
            return change(*arguments)
        except BaseException:
            for undo, *replaced in reversed(self._undo):
                undo(*replaced)
            statistics.values = values
            del self._entries[written_down:]
            if self.history is not None:
                del self.history.events[events:]
            raise

    def _trace(self, action: str, address: int, size: int, stream: int) -> None:
        """Adds an event to the history, if one is recorded."""
        if self.history is not None and self.history.is_recording:
            self.history.write(action, address, size, stream)

    # Growing

    def _new_segment(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Requests a segment from the card for a block of `size`; None if it does not fit."""
        nbytes = segment_size(size, self.settings)
        if self.allowed is not None and self.reserved + nbytes > self.allowed:
            return None
        if self.settings.expandable_segments:
            return self._grow(pool, size, stream)
        if nbytes > self.free_bytes:
            return None
        block = Block(pool, stream, self._new_addresses(nbytes), nbytes)
        self._statistics.add(count.SEGMENT, pool.is_small, 1)
        self._statistics.add(count.RESERVED_BYTES, pool.is_small, nbytes)
        self._statistics.values[count.DEVICE_ALLOCS] += 1
        if nbytes >= self.settings.max_split_size:
            self._statistics.add(count.OVERSIZE_SEGMENTS, False, 1)
        self._trace("segment_alloc", block.address, nbytes, stream)
        return block

    def _new_addresses(self, nbytes: int) -> int:
        address = self._next_address
        self._next_address += (nbytes + 2 * _ADDRESS_STEP) // _ADDRESS_STEP * _ADDRESS_STEP
        self._keep_list(self._regions)
        self._regions.append(Region(self._next_region, address, 0 if self.settings.expandable_segments else nbytes))
        self._next_region += 1
        return address

    def _grow(self, pool: Pool, size: int, stream: int) -> Block | None:
        """Maps more of an expandable segment until a free block of at least `size` exists; None if that fails."""
        block = self._expandable(pool, size, stream)
        if not block.mapped and not self._map(block, min(block.size, size)):
            return None
        while block.size < size:
            following = block.next
            if following is None or not self._map(following, min(size - block.size, following.size)):
                return None
            block = following  # the previous block has been merged into it
        self._remove_free(block)
        return block

    def _expandable(self, pool: Pool, size: int, stream: int) -> Block:
        """Returns the first block, free or unmapped, from which `size` bytes of addresses are free."""
        for _, _, unmapped in pool.unmapped[bisect_left(pool.unmapped, (stream,)) :]:
            if unmapped.stream != stream:
                break
            previous = unmapped.prev
            block = unmapped if previous is None or previous.is_active else previous
            if _reaches(block, size):
                return block
        page = SMALL_SEGMENT if pool.is_small else self.settings.large_segment_size
        segment = ExpandableSegment(0, page, self._addressable)
        segment.address = self._new_addresses(segment.size)
        block = Block(pool, stream, segment.address, segment.size, segment)
        block.mapped = False
        self._add_free(block)
        return block

    def _map(self, block: Block, size: int) -> bool:
        """Maps the pages of a block's first `size` bytes; returns whether the card had enough memory."""
        assert block.segment is not None
        pool = block.pool
        _, end = block.segment.outside(block.address, block.address + size)
        nbytes = end - block.address
        if nbytes > self.free_bytes:
            return False
        self._remove_free(block)
        self._keep(block)
        block.mapped = True
        self._trace("segment_map", block.address, nbytes, block.stream)
        at = bisect_right(self._regions, end, key=attrgetter("address")) - 1
        region = self._regions[at]
        self._keep_list(self._regions)
        self._regions[at] = region._replace(size=max(region.size, end - region.address))
        if nbytes < block.size:
            remainder = Block(pool, block.stream, end, block.size - nbytes, block.segment)
            remainder.mapped = False
            self._link(block, remainder, block.next)
            block.size = nbytes
            self._add_free(remainder)
        self._merge(block, block.prev)
        self._merge(block, block.next)
        self._add_free(block)
        self._statistics.add(count.RESERVED_BYTES, pool.is_small, nbytes)
        self._statistics.values[count.DEVICE_ALLOCS] += 1
        return True

    def _link(self, previous: Block | None, block: Block, following: Block | None) -> None:
        """Inserts a new block between two others."""
        block.prev, block.next = previous, following
        if previous is not None:
            self._keep(previous)
            previous.next = block
        if following is not None:
            self._keep(following)
            following.prev = block

    def _merge(self, block: Block, neighbour: Block | None) -> int:
        """Merges a neighbour into a block if both are free, and both are mapped or unmapped; returns its bytes or 0.

        The block itself must have been kept.
        """
        if neighbour is None or neighbour.allocated or neighbour.streams or neighbour.mapped != block.mapped:
            return 0
        self._remove_free(neighbour)
        if block.prev is neighbour:
            block.address, block.prev = neighbour.address, neighbour.prev
            if block.prev is not None:
                self._keep(block.prev)
                block.prev.next = block
        else:
            block.next = neighbour.next
            if block.next is not None:
                self._keep(block.next)
                block.next.prev = block
        block.size += neighbour.size
        return neighbour.size

    # Releasing

    def _release_idle(self) -> None:
        """Releases all segments without blocks in use, and idle pages of expandable segments."""
        for pool in (self._large, self._small):
            for block in [entry[-1] for entry in pool.blocks if not entry[-1].is_split and entry[-1].segment is None]:
                self._release(block)
            for block in [entry[-1] for entry in pool.blocks if entry[-1].segment is not None]:
                self._unmap(block)

    def _release(self, block: Block) -> None:
        """Releases a segment that consists of one free block."""
        pool = block.pool
        self._remove_free(block)
        self._keep_list(self._regions)
        self._regions.remove(self.region_of(block.address))
        self._statistics.add(count.SEGMENT, pool.is_small, -1)
        self._statistics.add(count.RESERVED_BYTES, pool.is_small, -block.size)
        self._statistics.values[count.DEVICE_FREES] += 1
        if block.size >= self.settings.max_split_size:
            self._statistics.add(count.OVERSIZE_SEGMENTS, False, -1)
        self._trace("segment_free", block.address, block.size, block.stream)

    def _unmap(self, block: Block) -> None:
        """Releases the pages that lie completely in a free block."""
        assert block.segment is not None
        end = block.address + block.size
        first, last = block.segment.inside(block.address, end)
        if first >= last:
            return
        pool = block.pool
        self._remove_free(block)
        self._keep(block)
        for start, size, is_first in ((block.address, first - block.address, True), (last, end - last, False)):
            if size:
                remainder = Block(pool, block.stream, start, size, block.segment)
                self._link(*((block.prev, remainder, block) if is_first else (block, remainder, block.next)))
                self._add_free(remainder)
        nbytes = last - first
        self._trace("segment_unmap", first, nbytes, block.stream)
        block.address, block.size, block.mapped = first, nbytes, False
        self._merge(block, block.prev)
        self._merge(block, block.next)
        if block.is_split:  # otherwise the whole segment is idle, and its addresses are released as well
            self._add_free(block)
        else:
            self._keep_list(self._regions)
            self._regions.remove(self.region_of(block.address))
        self._statistics.add(count.RESERVED_BYTES, pool.is_small, -nbytes)
        self._statistics.values[count.DEVICE_FREES] += 1

    def _release_oversize(self, pool: Pool, size: int, stream: int) -> bool:
        """Releases as many blocks above `max_split_size` as needed; returns whether that was enough."""
        limit = self.settings.max_split_size
        need = max(size, limit)
        at = bisect_left(pool.blocks, (stream, need))
        if at < len(pool.blocks) and pool.blocks[at][0] == stream and pool.blocks[at][-1].segment is None:
            self._release(pool.blocks[at][-1])
            return True
        released = 0
        for _, _, _, block in reversed(pool.blocks[:at]):
            if released >= need or block.size < limit or block.stream != stream:
                break
            if block.segment is None:
                released += block.size
                self._release(block)
        return released >= need

    def _collect_garbage(self) -> None:
        """Releases large segments idle for longer than average, once reserved memory exceeds the threshold."""
        threshold = int(self.settings.garbage_collection_threshold * (self.allowed or 0))
        target = self.reserved - threshold
        idle = [block for *_, block in self._large.blocks if not block.is_split]
        ages, reclaimed, had_effect = sum(block.age for block in idle), 0, True
        while 0 <= reclaimed < target and had_effect and idle:
            average, had_effect = ages / len(idle), False
            for block in [block for block in idle if block.segment is None]:
                if block.age >= average:
                    had_effect = True
                    reclaimed += block.size
                    ages -= block.age
                    idle.remove(block)
                    self._release(block)


def _make_absent(blocks: list[Any], entry: tuple[Any, ...]) -> None:
    """Removes an entry from a sorted list of blocks, if it is there."""
    at = bisect_left(blocks, entry)
    if blocks[at : at + 1] == [entry]:
        del blocks[at]


def _make_present(blocks: list[Any], entry: tuple[Any, ...]) -> None:
    """Adds an entry to a sorted list of blocks, unless it is there."""
    _make_absent(blocks, entry)
    insort(blocks, entry)


def _reaches(block: Block | None, size: int) -> bool:
    """Returns whether `size` bytes of addresses are free from a block on."""
    while size > 0 and block is not None and not block.is_active:
        size, block = size - block.size, block.next
    return size <= 0
