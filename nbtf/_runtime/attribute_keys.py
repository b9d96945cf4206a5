"""Hashable keys that distinguish calls of an op by their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._types import DType

_PLAIN: frozenset[type] = frozenset({bool, int, str, type(None), DType})


def key_of(attrs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Returns attributes with their names and classes, because 1 equals True; None if an attribute is not plain.

    Plain values are numbers, strings, dtypes and lists of integers. Zeros are compared as text, because 0.0 equals
    -0.0.
    """
    values = (*attrs.values(),)
    for value in values:
        if value.__class__ not in _PLAIN:
            break
    else:
        return *attrs, *values, *map(type, values)
    key: list[Any] = [*attrs]
    for value in values:
        value_class = value.__class__
        if value_class is list or value_class is tuple:
            for item in value:
                if item.__class__ is not int:
                    return None
            value = tuple(value)
        elif value_class is float:
            value = value or str(value)
        elif value_class not in _PLAIN:
            return None
        key += value_class, value
    return tuple(key)
