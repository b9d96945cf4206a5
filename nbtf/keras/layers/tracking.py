"""Tracking of the weights, layers and metrics in a layer's attributes, even within lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from nbtf._ops.trackable import restore_parts
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf.keras.type_guards import is_dict, is_list
from nbtf.keras.variables import Variable


class Changes:
    """Counts additions and removals in layers, so that cached collections can be checked for staleness."""

    count = 0


def changed() -> None:
    """Records that something was added to or removed from a layer."""
    Changes.count += 1


class Belonging:
    """Base class of objects that a layer tracks in its attributes: other layers."""

    __slots__ = ()


class Owned(NamedTuple):
    """The objects that a layer owns, in the order in which they were added."""

    variables: list[Any]
    layers: list[Any]
    metrics: list[Any]


def _telling(name: str, of: type) -> Callable[..., Any]:
    original: Any = getattr(of, name)

    def call_and_tell(self: Any, *args: Any, **kwargs: Any) -> Any:
        changed()
        result = original(self, *args, **kwargs)
        if self._awaiting:
            restore_parts(self)
        return result

    call_and_tell.__name__, call_and_tell.__doc__ = name, original.__doc__
    return call_and_tell


class TrackedList(list[Any]):
    """A list in a layer's attribute that records changes."""

    _awaiting: tuple[Callable[[], None], ...] = ()

    __hash__ = None  # type: ignore[assignment]


class TrackedDict(dict[Any, Any]):
    """A dictionary in a layer's attribute that records changes."""

    _awaiting: tuple[Callable[[], None], ...] = ()

    __hash__ = None  # type: ignore[assignment]


for _name in (
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "clear",
    "reverse",
    "__setitem__",
    "__delitem__",
    "__iadd__",
):
    setattr(TrackedList, _name, _telling(_name, list))
for _name in ("update", "pop", "popitem", "clear", "setdefault", "__setitem__", "__delitem__", "__ior__"):
    setattr(TrackedDict, _name, _telling(_name, dict))


def tracked(value: Any) -> Any:
    """Returns the value to store in an attribute, and records the change if it contains tracked objects."""
    value_class = value.__class__
    if value_class is list:
        changed()
        return TrackedList(tracked(item) for item in value)
    if value_class is dict:
        changed()
        return TrackedDict((key, tracked(item)) for key, item in value.items())
    if belongs(value) or value_class is tuple:
        changed()
    return value


def belongs(value: Any) -> bool:
    """Returns whether a value is a weight, a layer or a metric, or a container that may hold some."""
    return isinstance(value, Belonging | Variable | TensorVariable | TrackedList | TrackedDict) or _is_metric(value)


def _is_metric(value: Any) -> bool:
    return hasattr(value.__class__, "update_state")


def owned(attributes: dict[str, Any], internal: frozenset[str]) -> Owned:
    """Returns the objects in attributes, without duplicates."""
    belongings = Owned([], [], [])
    ids: set[int] = set()
    for name, value in attributes.items():
        if name not in internal:
            _sort_out(value, belongings, ids)
    return belongings


def _sort_out(value: Any, belongings: Owned, ids: set[int]) -> None:
    if isinstance(value, str | int | float) or value is None or id(value) in ids:
        return
    if isinstance(value, TrackedList | TrackedDict) or is_list(value):
        ids.add(id(value))
        for item in _inside(value):
            _sort_out(item, belongings, ids)
    elif isinstance(value, Variable | TensorVariable):
        ids.add(id(value))
        belongings.variables.append(value)
    elif _is_metric(value):
        ids.add(id(value))
        belongings.metrics.append(value)
    elif isinstance(value, Belonging):
        ids.add(id(value))
        belongings.layers.append(value)


def _inside(value: Any) -> Iterator[Any]:
    yield from value.values() if is_dict(value) else value


def each_once(values: Iterator[Any]) -> list[Any]:
    """Returns values in order without duplicates; they need not be hashable."""
    ids: set[int] = set()
    return [value for value in values if not (id(value) in ids or ids.add(id(value)))]
