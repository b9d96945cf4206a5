"""An allocator that begins with recorded segments, and to which the driver's addresses can be given.

It repeats a history, so nothing interrupts it and nothing else uses it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, Protocol

from nbtf._devices.caching import statistics as count
from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import SMALL_SEGMENT, Allocation, Block, ExpandableSegment, Pool
from nbtf._devices.caching.segments import Region
from nbtf._devices.caching.settings import AllocatorSettings

_ADDRESS_STEP = 2 << 20


class RecordedBlock(Protocol):
    """A block of a recorded segment, in bytes; a block is free if its state is `inactive`."""

    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def requested(self) -> int: ...
    @property
    def state(self) -> str: ...


class RecordedSegment(Protocol):
    """A recorded segment, or a mapped part of an expandable one, in bytes; its blocks cover it by address."""

    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def is_small(self) -> bool: ...
    @property
    def is_expandable(self) -> bool: ...
    @property
    def blocks(self) -> Sequence[RecordedBlock]: ...


class AddressRange(NamedTuple):
    """Memory that the allocator requested from the driver or released, in bytes."""

    address: int
    size: int


class ReplayAllocator(CachingAllocator):
    """A `CachingAllocator` that repeats the history of a real card.

    Memory that another stream uses becomes free with `end_other_use`, or when the allocator synchronizes.

    >>> allocator = ReplayAllocator(1 << 30)
    >>> allocator.driver_addresses.append(0x7FA0_0000_0000)
    >>> allocation = allocator.allocate(3 << 20)
    >>> hex(allocation.address), allocator.requested_ranges
    ('0x7fa000000000', [AddressRange(address=140325171494912, size=20971520)])
    """

    def __init__(self, total: int, settings: AllocatorSettings | None = None, addressable: int | None = None) -> None:
        """Creates an allocator without segments.

        Args:
          total: bytes of the card.
          settings: such as `AllocatorSettings.parse` returns; PyTorch's defaults if None.
          addressable: bytes of the card for which expandable segments reserve addresses; None for `total`.
        """
        super().__init__(total, settings)
        self._addressable = total if addressable is None else addressable
        self.driver_addresses: deque[int] = deque()
        """Addresses that the driver returns next; when there are none, it returns higher addresses than ever before."""
        self.requested_ranges: list[AddressRange] = []
        """Memory that the allocator has requested from the driver. The caller may clear the list."""

    # Beginning

    def lay_out(self, segments: Iterable[RecordedSegment]) -> dict[int, Allocation]:
        """Adds segments with their blocks, and returns the allocations of the blocks in use by address.

        Mapped parts of one stream and pool are taken as parts of one expandable segment, which begins with the first.
        """
        allocations: dict[int, Allocation] = {}
        end = self._next_address
        for (is_expandable, is_small, stream), group in groupby(sorted(segments, key=_owner), _owner):
            pool = self._small if is_small else self._large
            ranges = sorted(group, key=attrgetter("address"))
            for mapped in [ranges] if is_expandable else [[mapped_range] for mapped_range in ranges]:
                end = max(end, self._add_segment(pool, stream, mapped, is_expandable, allocations))
        self._regions.sort(key=attrgetter("address"))
        self._next_address = -(-end // _ADDRESS_STEP) * _ADDRESS_STEP + _ADDRESS_STEP
        return allocations

    def _add_segment(
        self,
        pool: Pool,
        stream: int,
        ranges: Sequence[RecordedSegment],
        is_expandable: bool,
        allocations: dict[int, Allocation],
    ) -> int:
        """Adds a segment with one mapped part, or several if it is expandable; returns the end of its addresses."""
        first, last = ranges[0].address, ranges[-1].address + ranges[-1].size
        segment, end = None, last
        if is_expandable:
            page = SMALL_SEGMENT if pool.is_small else self.settings.large_segment_size
            segment = ExpandableSegment(first, page, max(self._addressable, last - first))
            end = first + segment.size
        else:
            self._statistics.add(count.SEGMENT, pool.is_small, 1)
            if last - first >= self.settings.max_split_size:
                self._statistics.add(count.OVERSIZE_SEGMENTS, False, 1)
        self._regions.append(Region(self._next_region, first, last - first))
        self._next_region += 1
        previous: Block | None = None
        for mapped_range in ranges:
            self._statistics.add(count.RESERVED_BYTES, pool.is_small, mapped_range.size)
            gap = mapped_range.address - (previous.address + previous.size if previous is not None else first)
            if gap:
                previous = self._add_unmapped(Block(pool, stream, mapped_range.address - gap, gap, segment), previous)
            for recorded in mapped_range.blocks:
                block = Block(pool, stream, recorded.address, recorded.size, segment)
                self._link(previous, block, None)
                previous = block
                if recorded.state != "inactive":
                    allocations[block.address] = self._add_use(block, recorded.requested)
                else:
                    self._add_free(block)
        if end > last:
            self._add_unmapped(Block(pool, stream, last, end - last, segment), previous)
        return end

    def _add_unmapped(self, block: Block, previous: Block | None) -> Block:
        block.mapped = False
        self._link(previous, block, None)
        self._add_free(block)
        return block

    def _add_use(self, block: Block, requested: int) -> Allocation:
        """Returns an allocation that holds a block."""
        allocation = Allocation(requested, block.stream, None, self._at_death)
        allocation.address, allocation.size = block.address, block.size
        allocation._death.block = block
        block.allocated, block.requested = True, requested
        self._held[block] = None
        self._statistics.grant(block.pool.is_small, block.size, requested)
        if block.size >= self.settings.max_split_size:
            self._statistics.add(count.OVERSIZE_ALLOCATIONS, False, 1)
        return allocation

    # What the driver did

    def _new_addresses(self, nbytes: int) -> int:
        if self.driver_addresses and self._is_unused(self.driver_addresses[0], nbytes):
            address = self.driver_addresses.popleft()
            self._next_address = max(self._next_address, address + nbytes + _ADDRESS_STEP)
            size = 0 if self.settings.expandable_segments else nbytes
            insort(self._regions, Region(self._next_region, address, size), key=attrgetter("address"))
            self._next_region += 1
        else:
            address = super()._new_addresses(nbytes)
        if not self.settings.expandable_segments:
            self.requested_ranges.append(AddressRange(address, nbytes))
        return address

    def _is_unused(self, address: int, nbytes: int) -> bool:
        """Returns whether no segment has an address that the driver is said to return; wrong files contain such."""
        if any(unmapped[1] == address for pool in (self._small, self._large) for unmapped in pool.unmapped):
            return False
        following = bisect_left(self._regions, address, key=attrgetter("address"))
        previous = self._regions[following - 1] if following else None
        if previous is not None and previous.address + previous.size > address:
            return False
        end = address + (1 if self.settings.expandable_segments else nbytes)
        return following == len(self._regions) or end <= self._regions[following].address

    def _map(self, block: Block, size: int) -> bool:
        address, reserved = block.address, self.reserved
        is_mapped = super()._map(block, size)
        if is_mapped:
            self.requested_ranges.append(AddressRange(address, self.reserved - reserved))
        return is_mapped

    def release_range(self, released: AddressRange) -> bool:
        """Releases a segment, or pages of an expandable one, as the card did; returns whether exactly these are idle.

        Memory that is not idle stays reserved.
        """
        self._do_frees()
        for pool in (self._small, self._large):
            for *_, block in pool.blocks:
                if block.address <= released.address < block.address + block.size:
                    if block.segment is None:
                        is_equal = not block.is_split and (block.address, block.size) == released
                        if is_equal:
                            self._release(block)
                        return is_equal
                    first, last = block.segment.inside(block.address, block.address + block.size)
                    if first < last:
                        self._unmap(block)
                    return (first, last - first) == released
        return False

    def map_range(self, mapped: AddressRange) -> bool:
        """Maps pages of an expandable segment for a request that then failed; returns whether exactly these are."""
        for pool in (self._small, self._large):
            for *_, block in pool.unmapped:
                if block.address == mapped.address and mapped.size <= block.size:
                    reserved = self.reserved
                    return super()._map(block, mapped.size) and self.reserved - reserved == mapped.size
        return False

    # Memory that other streams use

    def free_after_other_use(self, allocation: Allocation) -> Block | None:
        """Frees memory that another stream still uses; returns its block, None if it was freed before."""
        block = allocation._death.block
        if block is not None:
            block.streams = (*block.streams, block.stream)
            self.free(allocation)
            self._do_frees()
        return block

    def end_other_use(self, block: Block) -> None:
        """Makes memory free that no stream uses any longer, unless it has become free before."""
        if block in self._waiting:
            self._waiting.remove(block)
            block.streams = ()
            self._free_block(block)

    def _free_used_elsewhere(self) -> None:
        """Does nothing: `end_other_use` says when the work of other streams is done."""

    def _synchronize_and_release(self) -> None:
        super()._free_used_elsewhere()
        super()._synchronize_and_release()

    # Figures

    @property
    def active(self) -> int:
        """Bytes in use, and of memory that only another stream still uses."""
        return self._statistics.current(count.ACTIVE_BYTES)

    @property
    def largest_free(self) -> int:
        """Bytes of the largest free block."""
        pools = [pool.blocks for pool in (self._small, self._large) if pool.blocks]
        if all(blocks[0][0] == blocks[-1][0] for blocks in pools):  # those of one stream are sorted by size
            return max([blocks[-1][1] for blocks in pools], default=0)
        return max([entry[1] for blocks in pools for entry in blocks])

    @property
    def figures(self) -> Mapping[str, int]:
        """Peaks of allocated and reserved bytes, and numbers of retries and of releases to the driver."""
        self._do_frees()
        statistics = self._statistics
        return {
            "peak_allocated": statistics.peak(count.ALLOCATED_BYTES),
            "peak_reserved": statistics.peak(count.RESERVED_BYTES),
            "retries": statistics.values[count.RETRIES],
            "releases": statistics.values[count.DEVICE_FREES],
        }


def _owner(segment: RecordedSegment) -> tuple[bool, bool, int]:
    return segment.is_expandable, segment.is_small, segment.stream
