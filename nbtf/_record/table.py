"""The table of the log: blocks of rows and of memory entries, in columns, with common facts stored once."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain
from math import nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from weakref import ref

import numpy as np

from nbtf._devices.base import Label
from nbtf._devices.journal import ENTRY, Entries
from nbtf._devices.sites import CallSite
from nbtf._record.clock import Clock
from nbtf._record.density import COPIES, Intervals
from nbtf._record.events import Event
from nbtf._record.rows import (
    BEGAN,
    FIRST,
    MORE,
    NOW,
    NUMBER,
    ROW,
    SECONDS,
    SUBJECT,
    TIME,
    WHERE,
    CopySubject,
    OpSubject,
    Row,
    row_of_mark,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"

_SEQ = attrgetter("seq")

_IN_USE, _POOL, _REGION, _ADDRESS, _CHARGED, _REQUESTED, _LABEL = range(2, ENTRY)

ROWS = np.dtype([("fact", "u4"), ("number", "i8"), ("first", "i8"), ("time", "f8"), ("began", "f8"), ("seconds", "f8")])
"""`seconds` is the start on the modelled clock if the subject has `lanes`; otherwise measured, or nan."""
ENTRIES = np.dtype([("fact", "u4"), ("number", "i8"), ("in_use", "i8"), ("address", "i8")])

Fact: TypeAlias = "tuple[Any, ...]"
"""The common part of many rows: their subject and call site.

For entries, it is their subject, pool, region, the bytes charged and requested, and the label.
"""


class _Numbers(dict[Any, int]):
    """Numbers keys in the order in which they first occur."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


class Facts:
    """Distinct facts. Their list only grows, so that blocks can share it."""

    __slots__ = ("_numbers", "listed")

    def __init__(self) -> None:
        """Starts empty."""
        self.listed: list[Fact] = []
        self._numbers = _Numbers()

    def numbers_of(self, keys: Iterable[Any], *columns: list[Any]) -> list[int]:
        """Returns the index of the fact of each row, given what distinguishes it; each column gives facts a field."""
        every, listed, at = _Numbers(self._numbers), self.listed, 0
        numbers = [*map(every.__getitem__, keys)]
        added: list[Fact] = []
        for number in range(len(listed), len(every)):
            at = numbers.index(number, at)
            added.append(tuple([column[at] for column in columns]))
        # No calls or loops here, so that an interrupt cannot split the change.
        listed += added
        self._numbers = every
        return numbers


class Block:
    """Rows and entries in order, by number; immutable.

    `low` and `high` are bounds of its event numbers, and `events` is how many there are. `messages` has the numbers of
    an all-reduce's messages, by the row's number.
    """

    __slots__ = ("_facts", "entries", "events", "high", "low", "messages", "rows")

    def __init__(self, rows: Any, entries: Any, facts: list[Fact] | _Packed, messages: Any, events: int) -> None:
        """Stores the arrays; there is at least one row, and every entry is before a row."""
        self.rows, self.entries = _in_order(rows), _in_order(entries)
        self._facts, self.messages, self.events = facts, messages, events
        self.high = int(self.rows["number"][-1])
        self.low = min([int(self.rows["first"].min()), *self.entries["number"][:1].tolist()]) - 1

    @classmethod
    def of(cls, rows: list[Any], boxes: Entries, facts: Facts, clock: Clock | None) -> Block:
        """Returns a block of rows and entries, which may be in any order.

        Args:
          rows: a flat list of rows.
          boxes: flat lists of entries.
          facts: where facts are stored.
          clock: the modelled clock, which the rows advance; None leaves modelled times out.
        """
        additions, messages = rows[MORE::ROW], dict[int, Any]()
        if additions.count(None) < len(additions):
            pairs = zip(rows[NUMBER::ROW], additions, strict=True)
            messages = {number: each for number, each in pairs if each.__class__ is tuple}
            boxes = [*boxes, *[each for each in additions if each.__class__ is list]]
        entries = boxes[0] if len(boxes) == 1 else [*chain.from_iterable(boxes)]
        if max(entries[NUMBER::ENTRY], default=0) > max(rows[NUMBER::ROW], default=0):
            rows = [*rows, *row_of_mark(NOW)]
        subjects, call_sites = rows[SUBJECT::ROW], rows[WHERE::ROW]
        fact_numbers = facts.numbers_of(zip(subjects, map(id, call_sites), strict=True), subjects, call_sites)
        columns = [rows[at::ROW] for at in (NUMBER, FIRST, TIME, BEGAN, SECONDS)]
        table = _in_order(_array(ROWS, fact_numbers, columns))
        lanes = [fact[SUBJECT].lanes for fact in facts.listed]
        if any(lanes):
            is_modelled = np.array([each is not None for each in lanes])[table["fact"]]
            works = table["fact"][is_modelled]
            table["seconds"][is_modelled] = nan if clock is None else clock.starts(lanes, works)
        *common, labels = (entries[at::ENTRY] for at in (SUBJECT, _POOL, _REGION, _CHARGED, _REQUESTED, _LABEL))
        fact_numbers = facts.numbers_of(zip(*common, map(id, labels), strict=True), *common, labels)
        columns = [entries[at::ENTRY] for at in (NUMBER, _IN_USE, _ADDRESS)]
        counts = np.array([fact[SUBJECT].count for fact in facts.listed])
        events = int(counts[table["fact"]].sum()) + len(fact_numbers)
        return cls(table, _array(ENTRIES, fact_numbers, columns), facts.listed, messages, events)

    def followed_by(self, block: Block) -> Block:
        """Returns a block of the rows of both, which share their list of facts."""
        rows = np.concatenate((self.rows, block.rows))
        entries = np.concatenate((self.entries, block.entries))
        return Block(rows, entries, block._facts, self.messages | block.messages, self.events + block.events)

    def packed(self) -> Block:
        """Returns the block with its facts in the form that uses the least memory."""
        if isinstance(self._facts, _Packed):
            return self
        facts: Any = self._facts
        packed = _Packed(facts) if len(facts) * _VARIED > len(self.rows) + len(self.entries) else [*facts]
        return Block(self.rows, self.entries, packed, self.messages, self.events)

    @property
    def facts(self) -> list[Fact]:
        """The facts, by index."""
        return self._facts if isinstance(self._facts, list) else self._facts.facts()

    @property
    def counts(self) -> Integers:
        """Number of events of each row."""
        return np.array([fact[SUBJECT].count for fact in self.facts])[self.rows["fact"]]

    @property
    def numbers(self) -> Integers:
        """The numbers of all events, in order."""
        rows, counts = self.rows, np.where(np.isin(self.rows["number"], [*self.messages]), 0, self.counts)
        messages = np.array([*chain.from_iterable(self.messages.values())], np.int64)
        columns = rows["first"][counts > 0], rows["number"][counts > 1], self.entries["number"], messages
        return np.sort(np.concatenate(columns))

    def row(self, at: int, facts: list[Fact]) -> Row:
        """Returns one row, without its start on the modelled clock, given the facts of the block."""
        return next(self._rows(self.rows[at : at + 1], facts))[0]

    def first_rows(self) -> Iterator[tuple[int, Row]]:
        """Yields the index of each fact of a row, and the first such row, in the order of the rows."""
        numbers = self.rows["fact"]
        used, positions = np.unique(numbers, return_index=True)
        order = positions.argsort(kind="stable")
        rows = self._rows(self.rows[positions[order]], self.facts)
        yield from zip(used[order].tolist(), (row for row, _ in rows), strict=True)

    def _rows(self, rows: Any, facts: Any) -> Iterator[tuple[Row, float | None]]:
        """Yields rows, each with its start on the modelled clock."""
        for fact, number, first, time, began_at, seconds in rows.tolist():
            subject, call_site = facts[fact]
            row = subject, number, time, call_site, first, began_at, seconds, self.messages.get(number)
            yield row, None if subject.lanes is None else seconds

    def event_list(self, limit: int | None = None) -> list[Event]:
        """Returns the events in order: all of them, or at least the last `limit`."""
        rows = self.rows
        if limit is not None and limit < len(rows):
            rows = rows[self.counts > 0]
            rows = rows[max(0, len(rows) - limit) :]
        events: list[Event] = []
        for row, start in self._rows(rows, self.facts):
            events += row[SUBJECT].events(row, start)
        events += self.memory_events(limit)
        events.sort(key=_SEQ)
        return events

    def memory_events(self, limit: int | None = None, device: str | None = None) -> Iterator[Event]:
        """Yields the memory events of one device or of all, at most the last `limit`; each has the next row's time."""
        entries = self.entries[max(0, len(self.entries) - limit) if limit is not None else 0 :]
        if not len(entries):
            return
        facts: Any = self.facts
        times = self.rows["time"][self.rows["number"].searchsorted(entries["number"])].tolist()
        for (fact, number, in_use, address), time in zip(entries.tolist(), times, strict=True):
            subject, pool, region, charged, requested, label = facts[fact]
            if device is None or subject.holder == device:
                entry = subject, number, in_use, pool, region, address, charged, requested, label
                yield subject.event(entry, time)

    def work(self, until: int | None = None) -> tuple[Intervals, Intervals]:
        """Returns the busy intervals of devices by the modelled clock, and those by the measured clock.

        Args:
          until: number of the first row to leave out; None includes all.
        """
        modelled: Intervals = {}
        measured: Intervals = {}
        rows = self.rows if until is None else self.rows[: self.rows["number"].searchsorted(until)]
        rows = rows[rows["fact"].argsort(kind="stable")]
        facts: Any = self.facts
        for group in np.split(rows, np.flatnonzero(np.diff(rows["fact"])) + 1) if len(rows) else ():
            subject, call_site = facts[group["fact"][0]]
            phase = COPIES if subject.is_copy else call_site[2].phase
            group = group[group["seconds"] >= 0] if subject.lanes else group[group["seconds"] > 0]
            if subject.lanes is None:
                work, devices, starts, seconds = measured, subject.devices, group["time"], group["seconds"]
                starts = starts - seconds
            else:
                devices, each = subject.lanes
                work, starts, seconds = modelled, group["seconds"], np.full(len(group), each)
            for device in devices if len(group) and seconds[0] > 0 else ():
                work.setdefault((device, phase), []).extend(np.stack((starts, seconds), 1).ravel().tolist())
        return modelled, measured


def _in_order(table: Any) -> Any:
    numbers = table["number"]
    return table if (numbers[1:] >= numbers[:-1]).all() else table[numbers.argsort(kind="stable")]


def _array(dtype: np.dtype[Any], facts: list[int], columns: Sequence[list[Any]]) -> Any:
    table = np.empty(len(facts), dtype)
    for name, column in zip(cast("Any", dtype.names), (facts, *columns), strict=True):
        table[name] = column
    return table


# Facts that mostly occur once

_VARIED = 8
"""How often facts must occur on average to count as repeating."""

_PLAIN = frozenset({int, float, str, bool, list, tuple, type(None), Label, OpSubject, CopySubject})


class _Packer(pickle.Pickler):
    """Writes facts as bytes, except for objects that live on, such as devices, ops, dtypes and call sites."""

    def __init__(self, file: BytesIO, shared: Sequence[CallSite]) -> None:
        super().__init__(file, protocol=5)
        self.objects: list[object] = [*shared]
        self._numbers = {id(each): at for at, each in enumerate(self.objects)}

    def persistent_id(self, obj: Any) -> int | None:
        number = self._numbers.get(id(obj))
        if number is None and obj.__class__ not in _PLAIN:
            number = self._numbers[id(obj)] = len(self.objects)
            self.objects.append(obj)
        return number


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: BytesIO, objects: Sequence[object]) -> None:
        super().__init__(file)
        self._objects = objects

    def persistent_load(self, pid: Any) -> object:
        return self._objects[pid]


class _UnpackedFacts(list[Fact]):
    """Facts that were stored as bytes. Unlike a list, it can be referred to weakly."""

    __slots__ = ("__weakref__",)


class _Packed:
    """Facts as bytes, and the objects that they refer to. Readers share the facts while any of them keeps them."""

    __slots__ = ("_bytes", "_objects", "_unpacked")

    def __init__(self, facts: list[Fact]) -> None:
        file = BytesIO()
        sites = [fact[1] if len(fact) == 2 else getattr(fact[-1], "site", None) for fact in facts]
        packer = _Packer(file, [*{id(site): site for site in sites if site is not None}.values()])
        packer.dump(facts)
        self._bytes, self._objects = zlib.compress(file.getvalue(), 1), tuple(packer.objects)
        self._unpacked: ref[_UnpackedFacts] | None = None

    def facts(self) -> list[Fact]:
        facts = None if self._unpacked is None else self._unpacked()
        if facts is None:
            facts = _UnpackedFacts(_Unpacker(BytesIO(zlib.decompress(self._bytes)), self._objects).load())
            self._unpacked = ref(facts)
        return facts
