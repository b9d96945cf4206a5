"""How are a million events kept in 48 MB? Notes that were counted together, packed into columns of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import repeat
from math import isnan, nan
from operator import itemgetter
from time import time
from typing import Any, Protocol

import numpy as np

from nbtf._devices.base import Label
from nbtf._devices.journal import Entry
from nbtf._runtime.clock import Clock
from nbtf._runtime.events import Event
from nbtf._runtime.notes import NUMBER, SUBJECT, Note
from nbtf._runtime.pieces import timed

_FEW = 32
"""So many notes stay as they are: columns of fewer take more memory than they save."""

_SUBJECT_OF, _NUMBER_OF = itemgetter(SUBJECT), itemgetter(NUMBER)


class _SceneSubject:
    """What the note begins with that a scene begins, or a machine; it is no event."""

    __slots__ = ()
    memory, lanes, holder = None, None, ""
    sample: Sequence[Event] = ()

    def events(self, note: Note) -> list[Event]:
        """Returns nothing."""
        return []

    events_afterwards = events


SCENE = _SceneSubject()


# Columns


class _Integers:
    """Whole numbers, as differences from the least of them, in as few bytes as the largest takes."""

    __slots__ = ("_differences", "least")

    def __init__(self, values: Sequence[int]) -> None:
        """Takes at least one number."""
        numbers = np.frombuffer(array("q", values), np.int64)
        self.least = int(numbers.min())
        numbers = numbers - self.least
        self._differences = numbers.astype(np.min_scalar_type(int(numbers.max())))

    def values(self) -> list[int]:
        """Returns the numbers."""
        return (self._differences.astype(np.int64) + self.least).tolist()


class _Shared:
    """Values of which most occur many times, as numbers in a table that has each of them once."""

    __slots__ = ("_positions", "table")

    def __init__(self, values: Sequence[Any], keys: Sequence[Hashable]) -> None:
        """Takes values, and what is equal where they are the same."""
        table = dict(zip(keys, values, strict=True))
        self.table = tuple(table.values())
        order = dict(zip(table, range(len(table)), strict=True))
        typecode = "B" if len(table) <= 1 << 8 else "H" if len(table) <= 1 << 16 else "I"
        self._positions = None if len(table) == 1 else array(typecode, map(order.__getitem__, keys))

    def values(self) -> Iterator[Any]:
        """Returns the values; of a single one as many as are asked for."""
        return repeat(self.table[0]) if self._positions is None else map(self.table.__getitem__, self._positions)


class _Seconds:
    """Times that were measured; None where there was none."""

    __slots__ = ("_seconds",)

    def __init__(self, values: Sequence[float | None]) -> None:
        """Takes times."""
        self._seconds = array("d", [nan if value is None else value for value in values])

    def values(self) -> list[float | None]:
        """Returns the times."""
        return [None if isnan(value) else value for value in self._seconds]


class _Column(Protocol):
    def values(self) -> Iterator[Any] | Sequence[Any]: ...


def _is_empty(values: Sequence[Any]) -> bool:
    """Tells whether all values are None; they are in most columns of what may be missing."""
    return values.count(None) == len(values)


def _column_or_none(values: Sequence[Any], column: Callable[[Sequence[Any]], _Column]) -> _Column | None:
    return None if _is_empty(values) else column(values)


def _equal(values: Sequence[Any]) -> _Shared:
    return _Shared(values, values)


def _identical(values: Sequence[Any]) -> _Shared:
    return _Shared(values, list(map(id, values)))


def _values(column: _Column | None) -> Iterator[Any] | Sequence[Any]:
    return repeat(None) if column is None else column.values()


class _Notes:
    """Notes of ops and copies; see `notes.py` for what stands in them."""

    __slots__ = (
        "_begins",
        "_firsts",
        "_levels",
        "_more",
        "_numbers",
        "_seconds",
        "_subjects",
        "_times",
        "_where",
        "bounds",
    )

    def __init__(self, notes: Sequence[Note]) -> None:
        """Takes notes in order, at least one."""
        subjects, numbers, times, codes, instructions, parts, firsts, begins, seconds, levels, more = zip(
            *notes, strict=True
        )
        self._subjects, self._numbers, self.bounds = _identical(subjects), _Integers(numbers), (numbers[0], numbers[-1])
        self._times, self._begins = array("d", times), array("d", begins)
        places = list(zip(codes, instructions, parts, strict=True))
        self._where = _Shared(places, list(zip(map(id, codes), instructions, parts, strict=True)))
        self._firsts = _Integers([last - first for last, first in zip(numbers, firsts, strict=True)])
        self._seconds = _column_or_none(seconds, _Seconds)
        self._levels = _column_or_none(levels, _equal)
        self._more = None if _is_empty(more) else _equal(list(map(_shifted, more, [-number for number in numbers])))

    def timed_subjects(self) -> Sequence[Any]:
        """Returns what the notes are about, nothing where no time of it is modelled."""
        if all(subject.lanes is None and subject is not SCENE for subject in self._subjects.table):
            return ()
        return [subject for subject, _ in zip(self._subjects.values(), self._times, strict=False)]

    def has_node(self, name: str) -> bool:
        """Tells whether a node of a graph is among what ran."""
        return any(part.node == name for _, _, part in self._where.table)

    def values(self) -> list[Note]:
        """Returns the notes."""
        numbers = self._numbers.values()
        rows = zip(
            self._subjects.values(),
            numbers,
            self._times,
            self._where.values(),
            self._firsts.values(),
            self._begins,
            _values(self._seconds),
            _values(self._levels),
            map(_shifted, _values(self._more), numbers) if self._more is not None else repeat(None),
            strict=False,
        )
        return [
            (subject, number, now, *where, number - first, begin, seconds, level, more)
            for subject, number, now, where, first, begin, seconds, level, more in rows
        ]


def _shifted(more: Any, by: int) -> Any:
    """Returns the numbers of constants and allocations with something added; next to an op's they are few and alike."""
    return more and tuple([numbers and tuple([number + by for number in numbers]) for numbers in more])


class _Entries:
    """Entries of journals; see `journal.py` for what stands in them."""

    __slots__ = ("_addresses", "_in_use", "_numbers", "_rest", "bounds")

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Takes entries in order, at least one, without times."""
        subjects, numbers, _, in_use, pools, regions, addresses, sizes, requested, labels = zip(*entries, strict=True)
        self._numbers, self._in_use, self.bounds = _Integers(numbers), _Integers(in_use), (numbers[0], numbers[-1])
        self._addresses = _Integers(addresses)
        keys = {key: _label_key(label) for key, label in dict(zip(map(id, labels), labels, strict=True)).items()}
        same = map(keys.__getitem__, map(id, labels))
        self._rest = _Shared(
            list(zip(subjects, pools, regions, sizes, requested, labels, strict=True)),
            list(zip(map(id, subjects), pools, map(id, regions), sizes, requested, same, strict=True)),
        )

    def values(self) -> list[Entry]:
        """Returns the entries."""
        rows = zip(
            self._numbers.values(), self._in_use.values(), self._addresses.values(), self._rest.values(), strict=False
        )
        return [
            (subject, number, None, in_use, pool, region, address, size, requested, label)
            for number, in_use, address, (subject, pool, region, size, requested, label) in rows
        ]


def _label_key(label: object) -> Hashable:
    """Returns what is equal for labels that say the same; not the code itself, whose hash reads all of it."""
    if not isinstance(label, Label) or label.site is None or len(label.site) == 2:
        return id(label)
    code, instruction, part = label.site
    return label.op, label.dtype, label.shape, id(code), instruction, id(part)


# Batches


class Batch:
    """Notes that were counted together, with the number of their events; plain at first, in columns once packed."""

    __slots__ = ("_rows", "_time", "clock", "events")

    def __init__(self, events: int, notes: list[Note], entries: list[Entry]) -> None:
        """Takes notes and entries in any order."""
        self.clock: Clock | None = None  # as it stands before the first of them, once somebody has looked
        self.events, self._time = events, time()
        self._rows: tuple[list[Note] | _Notes, list[Entry] | _Entries] = notes, entries

    def pack(self) -> None:
        """Takes less memory from now on, and more time to look at; happens completely or not at all."""
        notes, entries = self._rows
        if isinstance(notes, list) and len(notes) > _FEW:
            notes = _Notes(sorted(notes, key=_NUMBER_OF))
        if isinstance(entries, list) and len(entries) > _FEW:
            entries = _Entries(sorted(entries, key=_NUMBER_OF))
        self._rows = notes, entries

    def in_order(self) -> list[Note]:
        """Returns notes and entries, by number."""
        notes, entries = [rows if isinstance(rows, list) else rows.values() for rows in self._rows]
        return timed(sorted([*notes, *entries], key=_NUMBER_OF), self._time)

    def bounds(self) -> tuple[int, int]:
        """Returns the least and the greatest number."""
        numbers = [
            number
            for rows in self._rows
            for number in (map(_NUMBER_OF, rows) if isinstance(rows, list) else rows.bounds)
        ]
        return min(numbers), max(numbers)

    def has_node(self, name: str) -> bool:
        """Tells whether a node of a graph may be among what ran."""
        notes, _ = self._rows
        return isinstance(notes, list) or notes.has_node(name)

    def end(self, clock: Clock) -> Clock:
        """Begins with a clock; returns how it stands after the last note."""
        self.clock = clock.copy()
        notes, _ = self._rows  # entries keep nothing busy
        plain = isinstance(notes, list)
        for subject in map(_SUBJECT_OF, sorted(notes, key=_NUMBER_OF)) if plain else notes.timed_subjects():
            if subject.lanes is not None:
                clock.run(subject.lanes)
            elif subject is SCENE:
                clock.wait()
        return clock

    def last_events(self, most: int) -> Iterator[list[Event]]:
        """Yields the events of each of the last notes, with their starts."""
        clock, notes = self.clock.copy() if self.clock is not None else Clock(), self.in_order()
        for position, note in enumerate(notes, most - len(notes)):
            subject = note[SUBJECT]
            if subject is SCENE:
                clock.wait()
            elif position >= 0:
                yield clock.stamped(subject.events(note), subject.lanes)
            elif subject.lanes is not None:
                clock.run(subject.lanes)
