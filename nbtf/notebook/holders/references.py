"""All the ways in which an object refers to others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache, partial
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
    is_sequence,
    items_of,
    kind_of,
    module_of,
)
from nbtf.notebook.holders.reference import ITEM, Reference, key_text

_LONG = 100_000
"""Maximum number of a container's entries that are told apart."""


def references_of(obj: Any, role: str, names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the objects to which an object refers, each with its reference.

    Args:
      obj: the object.
      role: role of the object for the one that led to it, from its `Reference`.
      names: names that belong to the role.
    """
    if role in _ROLES:
        yield from _ROLES[role](obj, names)
        return
    cls = kind_of(obj)
    if _is_long(obj):
        return
    if class_name(cls) == "Reference" and module_of(cls) == "nbtf._runtime.tensor":
        yield obj.deref(), Reference(".deref()", ".deref()")
        return
    for classes, look in _KINDS:
        if issubclass(cls, classes):
            yield from look(obj)
            break
    if not issubclass(cls, FrameType | CellType | TracebackType | type):
        yield from attributes.attributes(obj)


# Containers


def _of_dict(obj: dict[Any, Any]) -> Iterator[tuple[object, Reference]]:
    readable, changeable = is_plain(kind_of(obj), "__getitem__"), is_plain(kind_of(obj), "__delitem__")
    for key, value in items_of(obj):
        text, is_code = key_text(key)
        code = f"[{text}]" if is_code and readable else None
        yield value, Reference(f"[{text}]", code, "del" if changeable else "")
        yield key, Reference(".<key>")


def _of_list(obj: Any) -> Iterator[tuple[object, Reference]]:
    cls = kind_of(obj)
    base, is_tuple = base_of(cls), issubclass(cls, tuple)
    readable = is_plain(cls, "__getitem__")
    # Not `del`: the entries behind would move, and the next line would free the wrong one.
    removal = "None" if not is_tuple and is_plain(cls, "__setitem__") else ""
    fields: Any = class_dict(cls).get("_fields") if is_tuple else None
    for index, value in enumerate(list(base.__iter__(obj))):
        if kind_of(fields) is tuple and index < len(fields) and type(fields[index]) is str:
            yield value, Reference(f".{fields[index]}", f"[{index}]" if readable else None)
        else:
            yield value, Reference(f"[{index}]", f"[{index}]" if readable else None, removal, ITEM)


def base_of(cls: type[Any]) -> Any:
    """Returns the built-in container from which a class derives; None for other classes."""
    return next((base for base in (dict, list, deque, tuple, set, frozenset) if issubclass(cls, base)), None)


def _is_long(obj: Any) -> bool:
    base = base_of(kind_of(obj))
    return base is not None and int(base.__len__(obj)) > _LONG


def is_short(obj: Any) -> bool:
    """Returns whether an object is a list or a tuple short enough to search entry by entry."""
    return is_sequence(obj) and len(obj) <= _SHORT


def entry_of(obj: Any, value: object) -> Reference | None:
    """Returns how a list or tuple refers to an entry; None if it does so more than once."""
    indices = [index for index, entry in enumerate(obj) if entry is value]
    return _entry(indices[0], type(obj) is tuple) if len(indices) == 1 else None


@cache
def _entry(index: int, is_tuple: bool) -> Reference:
    return Reference(f"[{index}]", f"[{index}]", "" if is_tuple else "None", ITEM)


_SHORT = 16
"""Number of entries up to which a list is searched directly, without building a table."""


def _of_set(obj: Any) -> Iterator[tuple[object, Reference]]:
    for value in list(base_of(kind_of(obj)).__iter__(obj)):
        yield value, Reference(".<member>", pattern=".<member>")


def _of_array(obj: Any) -> Iterator[tuple[object, Reference]]:
    if type(obj) is np.ndarray and obj.dtype == object:
        for index, value in np.ndenumerate(obj):
            text = f"[{', '.join(map(str, index))}]"
            yield value, Reference(text, text, "None", ITEM)


_ROLES: dict[str, Any] = {
    "attributes": attributes.as_attributes,
    "layers": attributes.layers,
    "compiled": attributes.compiled,
    "copies": attributes.copies,
    "slots": attributes.slots,
    "slots of a weight": attributes.slots_of_weight,
    "runner": attributes.runner,
    "nodes": attributes.nodes,
    "closure": partial(frames.entries, "closure"),
    "defaults": partial(frames.entries, "default"),
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


def other_reference(obj: Any) -> Reference | None:
    """Returns the reference to use for objects of an unknown kind; None if all their references are known."""
    cls = kind_of(obj)
    if issubclass(cls, _KNOWN):
        return None
    if _is_long(obj):
        return Reference(ITEM)
    if class_name(cls) == "_lru_cache_wrapper" and module_of(cls) == "functools":
        return Reference(".<cache>", removal="clear")
    return Reference(f".<inside {class_name(cls)}>")


_KNOWN = (FunctionType, FrameType, TracebackType, BaseException, GeneratorType, CoroutineType, AsyncGeneratorType)
