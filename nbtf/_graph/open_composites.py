"""Lets branches and loops carry values that consist of several tensors, each as a tuple of its own class.

The functions on nested structures then take such values apart and assemble them like any tuple. Two values have the
same structure if they share a class and, for example, the number of replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

from nbtf._graph.signature import packed, parts_of
from nbtf._ops.arrays.tensor_array import TensorArray
from nbtf._ops.structure import is_nested


class Parts(tuple[Any, ...]):
    """The parts of a composite; each kind of composite has a subclass."""

    build: Any
    keys: tuple[Any, ...]


@lru_cache(maxsize=1024)
def _class_of(build: Any, keys: tuple[Any, ...]) -> type[Parts]:
    return type(build.__name__, (Parts,), {"__slots__": (), "build": build, "keys": keys})


def opened(structure: Any) -> Any:
    """Returns a structure with `Parts` in place of its composites; the structure itself if it has none."""
    return _replaced(structure, _is_composite, _open)


def closed(structure: Any) -> Any:
    """Returns a structure with the composites that `opened` took apart."""
    return _replaced(structure, lambda value: isinstance(value, Parts), _close)


def _is_composite(value: Any) -> bool:
    """Returns whether a value is a composite to open; a `TensorArray` is not, since loops refine its shape."""
    return not is_nested(value) and not isinstance(value, TensorArray) and parts_of(value) is not None


def _open(value: Any) -> Any:
    build, keys, items = parts_of(value) or (None, (), ())
    return _class_of(build, keys)([opened(item) for item in items])


def _close(composite: Any) -> Any:
    return packed(composite.build, composite.keys, [closed(item) for item in composite])


def _replaced(structure: Any, test: Callable[[Any], bool], replace: Callable[[Any], Any]) -> Any:
    if test(structure):
        return replace(structure)
    if not isinstance(structure, list | tuple | Mapping):
        return structure
    build, keys, items = parts_of(structure) or (None, (), ())
    replacements = [_replaced(item, test, replace) for item in items]
    if all([new is item for new, item in zip(replacements, items, strict=True)]):
        return cast("Any", structure)
    return packed(build, keys, replacements)
