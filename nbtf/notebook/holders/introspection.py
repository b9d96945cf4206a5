"""What is inside an object? Told without running any of its code: no property, no `__getattr__`, no `__repr__`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from types import (
    FrameType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

_CLASS_DICT, _CLASS_NAME, _MRO = (type.__dict__[name].__get__ for name in ("__dict__", "__name__", "__mro__"))
_GET: Any = vars(dict)["get"]
_MODULE_DICT: Any = vars(ModuleType)["__dict__"].__get__


def kind_of(thing: object) -> type[Any]:
    """Returns the class of an object, whatever its `__class__` says."""
    return type(thing)


def is_sequence(thing: object) -> bool:
    """Says whether an object is a list or a tuple, and not of a class of its own."""
    return type(thing) is list or type(thing) is tuple


def items_of(thing: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a dictionary, whatever its class says."""
    return list(dict.items(thing))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def names_in(module: ModuleType) -> dict[str, Any]:
    """Returns the names of a module, whatever its class says."""
    return _MODULE_DICT(module)


def class_dict(kind: type) -> Mapping[str, Any]:
    """Returns the names of a class, whatever its metaclass says."""
    return _CLASS_DICT(kind)


def class_name(kind: type) -> str:
    """Returns the name of a class, whatever its metaclass says."""
    return _CLASS_NAME(kind)


def mro_of(kind: type) -> tuple[type, ...]:
    """Returns a class and all that it is made of."""
    return _MRO(kind)


def is_made_of_nbtf(kind: type) -> bool:
    """Says whether a class is one of nbtf's, or made of one."""
    return any(module_of(one).startswith("nbtf.") for one in _MRO(kind))


def module_of(kind: type) -> str:
    """Returns the name of the module of a class."""
    name = class_dict(kind).get("__module__")
    if type(name) is str:
        return name
    return "" if kind.__flags__ & _HEAP_TYPE else "builtins"


_HEAP_TYPE = 1 << 9
"""Set for classes written in Python. Source: Py_TPFLAGS_HEAPTYPE, object.h."""


def defined(kind: type, name: str) -> Any:
    """Returns what the nearest class defines under a name; None where none does."""
    for one in _MRO(kind):
        names = class_dict(one)
        if name in names:
            return names[name]
    return None


def is_plain(kind: type, *methods: str) -> bool:
    """Says whether methods are those of Python's own types, not a user's."""
    return all(any(type(defined(kind, name)) is one for one in _PLAIN) for name in methods)


_PLAIN = (WrapperDescriptorType, MethodDescriptorType, type(None))
"""What methods written in C are: of most a wrapper, of `dict.__getitem__` and `list.__getitem__` a method."""


def attributes_of(thing: Any) -> Any:
    """Returns the dictionary of an object's attributes; None where it has none."""
    for one in _MRO(type(thing)):
        found: Any = class_dict(one).get("__dict__")
        if type(found) is GetSetDescriptorType or type(found) is MemberDescriptorType:
            names: Any = found.__get__(thing)
            return names if issubclass(type(names), dict) else None
    return None


def slots_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yields the attributes of an object that stand in `__slots__`."""
    for one in _MRO(type(thing)):
        names = class_dict(one)
        for name, found in names.items() if "__slots__" in names else ():
            if type(found) is MemberDescriptorType:
                try:
                    yield name, found.__get__(thing)
                except AttributeError:  # nothing was put there
                    continue


def locals_of(frame: FrameType) -> dict[str, Any]:
    """Returns the local variables of a function's frame; nothing for the frames of modules and classes.

    Up to Python 3.12 asking makes a dictionary that stays with the frame and keeps everything in it alive: it is
    emptied, unless somebody else has it or has put something there. Python fills it again when it is asked for.
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return {}
    seen: Any = frame.f_locals
    if type(seen) is not dict:
        return dict(seen.items()) if sys.version_info >= (3, 13) else {}
    found: dict[str, Any] = dict(items_of(seen))
    # Beside the frame, this function has a reference to it, and the question itself another.
    if sys.getrefcount(seen) <= 3 and found.keys() <= {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
        seen.clear()
    return found


def running_frames() -> list[FrameType]:
    """Returns the frames that run now, in all threads, but for nbtf's: one of them would have itself among these."""
    found: list[FrameType] = []
    for frame in list(sys._current_frames().values()):
        one: FrameType | None = frame
        while one is not None:
            if not is_ours(one):
                found.append(one)
            one = one.f_back
        del frame  # it may be this one, and a frame that has itself lives until the collector comes by
    return found


def is_ours(frame: FrameType) -> bool:
    """Says whether a frame is one of nbtf's functions."""
    module = _GET(frame.f_globals, "__name__")
    return type(module) is str and module.partition(".")[0] == "nbtf"
