"""Compact columns that store a million notes in 40 MB, each in the form that uses the least memory."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from math import isnan, nan
from typing import Any, Protocol, TypeAlias

import numpy as np


class Column(Protocol):
    """Values in order."""

    def __getitem__(self, span: slice, /) -> Iterable[Any]:
        """Returns the values of a slice."""
        ...


class _Same:
    """A single value shared by all rows."""

    __slots__ = ("_length", "_value")

    def __init__(self, values: list[Any]) -> None:
        self._value, self._length = values[0], len(values)

    def __getitem__(self, span: slice) -> Iterable[Any]:
        return repeat(self._value, len(range(self._length)[span]))


class Integers:
    """Integers, stored as differences from the smallest, in as few bytes as the largest difference needs."""

    __slots__ = ("differences", "least")

    def __init__(self, values: Sequence[int]) -> None:
        """Stores at least one integer."""
        numbers = np.frombuffer(array("q", values), np.int64)
        self.least = int(numbers.min())
        numbers = numbers - self.least
        self.differences = numbers.astype(np.min_scalar_type(int(numbers.max())))

    def __getitem__(self, span: slice) -> list[int]:
        """Returns the integers of a slice."""
        return (self.differences[span].astype(np.int64) + self.least).tolist()


class _Seconds:
    """Measured times; None where nothing was measured."""

    __slots__ = ("_seconds",)

    def __init__(self, values: Sequence[float | None]) -> None:
        self._seconds = array("d", [nan if value is None else value for value in values])

    def __getitem__(self, span: slice) -> list[float | None]:
        return [None if isnan(value) else value for value in self._seconds[span]]


class _Shared:
    """Values that mostly repeat, stored as indices into a table of distinct values."""

    __slots__ = ("_positions", "_table")

    def __init__(self, values: Sequence[Hashable]) -> None:
        order = dict.fromkeys(values)
        self._table = tuple(order)
        order = dict(zip(order, range(len(order)), strict=True))
        typecode = "B" if len(order) <= 1 << 8 else "H" if len(order) <= 1 << 16 else "I"
        self._positions = array(typecode, map(order.__getitem__, values))

    def __getitem__(self, span: slice) -> Iterable[Any]:
        return map(self._table.__getitem__, self._positions[span])


class _Beside:
    """Numbers of constants and allocations, or None; relative to the op's own number they have few distinct values."""

    __slots__ = ("_numbers", "_shifted")

    def __init__(self, values: Sequence[Any], numbers: Sequence[int]) -> None:
        self._shifted = _Shared(list(map(_shifted, values, [-number for number in numbers])))
        self._numbers = Integers(numbers)

    def __getitem__(self, span: slice) -> Iterable[Any]:
        return map(_shifted, self._shifted[span], self._numbers[span])


def _shifted(side_numbers: Any, by: int) -> Any:
    return side_numbers and tuple([numbers and tuple([number + by for number in numbers]) for numbers in side_numbers])


class _Apart:
    """Objects that mostly occur once, stored as their shared part plus the bytes of their own part."""

    __slots__ = ("_positions", "_put_together", "_rests", "_shared", "_shared_by")

    def __init__(self, values: list[Any], take_apart: TakeApart, put_together: PutTogether) -> None:
        distinct = {id(value): value for value in values}
        keys, shared, rests = zip(*map(take_apart, distinct.values()), strict=True)
        order = dict.fromkeys(keys)
        self._shared = [*dict(zip(keys, shared, strict=True)).values()]
        numbers = dict(zip(order, range(len(order)), strict=True))
        self._shared_by, self._rests = Integers([numbers[key] for key in keys]), marshal.dumps(rests)
        positions = dict(zip(distinct, range(len(distinct)), strict=True))
        self._positions, self._put_together = Integers([positions[id(value)] for value in values]), put_together

    def __getitem__(self, span: slice) -> list[Any]:
        everything = slice(None)
        shared = map(self._shared.__getitem__, self._shared_by[everything])
        values = [*map(self._put_together, shared, marshal.loads(self._rests))]
        return [values[position] for position in self._positions[span]]


TakeApart: TypeAlias = Callable[[Any], tuple[Hashable, Any, Any]]
"""Returns a key of an object's shared part, that part, and its own part: numbers and tuples of numbers."""
PutTogether: TypeAlias = Callable[[Any, Any], Any]

_LOOKS, _VARIED = 64, 8
"""How many values are sampled, and how often each must occur on average for them to count as repeating."""


def varied_objects(take_apart: TakeApart, put_together: PutTogether, values: list[Any]) -> Column:
    """Returns a column of objects; if most occur only once, it stores their parts rather than the objects."""
    sample_ids = set(map(id, values[:: 1 + len(values) // _LOOKS]))
    if len(sample_ids) <= _LOOKS // _VARIED or len(set(map(id, values))) * _VARIED <= len(values):
        return objects(values)
    try:
        return _Apart(values, take_apart, put_together)
    except ValueError:  # the own part contains more than numbers
        return values


def objects(values: list[Any]) -> Column:
    """Returns a column of objects, which it keeps alive."""
    first = values[0]
    return _Same(values) if values[-1] is first and values.count(first) == len(values) else values


def times(values: list[float]) -> Column:
    """Returns a column of times."""
    return array("d", values)


def seconds(values: list[float | None]) -> Column:
    """Returns a column of times that may be None."""
    return _unless_empty(values, _Seconds)


def shared(values: list[Any]) -> Column:
    """Returns a column of values that may be None and often repeat."""
    return _unless_empty(values, _Shared)


def numbers_beside(values: Any, numbers: Any) -> Column:
    """Returns a column for the numbers of constants and allocations, relative to the ops' own numbers."""
    return _Same(values) if is_empty(values) else _Beside(values, numbers)


def _unless_empty(values: list[Any], column: Callable[[list[Any]], Column]) -> Column:
    return _Same(values) if is_empty(values) else column(values)


def is_empty(values: list[Any]) -> bool:
    """Returns whether all values are None, as in most columns of optional values."""
    return values.count(None) == len(values)
