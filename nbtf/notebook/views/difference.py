"""The changes between two states of a view, so that a message does not repeat the whole state.

A difference is plain data, as states are: objects, lists, strings, numbers, Boolean values and null.

    []                       the value was removed
    [value]                  the value was replaced
    [first, last, rest]      a list: keep entries `first` up to but not including `last`, then append `rest`
    {"key": difference, ...} an object: changed keys; a list of the same length: changed indices, from "0"

`static/difference.js` applies differences. A list that grows, or loses its oldest rows, is sent as part of the old one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

Difference = list[Any] | dict[str, Any]


def difference(old: Any, new: Any) -> Difference:
    """Returns the changes; an empty object if there are none."""
    if _is_object(old) and _is_object(new):
        gone: dict[str, Difference] = {key: [] for key in old if key not in new}
        come: dict[str, Difference] = {key: [new[key]] for key in new if key not in old}
        return gone | come | _changes({key: (old[key], new[key]) for key in new if key in old})
    if _is_list(old) and _is_list(new):
        return _list_difference(old, new)
    return {} if _is_same(old, new) else [new]


def _list_difference(old: Sequence[Any], new: Sequence[Any]) -> Difference:
    first = next((at for at, entry in enumerate(old) if new and _is_same(entry, new[0])), len(old))
    common = _common(old[first:], new)
    if first == 0 and common == len(old) == len(new):
        return {}
    if len(old) != len(new) or (first > 0 and common):
        return [first, first + common, list(new[common:])]
    changes = _changes({str(at): pair for at, pair in enumerate(zip(old, new, strict=True))})
    is_row = not any([_is_list(entry) or _is_object(entry) for entry in new])
    # The changed indices would take more space.
    return [list(new)] if is_row and 2 * len(changes) > len(new) else changes


def _changes(pairs: Mapping[str, tuple[Any, Any]]) -> dict[str, Difference]:
    every = {key: difference(old, new) for key, (old, new) in pairs.items()}
    return {key: change for key, change in every.items() if change != {}}


def _common(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Returns the number of equal entries at the beginning of two lists."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, pair in pairs if not _is_same(*pair)), min(len(old), len(new)))


def _is_same(old: Any, new: Any) -> bool:
    """Returns whether two values are written alike; True differs from 1."""
    if old is new:
        return True
    if _is_list(old) and _is_list(new):
        return len(old) == len(new) and all(map(_is_same, old, new))
    if _is_object(old) and _is_object(new):
        return old.keys() == new.keys() and all([_is_same(old[key], new[key]) for key in old])
    return old == new and isinstance(old, bool) == isinstance(new, bool)


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)
