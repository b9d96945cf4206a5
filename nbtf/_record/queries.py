"""What is read from the table in columns of numbers: everything that ran, program lines, and memory levels.

For a million events, each kind of op or copy and each line is stored once, and no event is created.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from nbtf._devices.sites import NO_PLACE, Site
from nbtf._garbage import collector_paused
from nbtf._record.events import Allocated, Copied, Event, Freed, OpExecuted, OpPlaced, Reason
from nbtf._record.memory import site_of_label
from nbtf._record.rows import SUBJECT, EventSubject, OpSubject, Row, note_of_event, place_of
from nbtf._record.table import Block, Facts
from nbtf._record.table import Fact as RowFact

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[np.float64]"
Integers: TypeAlias = "NDArray[np.int64]"

Levels: TypeAlias = "dict[str, tuple[NDArray[np.int64], ...]]"
"""For each device, in order: event numbers, bytes in use after each event, and bytes of the pool."""


class Fact(NamedTuple):
    """The common table of many ops or copies: the event of the first one, and the reason for its placement.

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

    `start` is as in the event, or nan if the time was measured. `time` is the end, in seconds since the epoch, and
    `call_time` that of the call, or nan if it is unknown. `fact` is an index into `facts`.

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
    call_time: Numbers
    fact: Integers

    def between(self, first: int, last: int) -> Work:
        """Returns the work of events with numbers from `first` to `last`.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> work = record.snapshot().work
        >>> len(work.seq), len(work.between(work.seq[0], work.seq[1]).seq)
        (3, 2)
        """
        if not len(self.seq) or (first <= self.seq[0] and self.seq[-1] <= last):
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
        times = self.start[rows], self.seconds[rows], self.time[rows], self.call_time[rows]
        return Work(self.facts, self.seq[rows], *times, self.fact[rows])


_WORK = np.dtype(
    [("seq", "i8"), ("start", "f8"), ("seconds", "f8"), ("time", "f8"), ("call_time", "f8"), ("fact", "i8")]
)


class _Columns:
    """Columns of work that grow; -1 as a fact stands for no work."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.tables: list[Any] = [np.empty(0, _WORK)]
        self._positions: dict[tuple[int, int], int] = {}
        self._kept: list[RowFact] = []  # keeps the objects alive whose ids are keys
        self._placed: dict[tuple[Any, ...], list[Reason]] = {}  # placements of other libraries' ops, one row per event

    def take(self, block: Block) -> None:
        """Adds the work in a block."""
        rows: Any = block.rows
        facts: Any = block.facts
        positions, own_starts, own_seconds = np.full(len(facts), -1), *np.full((2, len(facts)), nan)
        is_modelled, is_at_end, is_stamped = np.zeros((3, len(facts)), bool)
        for number, row in block.first_rows():
            key = id(row[SUBJECT]), id(facts[number][1])
            if key not in self._positions:
                self._positions[key] = self._take_fact(row)
                self._kept.append(facts[number])
            positions[number] = position = self._positions[key]
            if position >= 0:
                event, lanes = self.facts[position].event, row[SUBJECT].lanes
                is_modelled[number], is_at_end[number] = lanes is not None, isinstance(event, OpExecuted)
                is_stamped[number] = row[SUBJECT].is_stamped
                own_starts[number] = getattr(event, "start", None)
                own_seconds[number] = getattr(event, "seconds", 0.0) if lanes is None else lanes[1]
        table, fact, row_seconds = np.empty(len(rows), _WORK), rows["fact"], rows["seconds"]
        is_set = ~np.isnan(row_seconds)
        table["fact"], table["time"] = positions[fact], rows["time"]
        table["call_time"] = np.where(rows["began"] > 0.0, rows["began"], nan)
        table["seq"] = np.where(is_at_end[fact], rows["number"], rows["first"])
        table["start"] = np.where(is_modelled[fact] & is_set, row_seconds, own_starts[fact])
        table["start"] = np.where(is_stamped[fact], rows["began"], table["start"])
        table["seconds"] = np.where(is_modelled[fact] | ~is_set, own_seconds[fact], row_seconds)
        self.tables.append(table)
        for number, messages in block.messages.items():
            at = rows["number"].searchsorted(number)
            last, table["fact"][at] = int(table["fact"][at]), -1
            self.tables.append(_messages(rows[at], facts[rows["fact"][at]][SUBJECT].offsets, messages, last))

    def _take_fact(self, row: Row) -> int:
        """Adds the facts of all rows with the subject and call site of this one; returns the index of the last one."""
        subject, reason, position = row[SUBJECT], None, -1
        if isinstance(subject, OpSubject) and subject.count == 2:
            self.facts.append(Fact(subject.end(row), subject.reason))
            return len(self.facts) - 1
        events: Sequence[Any] = subject.events(row)
        for event in events:
            if isinstance(event, OpPlaced):
                reason = event.reason
                if isinstance(subject, EventSubject):
                    self._placed.setdefault((event.op, event.device, event.site), []).append(reason)
            elif isinstance(subject, EventSubject) and isinstance(event, OpExecuted):
                placed = self._placed.get((event.op, event.device, event.site))
                reason = placed.pop() if placed else None
            if isinstance(event, OpExecuted | Copied) or (subject.is_op and event is events[-1]):
                position = len(self.facts)
                self.facts.append(Fact(event, reason))
        return position

    def work(self, first: int) -> Work:
        """Returns the work of events whose numbers are at least `first`."""
        table = np.concatenate(self.tables)
        table = table[(table["fact"] >= 0) & (table["seq"] >= first)]
        table = table[table["seq"].argsort(kind="stable")]
        is_used = np.bincount(table["fact"], minlength=len(self.facts)) > 0
        facts = tuple([self.facts[at] for at in np.flatnonzero(is_used).tolist()])
        start, seconds, time, calls = [table[name].copy() for name in ("start", "seconds", "time", "call_time")]
        fact = (np.cumsum(is_used) - 1)[table["fact"]]
        return Work(facts, table["seq"].copy(), start, seconds, time, calls, fact)


def _messages(row: Any, offsets: Sequence[tuple[float, float]], numbers: Sequence[int], last: int) -> Any:
    """Returns the work of an all-reduce's messages; `last` is the fact of the last one."""
    table = np.empty(len(numbers), _WORK)
    starts, seconds = np.array(offsets).T
    table["seq"], table["start"], table["seconds"], table["time"] = (
        numbers,
        row["seconds"] + starts,
        seconds,
        row["time"],
    )
    table["call_time"] = nan
    table["fact"] = last + 1 + np.arange(-len(numbers), 0)
    return table


def work_of(blocks: Iterable[Block], first: int = 0) -> Work:
    """Returns the work of blocks from event number `first` on."""
    columns = _Columns()
    with collector_paused():
        for block in blocks:
            columns.take(block)
        return columns.work(first)


def work_of_events(events: Iterable[Event]) -> Work:
    """Returns the work of events for which no recorder has rows; modelled times are those in the events."""
    rows = [field for event in events for field in note_of_event(event)]
    return work_of([Block.of(rows, [], Facts(), None)] if rows else [])


# Program lines


class Lines(NamedTuple):
    """Event numbers in order, and the line that caused each event, as an index into `sites`.

    Ops have the numbers of their start and end. Events that free memory have no line, because it is unknown.

    >>> with tf.runtime.recording() as record:
    ...     c = tf.add(1.0, 2.0)
    >>> lines = record.snapshot().lines()
    >>> len(lines.seq), len(lines.sites)
    (6, 1)
    """

    seq: Integers
    position: Integers
    sites: tuple[Site, ...]

    @property
    def changes(self) -> Integers:
        """The numbers of events whose line differs from that of the previous event.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> lines = record.snapshot().lines()
        >>> bool(lines.changes[0] == lines.seq[0])
        True
        """
        return self.seq[np.flatnonzero(np.diff(self.position, prepend=-1))]

    def neighbours(self, seq: Sequence[int]) -> list[tuple[Site, Site]]:
        """Returns, for each number, the line of the last event before it and of the first event after it.

        >>> with tf.runtime.recording() as record:
        ...     c = tf.add(1.0, 2.0)
        >>> lines = record.snapshot().lines()
        >>> [(earlier, following)] = lines.neighbours([lines.seq[0]])
        >>> earlier is None, following == lines.sites[0]
        (True, True)
        """
        sites, rows = (None, *self.sites, None), self.seq.searchsorted(seq)
        positions = np.concatenate([[-1], self.position, [len(self.sites)]]) + 1
        pairs = zip(positions[rows].tolist(), positions[rows + 1].tolist(), strict=True)
        return [(sites[first], sites[second]) for first, second in pairs]


def lines_of(blocks: Iterable[Block]) -> Lines:
    """Returns the lines of rows and memory entries."""
    numbers: dict[Site, int] = {None: 0}
    columns: list[tuple[Any, Any]] = []
    for block in blocks:
        lines = np.array([numbers.setdefault(_site(fact), len(numbers)) for fact in block.facts])
        rows, entries = block.rows, block.entries
        of_rows = lines[rows["fact"]]
        columns += (rows["first"], of_rows), (rows["number"], of_rows), (entries["number"], lines[entries["fact"]])
    return _in_order(columns, [*numbers])


def lines_of_events(events: Iterable[Event]) -> Lines:
    """Returns the lines of events."""
    numbers: dict[Site, int] = {None: 0}
    caused = [event for event in events if not isinstance(event, Freed)]
    positions = [numbers.setdefault(event.site, len(numbers)) for event in caused]
    return _in_order([([event.seq for event in caused], positions)], [*numbers])


def _in_order(columns: Sequence[tuple[Any, Any]], sites: list[Site]) -> Lines:
    """Returns the numbers that have a line, in order, from pairs of numbers and indices into `sites`."""
    empty: Any = ()
    seq, positions = np.concatenate([np.array(pair, np.int64) for pair in [(empty, empty), *columns]], 1)
    rows = np.flatnonzero(positions)
    rows = rows[seq[rows].argsort(kind="stable")]
    is_used = np.bincount(positions[rows], minlength=len(sites)) > 0
    used = tuple([sites[at] for at in np.flatnonzero(is_used).tolist()])
    return Lines(seq[rows], is_used.cumsum()[positions[rows]] - 1, used)


def _site(fact: RowFact) -> Site:
    """Returns the line of a fact; None if it is unknown."""
    subject = fact[SUBJECT]
    if subject.is_entry:
        return site_of_label(fact[-1]) if subject.is_request else None
    if fact[1] is not NO_PLACE:
        return place_of(fact[1])[0]
    return next((event.site for event in subject.sample if not isinstance(event, Freed)), None)


# Memory


def levels_of(blocks: Iterable[Block]) -> Levels:
    """Returns each device's memory level after every event that changed it."""
    tables: dict[str, list[Any]] = {}
    for block in blocks:
        entries, facts = block.entries, block.facts
        pools = np.array([fact[1] if fact[SUBJECT].is_entry else 0 for fact in facts], np.int64)[entries["fact"]]
        numbers: dict[str, int] = {}
        holders = [fact[SUBJECT].holder if fact[SUBJECT].is_entry else "" for fact in facts]
        owners = np.array([numbers.setdefault(holder, len(numbers)) for holder in holders], np.int64)[entries["fact"]]
        order = owners.argsort(kind="stable")
        table = np.stack((entries["number"], entries["in_use"], pools))[:, order]
        ends = owners[order].searchsorted(np.arange(len(numbers)), side="right")
        for holder, columns in zip(numbers, np.split(table, ends[:-1], axis=1), strict=True):
            if columns.size:
                tables.setdefault(holder, []).append(columns)
    levels = {device: np.concatenate(columns, 1) for device, columns in tables.items()}
    return {device: tuple(table[:, table[0].argsort(kind="stable")]) for device, table in levels.items()}


def levels_of_events(events: Iterable[Event]) -> Levels:
    """Returns the levels in a sequence of events."""
    rows: dict[str, list[tuple[int, int, int]]] = {}
    for event in events:
        if isinstance(event, Allocated | Freed):
            rows.setdefault(event.device, []).append((event.seq, event.in_use, event.pool))
    return {device: tuple(np.array(row, np.int64).T) for device, row in rows.items()}
