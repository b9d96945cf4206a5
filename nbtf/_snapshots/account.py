"""How much memory of a device was allocated, active and reserved after each event? Its peaks, holes and failures.

Levels are arrays over states: state 0 is before the first event, state `i + 1` is after event `i`. The last state
agrees with the segments of the file in every byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nbtf._locks import computed_once
from nbtf._snapshots.charges import Flags, Integers, rounded_sizes
from nbtf._snapshots.pieces import Contradictions, Pieces, pieces_of
from nbtf._snapshots.ranges import Range, ranges_at, ranges_before, reserved_levels
from nbtf._snapshots.settings import settings_of
from nbtf._snapshots.snapshot import ALLOC, OOM, MemorySnapshot, Segment, Trace


class MemoryLevel(NamedTuple):
    """The memory of a device at one state of a history, in bytes.

    Attributes:
      state: number of the state; state 0 is before the first event, state `i + 1` is after event `i`.
      allocated: charged for memory that the program holds.
      active: `allocated`, and memory that the program freed while another stream still uses it.
      requested: requested by the program of `active`.
      reserved: had from the driver.
    """

    state: int
    allocated: int
    active: int
    requested: int
    reserved: int


class Failure(NamedTuple):
    """A request that failed because memory was short, in bytes.

    Attributes:
      event: number of the event.
      requested: size of the request as the file has it.
      free_on_card: memory of the card that no process used.
      allocated: memory that the program held.
      active: `allocated`, and freed memory that another stream still used.
      reserved: memory that the allocator had from the driver.
      free_in_segments: free memory within the allocator's segments.
      largest_hole: the largest contiguous part of `free_in_segments`.
      stack: index into `MemorySnapshot.stacks`, -1 if unknown.
    """

    event: int
    requested: int
    free_on_card: int
    allocated: int
    active: int
    reserved: int
    free_in_segments: int
    largest_hole: int
    stack: int

    @property
    def fits_if_contiguous(self) -> bool:
        """Whether all free memory together, on the card and in segments, has the requested size."""
        return self.requested <= self.free_on_card + self.free_in_segments


class Holes(NamedTuple):
    """The free blocks in segments at one state, in columns by address; the last column is a row of `ranges`."""

    address: Integers
    size: Integers
    segment: Integers
    ranges: Sequence[Range]

    @property
    def largest(self) -> int:
        """The size of the largest one in bytes; 0 if there is none."""
        return int(self.size.max(initial=0))


class DeviceAccount:
    """The memory of one device in a snapshot, state by state."""

    def __init__(self, snapshot: MemorySnapshot, device: int) -> None:
        """Finds the device's history, which is empty if the file has none, and its segments at the end."""
        self.snapshot: MemorySnapshot = snapshot
        self.device: int = device
        self.trace: Trace = next((each for each in snapshot.traces if each.device == device), _no_trace(device))
        self.segments: Sequence[Segment] = [each for each in snapshot.segments if each.device == device]

    @property
    def states(self) -> int:
        """The number of states: the number of events, and one."""
        return len(self.trace) + 1

    @computed_once
    def _pieces(self) -> tuple[Pieces, Contradictions]:
        return pieces_of(self.trace, self.segments, settings_of(self.snapshot))

    @property
    def pieces(self) -> Pieces:
        """All pieces of memory that the file mentions."""
        return self._pieces[0]

    @property
    def contradictions(self) -> Contradictions:
        """Numbers of pieces and events that do not fit together."""
        return self._pieces[1]

    @computed_once
    def allocated(self) -> Integers:
        """Bytes charged for memory that the program holds, as `torch.cuda.memory_allocated` returns them."""
        return self._levels(self.pieces.size, self.pieces.freed)

    @computed_once
    def active(self) -> Integers:
        """Bytes in `allocated`, and of freed memory that another stream still uses."""
        return self._levels(self.pieces.size, self.pieces.death)

    @computed_once
    def requested(self) -> Integers:
        """Bytes that the program requested of `active`, as PyTorch's statistic `requested_bytes` counts them."""
        return self._levels(self.pieces.requested, self.pieces.death)

    @computed_once
    def reserved(self) -> Integers:
        """Bytes that the allocator had from the driver, as `torch.cuda.memory_reserved` returns them."""
        changes = reserved_levels(self.trace)
        return changes - changes[-1] + sum([segment.size for segment in self.segments])

    def _levels(self, sizes: Integers, until: Integers, rows: Flags | None = None) -> Integers:
        """Returns the bytes of the pieces that exist in each state."""
        chosen = slice(None) if rows is None else rows
        changes = np.zeros(self.states + 1, np.int64)
        np.add.at(changes, self.pieces.birth[chosen], sizes[chosen])
        np.subtract.at(changes, until[chosen], sizes[chosen])
        return changes.cumsum()[: self.states]

    @property
    def streams(self) -> list[int]:
        """The CUDA streams that the pieces and segments belong to."""
        return sorted({*np.unique(self.pieces.stream).tolist(), *(segment.stream for segment in self.segments)})

    def of_stream(self, stream: int) -> tuple[Integers, Integers, Integers]:
        """Returns the bytes allocated, active and reserved for one CUDA stream in each state."""
        pieces, trace = self.pieces, self.trace
        rows = pieces.stream == stream
        changes = reserved_levels(trace, stream)
        at_end = sum([segment.size for segment in self.segments if segment.stream == stream])
        reserved = changes - changes[-1] + at_end
        return self._levels(pieces.size, pieces.freed, rows), self._levels(pieces.size, pieces.death, rows), reserved

    def level(self, state: int) -> MemoryLevel:
        """Returns the levels of one state."""
        figures = (int(levels[state]) for levels in (self.allocated, self.active, self.requested, self.reserved))
        return MemoryLevel(state if state >= 0 else state + self.states, *figures)

    @property
    def end(self) -> MemoryLevel:
        """The levels at the end of the history."""
        return self.level(self.states - 1)

    @property
    def peak(self) -> MemoryLevel:
        """The first state with the most memory allocated."""
        return self.level(int(self.allocated.argmax()))

    @property
    def peak_reserved(self) -> MemoryLevel:
        """The first state with the most memory reserved."""
        return self.level(int(self.reserved.argmax()))

    @property
    def peak_active(self) -> MemoryLevel:
        """The first state with the most memory active."""
        return self.level(int(self.active.argmax()))

    @property
    def allocations(self) -> int:
        """The number of allocations in the history."""
        return int(np.count_nonzero(self.trace.action == ALLOC))

    def rows_at(self, state: int, is_active: bool = False) -> Integers:
        """Returns the rows of the pieces that the program holds in a state, by address.

        Args:
          state: number of the state.
          is_active: whether pieces that only another stream still uses belong to them.
        """
        pieces = self.pieces
        until = pieces.death if is_active else pieces.freed
        rows = np.flatnonzero((pieces.birth <= state) & (state < until))
        return rows[pieces.address[rows].argsort(kind="stable")]

    def ranges(self, state: int) -> list[Range]:
        """Returns the segments in a state by address; adjacent parts of an expandable segment are one range."""
        return ranges_at(self.trace, self.segments, state)

    def holes(self, state: int) -> Holes:
        """Returns the free blocks in a state."""
        return self._holes(self.ranges(state), self.rows_at(state, is_active=True))

    def _holes(self, ranges: Sequence[Range], rows: Integers) -> Holes:
        """Returns the free blocks in segments with some active pieces, whose rows are sorted by address."""
        starts = np.array([each.address for each in ranges], np.int64)
        ends = starts + np.array([each.size for each in ranges], np.int64)
        address = self.pieces.address[rows]
        segment = np.searchsorted(starts, address, "right") - 1
        inside = (segment >= 0) & (address < ends[np.maximum(segment, 0)]) if len(ranges) else segment > 0
        address, size, segment = address[inside], self.pieces.size[rows[inside]], segment[inside]
        # A hole begins at the start of each segment and behind each piece, and ends at the next of either.
        begin = np.concatenate([starts, np.minimum(address + size, ends[segment])])
        owner = np.concatenate([np.arange(len(ranges)), segment])
        order = np.lexsort((np.append(np.zeros(len(ranges)), np.ones(len(segment))), begin, owner))
        begin, owner = begin[order], owner[order]
        stops = np.concatenate([address, ends])
        stops = stops[np.lexsort((stops, np.append(segment, np.arange(len(ranges)))))]
        size = stops - begin
        is_hole = size > 0
        return Holes(begin[is_hole], size[is_hole], owner[is_hole], ranges)

    @computed_once
    def failures(self) -> Sequence[Failure]:
        """The requests that failed because memory was short; of a history with more than 1,000, the last ones."""
        events = np.flatnonzero(self.trace.action == OOM).tolist()[-MOST_FAILURES:]
        all_ranges = ranges_before(self.trace, self.segments, [event + 1 for event in reversed(events)])
        all_rows = self._active_rows(events, self.pieces.address.argsort(kind="stable"))
        holes = map(self._holes, all_ranges, all_rows)
        return [self._failure(event, each) for event, each in zip(reversed(events), holes, strict=True)][::-1]

    def _active_rows(self, events: Sequence[int], rows: Integers) -> Iterator[Integers]:
        """Yields the rows of the pieces that are active after each event, the last event first.

        It halves the events until one is left, as most pieces exist during few of them.
        """
        if not events:
            return
        rows = rows[(self.pieces.birth[rows] <= events[-1] + 1) & (self.pieces.death[rows] > events[0] + 1)]
        if len(events) == 1:
            yield rows
            return
        middle = len(events) // 2
        yield from self._active_rows(events[middle:], rows)
        yield from self._active_rows(events[:middle], rows)

    def _failure(self, event: int, holes: Holes) -> Failure:
        """Returns the failed request of an event."""
        trace, level = self.trace, self.level(event + 1)
        return Failure(
            event,
            int(trace.size[event]),
            int(trace.address[event]),
            level.allocated,
            level.active,
            level.reserved,
            int(holes.size.sum()),
            holes.largest,
            int(trace.stack[event]),
        )

    @computed_once
    def unexplained_sizes(self) -> int:
        """The number of blocks at the end whose size is not the one to which their request is rounded up.

        A block may be larger by a rest of up to 1 MiB that the allocator does not split off.
        """
        blocks = [(b.requested, b.size) for each in self.segments for b in each.blocks if b.state != "inactive"]
        requested, size = np.array(blocks, np.int64).reshape(-1, 2).T
        expected = rounded_sizes(requested, settings_of(self.snapshot))
        return int(np.count_nonzero((size < expected) | (size > expected + (1 << 20))))


MOST_FAILURES = 1000
"""The number of failed requests for which holes are computed, the last ones of a history."""


def devices_of(snapshot: MemorySnapshot) -> list[int]:
    """Returns the numbers of the devices that have segments or events in a snapshot."""
    return sorted(
        {segment.device for segment in snapshot.segments} | {each.device for each in snapshot.traces if len(each)}
    )


def _no_trace(device: int) -> Trace:
    numbers = np.zeros(0, np.int64)
    return Trace(device, numbers.astype(np.uint8), numbers, numbers, numbers, numbers, numbers.astype(np.int32))
