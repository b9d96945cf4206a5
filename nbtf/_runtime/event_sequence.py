"""The events of a recording as a lazy sequence, because a recording may have a million of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast, overload

import numpy as np

from nbtf._runtime.batches import Batch
from nbtf._runtime.density import Densities
from nbtf._runtime.events import Allocated, Event, Freed, Refused
from nbtf._runtime.lines import Lines, lines_of, lines_of_events
from nbtf._runtime.work import Work, work_of, work_of_events

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEQ = attrgetter("seq")

Levels: TypeAlias = "dict[str, tuple[NDArray[np.int64], ...]]"
"""For each device, in order: event numbers, bytes in use after each event, and bytes of the pool."""


class _Segment:
    """Batches whose numbers overlap, limited to their last `length` events."""

    __slots__ = ("batches", "high", "length")

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = batches
        self.length = sum([batch.events for batch in batches])
        self.high = max([batch.high for batch in batches])

    def events(self) -> list[Event]:
        """Returns newly created event objects."""
        if not self.length:
            return []
        events = [event for batch in self.batches for event in batch.event_list(self.length)]
        if len(self.batches) > 1:
            events.sort(key=_SEQ)
        return events[-self.length :]


class Recorded:
    """The kept part of a recording: batches of notes, and how busy devices were before them."""

    __slots__ = ("_capacity", "_densities", "_dropped", "_first", "_levels", "_memory", "_work", "batches")

    def __init__(self, batches: Sequence[Batch], capacity: int, dropped: Densities) -> None:
        """Stores the kept part.

        Args:
          batches: batches of notes.
          capacity: maximum number of events to keep.
          dropped: how busy devices were before the first batch.
        """
        self.batches, self._capacity, self._dropped = batches, capacity, dropped
        self._densities: Densities | None = None
        self._first: int | None = None
        self._work: Work | None = None
        self._levels: Levels | None = None
        self._memory: dict[str, list[Event]] = {}

    def last_events(self, most: int) -> Events:
        """Returns the last `most` events."""
        most = min(most, self._capacity)
        segments: list[_Segment] = []
        length = 0
        for group in reversed(_overlapping(self.batches)):
            if length >= most:
                break
            segments.append(_Segment(group))
            length += segments[-1].length
        if length > most:
            segments[-1].length -= length - most
        return Events(segments[::-1], 0, min(length, most), self)

    @property
    def densities(self) -> Densities:
        """How busy devices were before the first event that is kept."""
        if self._densities is None:
            densities, first = self._dropped, self.first
            for batch in self.batches:
                if batch.low < first:
                    densities = densities.with_work(*batch.work(first))
            self._densities = densities
        return self._densities

    @property
    def length(self) -> int:
        """Number of events that are kept."""
        return min(sum([batch.events for batch in self.batches]), self._capacity)

    @property
    def first(self) -> int:
        """Number of the first event that is kept; 0 if all are kept."""
        if self._first is None:
            self._first = self._find_first(sum([batch.events for batch in self.batches]) - self._capacity)
        return self._first

    def _find_first(self, left_out: int) -> int:
        if left_out <= 0:
            return 0
        high = self.batches[0].high  # the first batch has a kept event, otherwise it would have been dropped
        numbers = [batch.numbers_until(high) for batch in self.batches if batch.low <= high]
        return sorted(chain.from_iterable(numbers))[left_out]

    @property
    def work(self) -> Work:
        """Everything that ran, in columns, without creating the events."""
        if self._work is None:
            self._work = work_of(self.batches, self.first)
        return self._work

    @property
    def levels(self) -> Levels:
        """Each device's memory level after every event that changed it."""
        if not self.batches:
            return {}
        if self._levels is None:
            parts = zip(*map(Batch.levels, self.batches), strict=True)
            subjects, *columns = [[*chain.from_iterable(part)] for part in parts]
            ids = [*map(id, subjects)]
            holders: dict[int, str] = {key: each.holder for key, each in dict(zip(ids, subjects, strict=True)).items()}
            devices = [*dict.fromkeys(holders.values())]
            numbers = {key: devices.index(device) for key, device in holders.items()}
            owners = np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))
            levels: NDArray[np.int64] = np.array(columns, np.int64)
            order = levels[0].argsort(kind="stable")
            levels, owners = levels[:, order], owners[order]
            self._levels = {device: tuple(levels[:, owners == at]) for at, device in enumerate(devices)}
        return self._levels

    def memory_of(self, device: str) -> Sequence[Event]:
        """Returns the memory events of a simulated GPU, given by its full name."""
        if device not in self._memory:
            events = [event for batch in self.batches for event in batch.memory_events(device=device)]
            first = self.first
            self._memory[device] = sorted([event for event in events if event.seq >= first], key=_SEQ)
        return self._memory[device]

    def memory_between(self, first: int, last: int) -> Iterator[Event]:
        """Yields the memory events of simulated GPUs in a range of numbers, unsorted."""
        for batch in self.batches:
            if batch.low <= last and first <= batch.high:
                yield from (event for event in batch.memory_events() if first <= event.seq <= last)


class Events(Sequence[Event]):
    """Events in order, created on access. It compares like a tuple of events, and slices are lazy as well.

    `recording` is the recording that contains them.
    """

    __slots__ = ("_begin", "_ends", "_last", "_length", "_segments", "recording")

    def __init__(self, segments: Sequence[_Segment], begin: int, length: int, recording: Recorded) -> None:
        """Stores where the events come from.

        Args:
          segments: create the events.
          begin: number of events to skip before the first.
          length: number of events.
          recording: the kept part of the recording.
        """
        self._segments, self._begin, self._length, self.recording = segments, begin, length, recording
        self._ends = [*accumulate([segment.length for segment in segments])]
        self._last: tuple[int, list[Event]] | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and highest number of these events; no other kept event has a number in this range."""
        if not self:
            return 0, -1
        # The recording knows its range without event objects.
        if self._begin == 0 and len(self) == self.recording.length:
            return self.recording.first, self._segments[-1].high
        return self[0].seq, self[-1].seq

    @property
    def work(self) -> Work:
        """The ops that ran and the copies, in columns, without creating the events."""
        work = self.recording.work
        return work.between(*self.span) if len(self) and len(work.seq) else work_of_events(())

    def between(self, first: int, last: int | None) -> Events:
        """Returns the events with numbers from `first` to `last`; None means to the end."""
        begin = self._position(first, bisect_left)
        end = self._begin + self._length if last is None else self._position(last, bisect_right)
        return Events(self._segments, begin, max(0, end - begin), self.recording)

    def _position(self, number: int, bisect: Any) -> int:
        at = next((at for at, segment in enumerate(self._segments) if segment.high >= number), None)
        if at is None:
            return self._begin + self._length
        offset = self._ends[at - 1] if at else 0
        position = offset + bisect(self._build_events(at), number, key=_SEQ)
        return min(max(position, self._begin), self._begin + self._length)

    def _build_events(self, at: int) -> list[Event]:
        """Returns the events of a segment, and caches those of the last one."""
        last = self._last
        if last is None or last[0] != at:
            last = self._last = at, self._segments[at].events()
        return last[1]

    def __len__(self) -> int:
        """Returns the number of events."""
        return self._length

    @overload
    def __getitem__(self, index: SupportsIndex) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        """Returns one event or a slice."""
        positions = range(self._begin, self._begin + self._length)[index]  # pyright: ignore[reportArgumentType]
        if isinstance(positions, int):
            at = bisect_right(self._ends, positions)
            # The index is negative: it counts from the segment's end.
            return self._build_events(at)[positions - self._ends[at]]
        if positions.step == 1:
            return Events(self._segments, positions.start, len(positions), self.recording)
        return tuple(self)[index]  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __iter__(self) -> Iterator[Event]:
        """Yields the events without caching them."""
        return islice(self._all(range(len(self._segments))), self._length)

    def _all(self, order: Iterable[int]) -> Iterator[Event]:
        first = bisect_right(self._ends, self._begin)
        for at in order:
            if at >= first:
                begin = self._ends[at] - self._segments[at].length
                yield from self._build_events(at)[max(0, self._begin - begin) :]

    def __reversed__(self) -> Iterator[Event]:
        """Yields the events from last to first."""
        end = self._begin + self._length
        for at in reversed(range(len(self._segments))):
            begin = self._ends[at] - self._segments[at].length
            if begin < end and self._ends[at] > self._begin:
                yield from reversed(self._build_events(at)[max(0, self._begin - begin) : end - begin])

    def __eq__(self, other: object) -> bool:
        """Compares with other events or with a tuple of events."""
        if not isinstance(other, Events | tuple):
            return NotImplemented
        events = cast("Sequence[Event]", other)
        return len(self) == len(events) and all(
            own_event == other_event for own_event, other_event in zip(self, events, strict=True)
        )

    def __hash__(self) -> int:
        """Returns the hash of a tuple of the events."""
        return hash(tuple(self))

    def __add__(self, other: tuple[Event, ...]) -> tuple[Event, ...]:
        """Returns a tuple of these events followed by others."""
        return (*self, *other)

    def __repr__(self) -> str:
        """Returns the representation of a tuple of the events."""
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a tuple of events."""
        return tuple, (tuple(self),)


def _overlapping(batches: Sequence[Batch]) -> list[list[Batch]]:
    """Returns batches in groups whose number ranges do not overlap: a note may be stored after those of later ops."""
    groups: list[list[Batch]] = []
    high = -1
    for batch in batches:
        if groups and batch.low <= high:
            groups[-1].append(batch)
        else:
            groups.append([batch])
        high = max(high, batch.high)
    return _merged_backwards(groups)


def _merged_backwards(groups: list[list[Batch]]) -> list[list[Batch]]:
    """Returns the groups, merging those that begin before an earlier one ends."""
    merged: list[list[Batch]] = []
    for group in groups:
        low = min([batch.low for batch in group])
        while merged and max([batch.high for batch in merged[-1]]) >= low:
            group = [*merged.pop(), *group]
            low = min(low, min([batch.low for batch in group]))
        merged.append(group)
    return merged


def work_in(events: Sequence[Event]) -> Work:
    """Returns what ran and was copied, for a recording's events or any other sequence.

    Args:
      events: the events in the order in which they were reported.
    """
    return events.work if isinstance(events, Events) else work_of_events(events)


def levels_in(events: Sequence[Event]) -> Levels:
    """Returns each device's memory level after every event that changed it, for any sequence of events."""
    if isinstance(events, Events):
        return events.recording.levels
    rows: dict[str, list[tuple[int, int, int]]] = {}
    for event in events:
        if isinstance(event, Allocated | Freed):
            rows.setdefault(event.device, []).append((event.seq, event.in_use, event.pool))
    return {device: tuple(np.array(row, np.int64).T) for device, row in rows.items()}


def memory_in(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Returns the memory events of each simulated GPU, for any sequence of events."""
    if isinstance(events, Events):
        events = [*events.recording.memory_between(*events.span)]
    by_device: dict[str, list[Event]] = {}
    for event in sorted(events, key=_SEQ):
        if isinstance(event, Refused) or (isinstance(event, Allocated | Freed) and event.region >= 0):
            by_device.setdefault(event.device, []).append(event)
    return by_device


def span_of(events: Sequence[Event]) -> tuple[int, int]:
    """Returns the lowest and highest number of the events; no other event of the recording is between them."""
    if isinstance(events, Events):
        return events.span
    return (events[0].seq, events[-1].seq) if events else (0, -1)


def lines_in(events: Sequence[Event]) -> Lines:
    """Returns which program line ran when, for any sequence of events."""
    return lines_of(events.recording.batches) if isinstance(events, Events) else lines_of_events(events)
