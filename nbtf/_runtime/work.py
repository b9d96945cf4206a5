"""Everything that ran in a recording, in columns of numbers with each kind of op or copy stored once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from nbtf._runtime.batches import Batch
from nbtf._runtime.collectives import CollectiveSubject
from nbtf._runtime.events import Copied, Event, OpExecuted, OpPlaced, Reason
from nbtf._runtime.notes import BEGAN, MORE, NUMBER, SECONDS, SUBJECT, TIME, WHERE, Note, note_of_event
from nbtf._runtime.subjects import EventSubject, OpSubject

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.int64]"


class Fact(NamedTuple):
    """The common part of many ops or copies: the event of the first one, and the reason for its placement.

    For an op that failed, the event is its last one, `OpPlaced`.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> fact = record.snapshot().work.facts[-1]
    >>> type(fact.event).__name__, fact.reason.kind
    ('OpExecuted', 'no GPU')
    """

    event: OpExecuted | Copied | OpPlaced
    reason: Reason | None


class Work(NamedTuple):
    """Ops that ran and copies, in event order: for each its number, its times in seconds, and its kind.

    `start` is as in the event, or nan if the time was measured. `fact` is an index into `facts`.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> work = record.snapshot().work
    >>> [work.facts[fact].event.op for fact in work.fact]
    ['_EagerConst', '_EagerConst', 'AddV2']
    """

    facts: tuple[Fact, ...]
    seq: Integers
    start: Numbers
    seconds: Numbers
    time: Numbers
    fact: Integers

    def between(self, first: int, last: int) -> Work:
        """Returns the work of events with numbers from `first` to `last`.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> work = record.snapshot().work
        >>> len(work.seq), len(work.between(work.seq[0], work.seq[1]).seq)
        (3, 2)
        """
        if first <= self.seq[0] and self.seq[-1] <= last:
            return self
        return self.at(slice(*self.seq.searchsorted([first, last + 1])))

    def at(self, rows: slice | NDArray[np.bool_]) -> Work:
        """Returns the selected rows.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> work = record.snapshot().work
        >>> len(work.at(slice(1)).seq)
        1
        """
        return Work(self.facts, self.seq[rows], self.start[rows], self.seconds[rows], self.time[rows], self.fact[rows])


class _Columns:
    """Columns that grow."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._of_facts: list[tuple[int, float, float]] = []
        """For each fact: its event number relative to the note's, start and seconds; nan if the note has them."""
        self._notes: list[Sequence[NDArray[Any]]] = []
        self._constants: list[tuple[int, float, float, float, int]] = []
        self._positions: dict[tuple[int, int], int] = {}  # index of the last fact of each kind of note; -1 for none
        self._kept: list[object] = []  # keeps the objects alive whose ids are keys
        self._placed: dict[tuple[Any, ...], list[Reason]] = {}  # placements of other libraries' ops, one note per event

    def take(self, batch: Batch, is_clocked: bool = True) -> None:
        """Adds the work in a batch; without the modelled clock, at the times given in the events."""
        rows = batch.note_rows()
        keys = [*zip(map(id, rows[SUBJECT]), map(id, rows[WHERE]), strict=True)]
        for at, key in enumerate(keys):
            if key not in self._positions:
                self._positions[key] = self._take_facts(tuple([column[at] for column in rows]))
        facts = [*map(self._positions.__getitem__, keys)]
        starts = batch.own_starts() if is_clocked else [None] * len(facts)
        self._take_messages(rows, starts, facts)
        times = [np.array(column, np.float64) for column in (starts, rows[SECONDS], rows[TIME])]
        self._notes.append([np.array(rows[NUMBER], np.int64), *times, np.array(facts, np.int64)])
        if any(rows[MORE]):
            self._constants += [
                (number, nan, 0.0, began, fact - len(side_numbers[0]) + at)
                for side_numbers, began, fact in zip(rows[MORE], rows[BEGAN], facts, strict=True)
                if side_numbers and side_numbers[0]
                for at, number in enumerate(side_numbers[0])
            ]

    def _take_messages(self, rows: list[list[Any]], starts: Sequence[float | None], facts: list[int]) -> None:
        """Adds the messages of all-reduces, except the first of each, which stands for its note."""
        for subject, now, side_numbers, start, first in zip(
            rows[SUBJECT], rows[TIME], rows[MORE], starts, facts, strict=True
        ):
            if isinstance(subject, CollectiveSubject):
                messages = [*zip(side_numbers[1], subject.offsets, strict=True)][1:]
                self._constants += [
                    (number, nan if start is None else start + offset, seconds, now, first + 1 + at)
                    for at, (number, (offset, seconds)) in enumerate(messages)
                ]

    def _take_facts(self, note: Note) -> int:
        """Adds the facts of all notes with the subject and call site of this one.

        Returns:
          The index of the fact that the note stands for: the last one, or the first one for an all-reduce.
        """
        subject, reason, position = note[SUBJECT], None, -1
        events: Sequence[Event] = subject.events(note)
        for event in events:
            if isinstance(event, OpPlaced):
                reason = event.reason
                if isinstance(subject, EventSubject):
                    self._placed.setdefault((event.op, event.device, event.site), []).append(reason)
            if isinstance(event, OpExecuted | Copied) or (isinstance(subject, OpSubject) and event is events[-1]):
                position = self._take_fact(event, reason, note)
        self._kept += (subject, note[WHERE])
        return position - len(events) + 1 if isinstance(subject, CollectiveSubject) else position

    def _take_fact(self, event: Any, reason: Reason | None, note: Note) -> int:
        if isinstance(note[SUBJECT], EventSubject) and isinstance(event, OpExecuted):
            placed = self._placed.get((event.op, event.device, event.site))
            reason = placed.pop() if placed else None
        is_measured = note[SECONDS] is not None and note[SUBJECT].lanes is None
        start, seconds = getattr(event, "start", None), nan if is_measured else getattr(event, "seconds", 0.0)
        self._of_facts.append((event.seq - note[NUMBER], nan if start is None else start, seconds))
        self.facts.append(Fact(event, reason))
        return len(self.facts) - 1

    def work(self, first: int) -> Work:
        """Returns the work of events whose numbers are at least `first`."""
        if not self.facts:
            return _work((), [np.zeros(0)] * 5)
        seq, start, seconds, time, fact = [np.concatenate(column) for column in zip(*self._notes, strict=True)]
        offsets, starts, lengths = [np.array(column)[fact] for column in zip(*self._of_facts, strict=True)]
        start, seconds = np.where(np.isnan(start), starts, start), np.where(np.isnan(lengths), seconds, lengths)
        rows = np.array(self._constants, np.float64).reshape(-1, 5).T
        columns = [np.concatenate(pair) for pair in zip((seq + offsets, start, seconds, time, fact), rows, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        order = order[(columns[0][order] >= first) & (columns[-1][order] >= 0)]
        return _work(self.facts, [column[order] for column in columns])


def _work(facts: Sequence[Fact], columns: Sequence[NDArray[Any]]) -> Work:
    """Returns columns with the facts that occur in them."""
    seq, start, seconds, time, fact = columns
    fact = fact.astype(np.int64)
    is_used = np.bincount(fact, minlength=len(facts)) > 0
    used = [facts[at] for at in np.flatnonzero(is_used).tolist()]
    return Work(tuple(used), seq.astype(np.int64), start, seconds, time, (np.cumsum(is_used) - 1)[fact])


def work_of(batches: Iterable[Batch], first: int) -> Work:
    """Returns the work of batches from event number `first` on."""
    columns = _Columns()
    for batch in batches:
        columns.take(batch)
    return columns.work(first)


def work_of_events(events: Sequence[Event]) -> Work:
    """Returns the work of events for which no recorder has notes."""
    columns = _Columns()
    if events:
        notes = chain.from_iterable(map(note_of_event, events))
        columns.take(Batch.of(len(events), [*notes], []), is_clocked=False)
    return columns.work(0)
