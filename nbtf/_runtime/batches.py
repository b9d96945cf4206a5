"""Batches of notes and journal entries, ordered by number, and the events that they stand for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, compress, islice
from operator import attrgetter
from time import time
from typing import Any, TypeAlias, cast

from nbtf._devices.base import Label
from nbtf._devices.journal import ENTRY
from nbtf._devices.sites import NO_PLACE
from nbtf._runtime import columns
from nbtf._runtime.clock import WAIT, Clock
from nbtf._runtime.columns import Column
from nbtf._runtime.density import COPIES, Intervals
from nbtf._runtime.events import Event, Freed
from nbtf._runtime.notes import FIRST, LEVEL, MORE, NOTE, NUMBER, SECONDS, SUBJECT, TIME, WHERE, Note, next_number

_SEQ = attrgetter("seq")


class _SceneSubject:
    """Subject of the note that marks the start of a scene or of a new machine; it makes no event."""

    __slots__ = ()
    memory, lanes, holder = None, WAIT, ""
    sample: Sequence[Event] = ()
    devices: tuple[str, ...] = ()
    is_copy = False

    def taken_apart(self) -> tuple[Hashable, Any, Any]:
        """Returns the subject itself, because only one instance exists."""
        return None, self, None

    @staticmethod
    def put_together(subject: _SceneSubject, details: None) -> _SceneSubject:
        """Returns the subject unchanged."""
        return subject

    def events(self, note: Note, start: float | None = None) -> list[Event]:
        """Returns an empty list."""
        return []

    events_afterwards = events


_SCENE = _SceneSubject()


def note_of_scene() -> Note:
    """Returns the note that marks the start of a scene or of a new machine."""
    number = next_number()
    return _SCENE, number, time(), NO_PLACE, number, 0.0, None, None, None


Columns: TypeAlias = "list[Column]"


def _label_apart(label: Any) -> tuple[Hashable, Any, Any]:
    """Splits a label into everything but the shape, and the shape."""
    if label.__class__ is not Label:
        return id(label), label, None
    op, dtype, shape, site = label
    return (op, dtype, id(site)), (op, dtype, site), shape


def _label_together(shared: Any, shape: Any) -> Any:
    if shape is None:
        return shared
    op, dtype, site = shared
    return Label(op, dtype, shape, site)


def _subject_apart(subject: Any) -> tuple[Hashable, Any, Any]:
    key, shared, details = subject.taken_apart()
    return key, (subject.__class__, shared), details


def _subject_together(shared: Any, details: Any) -> Any:
    return shared[0].put_together(shared[1], details)


_NOTE_COLUMNS = (
    partial(columns.varied_objects, _subject_apart, _subject_together),
    columns.Integers,
    columns.times,
    columns.objects,
    columns.Integers,
    columns.times,
    columns.seconds,
    columns.shared,
)
_ENTRY_COLUMNS = (
    columns.objects,
    columns.Integers,
    columns.Integers,
    columns.objects,
    columns.objects,
    columns.Integers,
    columns.Integers,
    columns.Integers,
    partial(columns.varied_objects, _label_apart, _label_together),
)


def _by_number(rows: list[list[Any]]) -> list[list[Any]]:
    """Returns the columns sorted by number; several threads or devices may have written them in another order."""
    numbers = rows[NUMBER]
    if sorted(numbers) == numbers:
        return rows
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    return [[column[at] for at in order] for column in rows]


_LEVEL_END = 4
"""The fields of an entry after its subject: its number, the bytes in use, and the pool."""


class Batch:
    """Notes and entries sorted by number, with the number of their events; immutable except for `clock`.

    `low` and `high` are the smallest and the largest event number. `ends` lists the last number and the time of each
    group that was counted together.
    """

    __slots__ = ("_entries", "_marks", "_notes", "clock", "ends", "events", "high", "is_packed", "low", "size")

    def __init__(
        self, events: int, notes: list[list[Any]], entries: list[list[Any]], ends: list[tuple[int, float]] | None = None
    ) -> None:
        """Stores the columns, of which at least one is not empty."""
        notes, entries = _by_number(notes), _by_number(entries)
        self.clock: Clock | None = None  # the clock before the first note, once something has read the batch
        self.events, self.size, self.is_packed = events, len(notes[NUMBER]) + len(entries[NUMBER]), False
        self._marks = notes[SUBJECT].count(_SCENE)
        self._notes: Columns = [*notes]
        self._entries: Columns = [*entries]
        self.low = min([*entries[NUMBER][:1], *_lowest_numbers(notes[FIRST], notes[MORE])]) - 1
        self.high = max([*notes[NUMBER][-1:], *entries[NUMBER][-1:]])
        self.ends = ends or [(self.high, time())]

    @classmethod
    def of(cls, events: int, notes: list[Any], entries: list[Any]) -> Batch:
        """Returns a batch of notes and entries, which may be in any order."""
        return cls(events, [notes[at::NOTE] for at in range(NOTE)], [entries[at::ENTRY] for at in range(ENTRY)])

    @classmethod
    def packed(cls, batches: Sequence[Batch]) -> Batch:
        """Returns several batches as one, which uses less memory and takes longer to read."""
        notes = _joined([batch._notes for batch in batches])
        entries = _joined([batch._entries for batch in batches])
        ends = [*chain.from_iterable(batch.ends for batch in batches)]
        batch = cls(sum([batch.events for batch in batches]), notes, entries, ends)
        batch.clock, batch.is_packed = batches[0].clock, True
        if notes[NUMBER]:
            side_numbers = columns.numbers_beside(batch._notes[MORE], batch._notes[NUMBER])
            batch._notes = [*_packed(batch._notes[:MORE], _NOTE_COLUMNS), side_numbers]
        if entries[NUMBER]:
            batch._entries = _packed(batch._entries, _ENTRY_COLUMNS)
        return batch

    def notes(self, begin: int = 0) -> Iterator[Note]:
        """Yields the notes in order, starting at index `begin`."""
        return zip(*[column[begin:] for column in self._notes], strict=True)

    def has_node(self, name: str) -> bool:
        """Returns whether a graph node of this name is among the ops."""
        call_sites = {id(call_site): call_site for call_site in self._column(WHERE)}
        return any(step_part.node == name for _, _, step_part in call_sites.values())

    def _column(self, at: int) -> list[Any]:
        return [*self._notes[at][:]]

    def starts(self, clock: Clock) -> list[float | None]:
        """Returns when each note began, and advances the given clock."""
        return clock.starts([subject.lanes for subject in self._column(SUBJECT)])

    def clock_after(self, clock: Clock) -> Clock:
        """Returns the state of a clock after the last note."""
        end_clock = clock.copy()
        self.starts(end_clock)
        return end_clock

    def note_rows(self) -> list[list[Any]]:
        """Returns the columns of the notes, sorted by number: first the subjects, then the other fields."""
        return [self._column(at) for at in range(NOTE)]

    def work(self, until: int | None = None) -> tuple[Intervals, Intervals]:
        """Returns the busy intervals of devices by the modelled clock, and those by the measured clock.

        Args:
          until: number of the first note to leave out; None includes all.
        """
        modelled: Intervals = {}
        measured: Intervals = {}
        subjects, numbers, times = self._column(SUBJECT), self._column(NUMBER), self._column(TIME)
        rows = zip(subjects, times, self._notes[WHERE][:], self._notes[SECONDS][:], self.own_starts(), strict=True)
        end = len(numbers) if until is None else bisect_left(numbers, until)
        targets: dict[tuple[int, int], list[list[float]]] = {}
        for subject, now, call_site, seconds, start in islice(rows, end):
            lanes, key = subject.lanes, (id(subject), id(call_site))
            if lanes is not None:
                seconds = lanes[1]
            elif seconds:
                start = now - seconds
            if not seconds or start is None:
                continue
            if key not in targets:
                work, phase = (
                    (measured if lanes is None else modelled),
                    COPIES if subject.is_copy else call_site[2].phase,
                )
                devices = subject.devices if lanes is None else lanes[0]
                targets[key] = [work.setdefault((device, phase), []) for device in devices]
            for target in targets[key]:
                target += (start, seconds)
        return modelled, measured

    def own_starts(self) -> list[float | None]:
        """Returns when each note began on the modelled clock."""
        return self.starts(Clock() if self.clock is None else self.clock.copy())

    def event_list(self, limit: int | None = None) -> list[Event]:
        """Returns the events in order: all of them, or at least the last `limit`."""
        numbers: Any = self._notes[NUMBER][:]
        begin = 0 if limit is None else max(0, len(numbers) - limit - self._marks)  # scene marks make no events
        starts = self.own_starts()
        events: list[Event] = []
        for note, start in zip(self.notes(begin), starts[begin:], strict=True):
            events += note[SUBJECT].events(note, start)
        events += self.memory_events(limit)
        events.sort(key=_SEQ)
        return events

    def levels(self) -> list[list[Any]]:
        """Returns memory columns: the device, the number of the event that changed it, bytes in use, and the pool."""
        entries = [[*column[:]] for column in self._entries[:_LEVEL_END]]
        notes = zip(self._column(SUBJECT), self._notes[NUMBER][:], self._notes[LEVEL][:], strict=True)
        rows = [(subject, number, *level) for subject, number, level in notes if level is not None]
        return [entry + [row[at] for row in rows] for at, entry in enumerate(entries)]

    def requests(self) -> tuple[list[int], list[Any]]:
        """Returns numbers and labels of the entries for allocation requests, granted or not."""
        subjects, numbers, labels = ([*self._entries[at][:]] for at in (SUBJECT, NUMBER, -1))
        is_request = [not isinstance(subject.sample[0], Freed) for subject in subjects]
        return [*compress(numbers, is_request)], [*compress(labels, is_request)]

    def numbers_until(self, number: int) -> list[int]:
        """Returns the numbers of events up to `number`, unsorted."""
        notes = [at for at, first in enumerate(self._notes[FIRST][:]) if first <= number]
        of_notes = [
            event.seq
            for note in (next(self.notes(at)) for at in notes)
            for event in note[SUBJECT].events(note)
            if event.seq <= number
        ]
        return of_notes + [entry for entry in self._entries[NUMBER][:] if entry <= number]

    def memory_events(self, limit: int | None = None, device: str | None = None) -> Iterable[Event]:
        """Yields the memory events of one device or of all, at most the last `limit`; each has its note's time."""
        numbers: Any = self._entries[NUMBER][:]
        if not numbers:
            return
        begin = 0 if limit is None else max(0, len(numbers) - limit)
        times = sorted([*zip(self._notes[NUMBER][:], self._notes[TIME][:], strict=True), *self.ends])
        known = [number for number, _ in times]
        for entry in zip(*[column[begin:] for column in self._entries], strict=True):
            if device is None or entry[SUBJECT].holder == device:
                yield entry[SUBJECT].event(entry, times[bisect_left(known, entry[NUMBER])][1])


def _joined(rows: Sequence[Columns]) -> list[list[Any]]:
    """Returns the concatenation of columns."""
    if len(rows) == 1:
        return [column if isinstance(column, list) else [*column[:]] for column in rows[0]]
    return [[*chain.from_iterable(column[:] for column in each)] for each in zip(*rows, strict=True)]


def _packed(rows: Columns, forms: Iterable[Callable[[list[Any]], Column]]) -> Columns:
    """Returns the columns, each stored in its own form."""
    return [pack(cast("list[Any]", column)) for pack, column in zip(forms, rows, strict=True)]


def _lowest_numbers(firsts: list[int], side_numbers: list[Any]) -> list[int]:
    """Returns the smallest note number and the smallest number of a constant before it; empty without notes."""
    if not firsts:
        return []
    constants = (
        () if columns.is_empty(side_numbers) else (min(each[0]) - 1 for each in side_numbers if each and each[0])
    )
    return [min(firsts), *constants]
