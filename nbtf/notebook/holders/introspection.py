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


def kind_of(obj: object) -> type[Any]:
    """Returns the class of an object, whatever its `__class__` says."""
    return type(obj)


def is_sequence(obj: object) -> bool:
    """Says whether an object is a list or a tuple, and not of a class of its own."""
    return type(obj) is list or type(obj) is tuple


def items_of(obj: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a dictionary, whatever its class says."""
    return list(dict.items(obj))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def names_in(module: ModuleType) -> dict[str, Any]:
    """Returns the names of a module, whatever its class says."""
    return _MODULE_DICT(module)


def class_dict(cls: type) -> Mapping[str, Any]:
    """Returns the names of a class, whatever its metaclass says."""
    return _CLASS_DICT(cls)


def class_name(cls: type) -> str:
    """Returns the name of a class, whatever its metaclass says."""
    return _CLASS_NAME(cls)


def mro_of(cls: type) -> tuple[type, ...]:
    """Returns a class and all that it is made of."""
    return _MRO(cls)


def is_made_of_nbtf(cls: type) -> bool:
    """Says whether a class is one of nbtf's, or made of one."""
    return any(module_of(base).startswith("nbtf.") for base in _MRO(cls))


def module_of(cls: type) -> str:
    """Returns the name of the module of a class."""
    name = class_dict(cls).get("__module__")
    if type(name) is str:
        return name
    return "" if cls.__flags__ & _HEAP_TYPE else "builtins"


_HEAP_TYPE = 1 << 9
"""Set for classes written in Python. Source: Py_TPFLAGS_HEAPTYPE, object.h."""


def defined(cls: type, name: str) -> Any:
    """Returns what the nearest class defines under a name; None where none does."""
    for base in _MRO(cls):
        names = class_dict(base)
        if name in names:
            return names[name]
    return None


def is_plain(cls: type, *methods: str) -> bool:
    """Says whether methods are those of Python's own types, not a user's."""
    return all(any(type(defined(cls, name)) is method_type for method_type in _PLAIN) for name in methods)


_PLAIN = (WrapperDescriptorType, MethodDescriptorType, type(None))
"""What methods written in C are: of most a wrapper, of `dict.__getitem__` and `list.__getitem__` a method."""


def attributes_of(obj: Any) -> Any:
    """Returns the dictionary of an object's attributes; None where it has none."""
    for base in _MRO(type(obj)):
        descriptor: Any = class_dict(base).get("__dict__")
        if type(descriptor) is GetSetDescriptorType or type(descriptor) is MemberDescriptorType:
            names: Any = descriptor.__get__(obj)
            return names if issubclass(type(names), dict) else None
    return None


def slots_of(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yields the attributes of an object that stand in `__slots__`."""
    for base in _MRO(type(obj)):
        names = class_dict(base)
        for name, slot in names.items() if "__slots__" in names else ():
            if type(slot) is MemberDescriptorType:
                try:
                    yield name, slot.__get__(obj)
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
    mapping: Any = frame.f_locals
    if type(mapping) is not dict:
        return dict(mapping.items()) if sys.version_info >= (3, 13) else {}
    variables: dict[str, Any] = dict(items_of(mapping))
    # Beside the frame, this function has a reference to it, and the question itself another.
    if sys.getrefcount(mapping) <= 3 and variables.keys() <= {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
        mapping.clear()
    return variables


def running_frames() -> list[FrameType]:
    """Returns the frames that run now, in all threads, but for nbtf's: one of them would have itself among these."""
    frames: list[FrameType] = []
    for frame in list(sys._current_frames().values()):
        caller: FrameType | None = frame
        while caller is not None:
            if not is_ours(caller):
                frames.append(caller)
            caller = caller.f_back
        del frame  # it may be this one, and a frame that has itself lives until the collector comes by
    return frames


def is_ours(frame: FrameType) -> bool:
    """Says whether a frame is one of nbtf's functions."""
    module = _GET(frame.f_globals, "__name__")
    return type(module) is str and module.partition(".")[0] == "nbtf"
