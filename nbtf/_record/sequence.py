"""The events of a recording as a lazy sequence of views, because a recording may have a million of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, islice
from operator import attrgetter, eq
from typing import Any, SupportsIndex, cast, overload

import numpy as np

from nbtf._garbage import collector_paused
from nbtf._locks import computed_once
from nbtf._record.density import Densities
from nbtf._record.events import Event
from nbtf._record.queries import Levels, Lines, Work, levels_of, lines_of, work_of
from nbtf._record.table import Block, Fact, Integers

_SEQ = attrgetter("seq")


class _Group:
    """Blocks whose numbers overlap: a row may be stored after those of later ops."""

    __slots__ = ("blocks", "events", "high", "low")

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.events = sum([block.events for block in blocks])
        self.low, self.high = min([block.low for block in blocks]), max([block.high for block in blocks])

    @property
    def numbers(self) -> Integers:
        return np.sort(np.concatenate([block.numbers for block in self.blocks]))

    def event_list(self, limit: int) -> list[Event]:
        """Returns the last events."""
        events = [event for block in self.blocks for event in block.event_list(limit)]
        if len(self.blocks) > 1:
            events.sort(key=_SEQ)
        return events[len(events) - limit :]


def _groups(blocks: Sequence[Block]) -> list[_Group]:
    groups: list[_Group] = []
    for block in blocks:
        group = _Group((block,))
        while groups and groups[-1].high >= group.low:
            group = _Group((*groups.pop().blocks, *group.blocks))
        groups.append(group)
    return groups


class Kept:
    """The kept part of a recording: blocks of the table, and how busy devices were before them."""

    def __init__(self, blocks: Sequence[Block], capacity: int, dropped: Densities) -> None:
        """Stores the kept part.

        Args:
          blocks: blocks.
          capacity: maximum number of events to keep.
          dropped: how busy devices were before the first block.
        """
        self.blocks, self._dropped = blocks, dropped
        total = sum([block.events for block in blocks])
        self.length = min(total, capacity)
        """Number of events that are kept."""
        self._left_out = total - self.length
        self._memory: dict[str, list[Event]] = {}
        self._facts: list[list[Fact]] = []

    def last_events(self, limit: int | None = None) -> Events:
        """Returns the last events; None returns all that are kept."""
        end = self._left_out + self.length
        return Events(self, end - self.length if limit is None else max(end - self.length, end - limit), end)

    @computed_once
    def groups(self) -> list[_Group]:
        """The blocks in order, those whose numbers overlap together."""
        return _groups(self.blocks)

    @computed_once
    def first(self) -> int:
        """Number of the first event that is kept; 0 if all are kept."""
        return int(self.groups[0].numbers[self._left_out]) if self._left_out and self.length else 0

    @computed_once
    def densities(self) -> Densities:
        """How busy devices were before the first event that is kept."""
        densities = self._dropped
        for block in self.blocks:
            if block.low < self.first:
                densities = densities.with_work(*block.work(self.first))
        return densities

    @computed_once
    def work(self) -> Work:
        """Everything that ran, in columns, without creating the events."""
        return work_of(self._read(), self.first)

    @computed_once
    def levels(self) -> Levels:
        """Each device's memory level after every event that changed it."""
        return levels_of(self._read())

    @computed_once
    def lines(self) -> Lines:
        """The program lines that caused the events."""
        return lines_of(self._read())

    def _read(self) -> Sequence[Block]:
        """Returns the blocks. Their facts stay unpacked as long as this exists, because queries share them."""
        if not self._facts:
            with collector_paused():
                self._facts = [block.facts for block in self.blocks]
        return self.blocks

    def memory_of(self, device: str) -> Sequence[Event]:
        """Returns the memory events of a simulated GPU, given by its full name."""
        if device not in self._memory:
            events = chain.from_iterable(block.memory_events(device=device) for block in self._read())
            self._memory[device] = sorted([event for event in events if event.seq >= self.first], key=_SEQ)
        return self._memory[device]

    def memory_between(self, first: int, last: int) -> Iterator[Event]:
        """Yields the memory events in a range of numbers, unsorted."""
        for block in self.blocks:
            if block.low <= last and first <= block.high:
                yield from (event for event in block.memory_events() if first <= event.seq <= last)


class Events(Sequence[Event]):
    """Events in order, created on access. It compares like a tuple of events, and slices are lazy as well.

    `recording` is the recording that contains them.
    """

    __slots__ = ("_begin", "_end", "_ends", "_groups", "_last", "recording")

    def __init__(self, recording: Kept, begin: int, end: int) -> None:
        """Stores where the events come from: a range of the events in all blocks of the recording."""
        self.recording, self._groups, self._begin, self._end = recording, recording.groups, begin, max(begin, end)
        self._ends = [*accumulate([group.events for group in self._groups])]
        self._last: tuple[int, list[Event]] | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The lowest and highest number of these events; no other kept event has a number in this range."""
        if not self:
            return 0, -1
        if len(self) == self.recording.length:
            return self.recording.first, self._groups[-1].high
        return self[0].seq, self[-1].seq

    @property
    def work(self) -> Work:
        """The ops that ran and the copies, in columns, without creating the events."""
        return self.recording.work.between(*self.span)

    def between(self, first: int, last: int | None) -> Events:
        """Returns the events with numbers from `first` to `last`; None means to the end."""
        end = self._end if last is None else self._position(last + 1)
        return Events(self.recording, self._position(first), end)

    def _position(self, number: int) -> int:
        """Returns the position of the first event whose number is at least `number`."""
        at = next((at for at, group in enumerate(self._groups) if group.high >= number), None)
        if at is None:
            return self._end
        position = self._ends[at] - self._groups[at].events
        if number > self._groups[at].low:
            position += int(self._groups[at].numbers.searchsorted(number))
        return min(max(position, self._begin), self._end)

    def _events_of(self, at: int) -> list[Event]:
        """Returns the events of a group from the first event on, and caches those of the last group."""
        if self._last is None or self._last[0] != at:
            group = self._groups[at]
            self._last = at, group.event_list(min(group.events, self._ends[at] - self._begin))
        return self._last[1]

    def __len__(self) -> int:
        """Returns the number of events."""
        return self._end - self._begin

    @overload
    def __getitem__(self, index: SupportsIndex) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        """Returns one event or a slice."""
        positions = range(self._begin, self._end)[index]  # pyright: ignore[reportArgumentType]
        if isinstance(positions, int):
            at = bisect_right(self._ends, positions)
            return self._events_of(at)[positions - self._ends[at]]  # a negative index: it counts from the group's end
        if positions.step == 1:
            return Events(self.recording, positions.start, positions.stop)
        return tuple(self)[index]  # pyright: ignore[reportArgumentType, reportCallIssue]

    def __iter__(self) -> Iterator[Event]:
        """Yields the events."""
        first = bisect_right(self._ends, self._begin)
        return islice(chain.from_iterable(map(self._events_of, range(first, len(self._groups)))), len(self))

    def __reversed__(self) -> Iterator[Event]:
        """Yields the events from last to first."""
        for at in reversed(range(len(self._groups))):
            begin, end = self._ends[at] - self._groups[at].events, self._ends[at]
            if begin < self._end and end > self._begin:
                events = self._events_of(at)
                yield from reversed(events[: len(events) - max(0, end - self._end)])

    def __eq__(self, other: object) -> bool:
        """Compares with other events or with a tuple of events."""
        if not isinstance(other, Events | tuple):
            return NotImplemented
        events = cast("Sequence[Event]", other)
        return len(self) == len(events) and all(map(eq, self, events))

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
