"""How is the table of a recording written as columns of numbers, and read again? Facts are described once each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.base import Label
from nbtf._devices.sites import CallSite
from nbtf._record.blocks import in_blocks
from nbtf._record.descriptions import (
    LABEL,
    PLACE,
    read_label,
    read_place,
    read_subject,
    write_label,
    write_place,
    write_subject,
)
from nbtf._record.recorded import RecordedRegion
from nbtf._record.rows import NOW, SUBJECT
from nbtf._record.table import ENTRIES, ROWS, Block
from nbtf._storage.documents import Schema

Columns = dict[str, Any]
"""Arrays of one axis, by name."""

SCHEMA: Schema = {"subjects": [[object]], "places": [PLACE], "labels": [LABEL]}
"""The form of the facts' descriptions."""

_ROW_FACT = "subject", "place"
_ENTRY_FACT = "subject", "pool", "region", "region_size", "charged", "requested", "label"
_NONE = -1
"""The region of a refused request, and the label of memory without one."""


class _Descriptions:
    """Distinct values in the order in which they first occur, as plain data."""

    def __init__(self) -> None:
        self.listed: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number_of(self, content: Any) -> int:
        """Returns the index of a description."""
        number = self._numbers.setdefault(json.dumps(content), len(self.listed))
        if number == len(self.listed):
            self.listed.append(content)
        return number


class _FactTable:
    """Facts of all blocks, in columns of indices and sizes."""

    def __init__(self) -> None:
        self.subjects, self.call_sites, self.labels = _Descriptions(), _Descriptions(), _Descriptions()
        self.rows: dict[tuple[int, ...], int] = {}
        self.entries: dict[tuple[int, ...], int] = {}
        self._numbers_of_places: dict[int, tuple[CallSite, int]] = {}

    def take(self, facts: Sequence[Any]) -> tuple[Any, Any]:
        """Adds the facts of a block; returns the number of each, and the address of its region."""
        numbers, addresses, subjects = [0] * len(facts), [0] * len(facts), dict[int, int]()
        for at, fact in enumerate(facts):
            subject = fact[SUBJECT]
            number = subjects.get(id(subject))  # facts of a block live as long as this call
            if number is None:
                number = subjects[id(subject)] = self.subjects.number_of(write_subject(subject))
            if not subject.is_entry:
                key = number, self._number_of_place(fact[1])
                numbers[at] = self.rows.setdefault(key, len(self.rows))
                continue
            _, pool, region, charged, requested, label = fact
            if region is not None:
                addresses[at] = region.address
            of_region = (_NONE, 0) if region is None else (region.number, region.size)
            key = tuple(map(int, (number, pool, *of_region, charged, requested, self._label(label))))
            numbers[at] = self.entries.setdefault(key, len(self.entries))
        return np.array(numbers, np.int64), np.array(addresses, np.int64)

    def _number_of_place(self, call_site: CallSite) -> int:
        entry = self._numbers_of_places.get(id(call_site))
        if entry is None or entry[0] is not call_site:
            entry = self._numbers_of_places[id(call_site)] = (
                call_site,
                self.call_sites.number_of(write_place(call_site)),
            )
        return entry[1]

    def _label(self, label: Any) -> int:
        if not isinstance(label, Label):
            # A device that reports only how much is in use has a place instead.
            is_place = label.__class__ is tuple and len(label) == 3
            return -2 - self._number_of_place(label) if is_place else _NONE
        site: Any = label.site
        if site is not None and len(site) == 2:
            of_label: int | None = self.call_sites.number_of([*site, *[None, None, "", "", "temporary"]])
        else:
            of_label = None if site is None else self._number_of_place(site)
        return self.labels.number_of(write_label(label, of_label))


def written(blocks: Sequence[Block]) -> tuple[Columns, dict[str, Any]]:
    """Returns the blocks as columns, and the facts' descriptions."""
    facts, rows, entries, times = _FactTable(), [np.empty(0, ROWS)], [np.empty(0, ENTRIES)], [np.empty(0)]
    messages: dict[int, Sequence[int]] = {}
    for block in blocks:
        numbers, addresses = facts.take(block.facts)
        of_rows, of_entries = block.rows.copy(), block.entries.copy()
        if len(of_entries):
            times.append(block.rows["time"][block.rows["number"].searchsorted(of_entries["number"])])
            of_entries["address"] -= addresses[of_entries["fact"]]
            of_entries["fact"] = numbers[of_entries["fact"]]
        of_rows["fact"] = numbers[of_rows["fact"]]
        rows.append(of_rows)
        entries.append(of_entries)
        messages |= block.messages
    table, pieces, moments = np.concatenate(rows), np.concatenate(entries), np.concatenate(times)
    table = table[table["number"].argsort(kind="stable")]
    order = pieces["number"].argsort(kind="stable")
    pieces, moments = pieces[order], moments[order]
    table = _with_marks(table, pieces, moments, facts)
    columns = _packed_columns("rows", table, ("fact", "number"))
    columns["rows.gap"] = _small(table["number"] - table["first"])
    columns |= {f"rows.{name}": table[name] for name in ("time", "began", "seconds")}
    columns |= _packed_columns("entries", pieces, ("fact", "number", "in_use", "address"))
    for name, names, keys in (("row", _ROW_FACT, facts.rows), ("entry", _ENTRY_FACT, facts.entries)):
        figures = np.array([*keys], np.int64).reshape(-1, len(names)).T
        columns |= {f"{name}_facts.{field}": _small(values) for field, values in zip(names, figures, strict=True)}
    columns["messages.row"] = np.array([*messages], np.int64)
    columns["messages.count"] = np.array([len(each) for each in messages.values()], np.int64)
    columns["messages.number"] = np.array([number for each in messages.values() for number in each], np.int64)
    described = facts.subjects.listed, facts.call_sites.listed, facts.labels.listed
    return columns, dict(zip(SCHEMA, described, strict=True))


def _with_marks(table: Any, pieces: Any, moments: Any, facts: _FactTable) -> Any:
    """Adds a mark before each row that would give a memory entry a time different from that in its own block."""
    following = np.concatenate([table["time"], [np.nan]])[table["number"].searchsorted(pieces["number"])]
    differs = following != moments
    if not differs.any():
        return table
    marks = np.zeros(int(differs.sum()), ROWS)
    key = (
        facts.subjects.number_of(write_subject(NOW)),
        facts.call_sites.number_of([None, 0, None, None, "", "", "temporary"]),
    )
    marks["fact"], marks["seconds"] = facts.rows.setdefault(key, len(facts.rows)), np.nan
    marks["number"] = marks["first"] = pieces["number"][differs]
    marks["time"] = moments[differs]
    table = np.concatenate([table, marks])
    return table[table["number"].argsort(kind="stable")]


def _packed_columns(name: str, table: Any, fields: Sequence[str]) -> Columns:
    """Returns columns of integers; numbers of events as differences, because these are small."""
    columns: Columns = {}
    for field in fields:
        values = table[field].astype(np.int64)
        columns[f"{name}.{field}"] = _small(np.diff(values, prepend=0) if field == "number" else values)
    return columns


def _small(values: Any) -> Any:
    """Returns integers in the smallest type that holds them all."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return values.astype(np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)))


# Reading


class _Facts(NamedTuple):
    """Facts of rows and of entries, by index."""

    rows: list[Any]
    entries: list[Any]


def read(columns: Mapping[str, Any], described: Mapping[str, Any], source: object) -> tuple[Block, ...]:
    """Returns the blocks that columns and descriptions contain.

    Raises:
      ValueError: if the columns do not fit each other.
      RefusedFileError: if a description is not of the required form.
    """
    facts = _read_facts(columns, described, source)
    rows = _table(columns, "rows", ROWS, ("fact", "number", "time", "began", "seconds"))
    rows["first"] = rows["number"] - _integers(columns, "rows.gap", len(rows))
    entries = _table(columns, "entries", ENTRIES, ("fact", "number", "in_use", "address"))
    rows, entries = (table[table["number"].argsort(kind="stable")] for table in (rows, entries))
    if rows["fact"].max(initial=0) >= max(1, len(facts.rows)) or (len(rows) and not facts.rows):
        raise ValueError("a row refers to a fact that the file does not contain.")
    if entries["fact"].max(initial=0) >= max(1, len(facts.entries)) or (len(entries) and not facts.entries):
        raise ValueError("memory refers to a fact that the file does not contain.")
    if len(entries) and (not len(rows) or entries["number"][-1] > rows["number"][-1]):
        raise ValueError("memory changes after the last row, so that its time is unentry.")
    if not np.isfinite([rows["time"].sum(), np.where(np.isnan(rows["began"]), 0.0, rows["began"]).sum()]).all():
        raise ValueError("a time is not a number.")
    messages = _messages(columns)
    has_messages = np.array([getattr(fact[SUBJECT], "offsets", None) is not None for fact in facts.rows], bool)
    if len(rows):
        for row in np.flatnonzero(has_messages[rows["fact"]]).tolist():
            subject = facts.rows[int(rows["fact"][row])][SUBJECT]
            if len(messages.get(int(rows["number"][row]), ())) != len(subject.offsets):
                raise ValueError("an all-reduce does not have the number of its messages.")
    return tuple(in_blocks(rows, entries, facts.rows, facts.entries, messages))


def _read_facts(columns: Mapping[str, Any], described: Mapping[str, Any], source: object) -> _Facts:
    subjects = [read_subject(content, source) for content in described["subjects"]]
    call_sites = [read_place(fields) for fields in described["places"]]
    labels = [read_label(fields, call_sites) for fields in described["labels"]]
    keys = [f"row_facts.{name}" for name in _ROW_FACT], [f"entry_facts.{name}" for name in _ENTRY_FACT]
    lengths = [len(columns[names[0]]) for names in keys]
    of_rows, of_entries = (
        list(zip(*[_integers(columns, name, length).tolist() for name in names], strict=True))
        for names, length in zip(keys, lengths, strict=True)
    )
    rows: list[Any] = []
    for subject, position in of_rows:
        if subject < 0 or position < 0 or subjects[subject].is_entry:
            raise ValueError("a row does not refer to an op, a copy or an event.")
        rows.append((subjects[subject], call_sites[position]))
    regions: dict[tuple[int, int], RecordedRegion | None] = {}
    entries: list[Any] = []
    for subject, pool, region, region_size, charged, requested, label in of_entries:
        if subject < 0 or not subjects[subject].is_entry or label < -1 - len(call_sites):
            raise ValueError("a memory entry does not refer to a piece of memory.")
        if (region, region_size) not in regions:
            is_none = (region, region_size) == (_NONE, 0)
            regions[region, region_size] = None if is_none else RecordedRegion(region, region_size)
        purposes: Any = labels if label >= 0 else call_sites
        purpose: Any = None if label == _NONE else purposes[label if label >= 0 else -2 - label]
        is_own = getattr(subjects[subject], "memory", subject) is None
        if is_own != (label < _NONE):
            raise ValueError("a memory entry has the label of another one.")
        entries.append((subjects[subject], pool, regions[region, region_size], charged, requested, purpose))
    return _Facts(rows, entries)


def _messages(columns: Mapping[str, Any]) -> dict[int, tuple[int, ...]]:
    counts = _integers(columns, "messages.count", len(columns["messages.row"])).tolist()
    numbers = _integers(columns, "messages.number", sum(counts)).tolist()
    ends = np.cumsum(counts).tolist()
    if any(count < 0 for count in counts):
        raise ValueError("an all-reduce has a negative number of messages.")
    rows = _integers(columns, "messages.row", len(counts)).tolist()
    return {row: tuple(numbers[end - count : end]) for row, count, end in zip(rows, counts, ends, strict=True)}


def _table(columns: Mapping[str, Any], name: str, dtype: Any, fields: Sequence[str]) -> Any:
    table: Any = np.zeros(len(columns[f"{name}.fact"]), dtype)
    for field in fields:
        column = f"{name}.{field}"
        is_real = dtype[field].kind == "f"
        values = _real(columns, column, len(table)) if is_real else _integers(columns, column, len(table))
        if field == "fact" and len(values) and values.min() < 0:
            raise ValueError("a row refers to a fact with a negative number.")
        table[field] = np.cumsum(values) if field == "number" else values
    return table


def _integers(columns: Mapping[str, Any], name: str, length: int) -> Any:
    return _column(columns, name, length, "iu").astype(np.int64)


def _real(columns: Mapping[str, Any], name: str, length: int) -> Any:
    return _column(columns, name, length, "f").astype(np.float64)


def _column(columns: Mapping[str, Any], name: str, length: int, letters: str) -> Any:
    values = columns[name]
    if values.shape != (length,) or values.dtype.kind not in letters:
        raise ValueError(f"the column {name} has the type {values.dtype} and the shape {values.shape}.")
    return values
