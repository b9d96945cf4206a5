"""In which ways does an object lead to others?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any

import numpy as np

from nbtf.notebook.holders import attributes, frames
from nbtf.notebook.holders.introspection import (
    class_dict,
    class_name,
    is_plain,
    items_of,
    kind_of,
    module_of,
)
from nbtf.notebook.holders.reference import ITEM, Way, key_text

_LONG = 100_000
"""Entries of a container that are told apart, at most."""


def ways(thing: Any, role: str, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields what an object refers to, and how.

    Args:
      thing: the object.
      role: what it is to the one that led to it, from its `Way`.
      names: goes with the role.
    """
    if role in _ROLES:
        yield from _ROLES[role](thing, names)
        return
    kind = kind_of(thing)
    if _is_long(thing):
        return
    if class_name(kind) == "Reference" and module_of(kind) == "nbtf._runtime.tensor":
        yield thing.deref(), Way(".deref()", ".deref()")
        return
    for known, look in _KINDS:
        if issubclass(kind, known):
            yield from look(thing)
            break
    if not issubclass(kind, FrameType | CellType | TracebackType | type):
        yield from attributes.attributes(thing)


# Containers


def _of_dict(thing: dict[Any, Any]) -> Iterator[tuple[object, Way]]:
    readable, changeable = is_plain(kind_of(thing), "__getitem__"), is_plain(kind_of(thing), "__delitem__")
    for key, value in items_of(thing):
        text, is_code = key_text(key)
        code = f"[{text}]" if is_code and readable else None
        yield value, Way(f"[{text}]", code, "del" if changeable else "")
        yield key, Way(".<key>")


def _of_list(thing: Any) -> Iterator[tuple[object, Way]]:
    kind = kind_of(thing)
    base, is_tuple = base_of(kind), issubclass(kind, tuple)
    readable = is_plain(kind, "__getitem__")
    # Not `del`: the entries behind would move, and the next line would free another one.
    removal = "None" if not is_tuple and is_plain(kind, "__setitem__") else ""
    fields: Any = class_dict(kind).get("_fields") if is_tuple else None
    for index, value in enumerate(list(base.__iter__(thing))):
        if kind_of(fields) is tuple and index < len(fields) and type(fields[index]) is str:
            yield value, Way(f".{fields[index]}", f"[{index}]" if readable else None)
        else:
            yield value, Way(f"[{index}]", f"[{index}]" if readable else None, removal, ITEM)


def base_of(kind: type[Any]) -> Any:
    """Returns Python's own container that a class is; None for others."""
    return next((one for one in (dict, list, deque, tuple, set, frozenset) if issubclass(kind, one)), None)


def _is_long(thing: Any) -> bool:
    base = base_of(kind_of(thing))
    return base is not None and int(base.__len__(thing)) > _LONG


def _of_set(thing: Any) -> Iterator[tuple[object, Way]]:
    for value in list(base_of(kind_of(thing)).__iter__(thing)):
        yield value, Way(".<member>", pattern=".<member>")


def _of_array(thing: Any) -> Iterator[tuple[object, Way]]:
    if type(thing) is np.ndarray and thing.dtype == object:
        for index, value in np.ndenumerate(thing):
            text = f"[{', '.join(map(str, index))}]"
            yield value, Way(text, text, "None", ITEM)


_ROLES: dict[str, Any] = {
    "attributes": attributes.as_attributes,
    "layers": attributes.layers,
    "runner": attributes.runner,
    "nodes": attributes.nodes,
    "closure": frames.closure,
    "defaults": frames.defaults,
    "keyword defaults": frames.keyword_defaults,
    "locals": frames.as_locals,
}

_KINDS: tuple[tuple[Any, Any], ...] = (
    (dict, _of_dict),
    ((list, tuple, deque), _of_list),
    ((set, frozenset), _of_set),
    (np.ndarray, _of_array),
    (FunctionType, frames.of_function),
    (CellType, frames.of_cell),
    (MethodType, frames.of_method),
    (partial, frames.of_partial),
    ((GeneratorType, CoroutineType, AsyncGeneratorType), frames.of_generator),
    (FrameType, frames.of_frame),
    (TracebackType, frames.of_traceback),
    (BaseException, frames.of_error),
    (ModuleType, attributes.of_module),
    (type, attributes.of_class),
)


def others(thing: Any) -> Way | None:
    """Returns the way to what an object of a kind not known here refers to; None where all ways are known."""
    kind = kind_of(thing)
    if issubclass(kind, _KNOWN):
        return None
    if _is_long(thing):
        return Way(ITEM)
    if class_name(kind) == "_lru_cache_wrapper" and module_of(kind) == "functools":
        return Way(".<cache>", removal="clear")
    return Way(f".<inside {class_name(kind)}>")


_KNOWN = (FunctionType, FrameType, TracebackType, BaseException, GeneratorType, CoroutineType, AsyncGeneratorType)
