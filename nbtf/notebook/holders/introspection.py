"""Looks inside objects without running any of their code: no property, no `__getattr__`, no `__repr__`."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

_CLASS_DICT, _CLASS_NAME, _MRO = (type.__dict__[name].__get__ for name in ("__dict__", "__name__", "__mro__"))
_GET: Any = vars(dict)["get"]
_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"].__get__


def kind_of(obj: object) -> type[Any]:
    """Returns the actual class of an object, regardless of its `__class__`."""
    return type(obj)


def is_sequence(obj: object) -> bool:
    """Returns whether an object is exactly a list or a tuple, not of a subclass."""
    return type(obj) is list or type(obj) is tuple


def items_of(obj: Any) -> list[tuple[Any, Any]]:
    """Returns the items of a dictionary, bypassing overridden methods."""
    return list(dict.items(obj))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def names_in(module: types.ModuleType) -> dict[str, Any]:
    """Returns the namespace of a module, bypassing overridden methods."""
    return _MODULE_DICT(module)


def class_dict(cls: type) -> Mapping[str, Any]:
    """Returns the namespace of a class, bypassing its metaclass."""
    return _CLASS_DICT(cls)


def class_name(cls: type) -> str:
    """Returns the name of a class, bypassing its metaclass."""
    return _CLASS_NAME(cls)


def mro_of(cls: type) -> tuple[type, ...]:
    """Returns a class and all its bases."""
    return _MRO(cls)


LIBRARIES = ("nbtf.", "keras.", "tensorflow.")
"""Beginnings of module names: the parts of these libraries' objects have public names, such as `layer.kernel`."""


def is_of_library(cls: type) -> bool:
    """Returns whether a class is defined by nbtf, Keras or TensorFlow, or derives from such a class."""
    return any(module_of(base).startswith(LIBRARIES) for base in _MRO(cls))


def module_of(cls: type) -> str:
    """Returns the name of the module that defines a class."""
    name = class_dict(cls).get("__module__")
    if type(name) is str:
        return name
    return "" if cls.__flags__ & _HEAP_TYPE else "builtins"


_HEAP_TYPE = 1 << 9
"""Set for classes written in Python. Source: Py_TPFLAGS_HEAPTYPE, object.h."""


def defined(cls: type, name: str) -> Any:
    """Returns what the nearest base class defines under a name; None if none does."""
    for base in _MRO(cls):
        names = class_dict(base)
        if name in names:
            return names[name]
    return None


def is_plain(cls: type, *methods: str) -> bool:
    """Returns whether a class inherits methods unchanged from Python's built-in types."""
    return all(any(type(defined(cls, name)) is method_type for method_type in _PLAIN) for name in methods)


_PLAIN = (types.WrapperDescriptorType, types.MethodDescriptorType, type(None))
"""Types of methods written in C: mostly wrappers; `dict.__getitem__` and `list.__getitem__` are methods."""


def attributes_of(obj: Any) -> Any:
    """Returns the dictionary of an object's attributes; None if it has none."""
    for base in _MRO(type(obj)):
        descriptor: Any = class_dict(base).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType or type(descriptor) is types.MemberDescriptorType:
            names: Any = descriptor.__get__(obj)
            return names if issubclass(type(names), dict) else None
    return None


def slots_of(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yields the attributes of an object that are stored in `__slots__`."""
    for base in _MRO(type(obj)):
        names = class_dict(base)
        for name, slot in names.items() if "__slots__" in names else ():
            if type(slot) is types.MemberDescriptorType:
                try:
                    yield name, slot.__get__(obj)
                except AttributeError:  # the slot is empty
                    continue


def locals_of(frame: types.FrameType) -> dict[str, Any]:
    """Returns the local variables of a function's frame; an empty dictionary for frames of modules and classes.

    Up to Python 3.12, asking creates a dictionary that stays with the frame and keeps its contents alive. It is emptied
    again, unless something else refers to it or has added to it. Python refills it on the next request.
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return {}
    mapping: Any = frame.f_locals
    if type(mapping) is not dict:
        return dict(mapping.items()) if sys.version_info >= (3, 13) else {}
    variables: dict[str, Any] = dict(items_of(mapping))
    # The frame has one reference to it, and this check has another.
    if sys.getrefcount(mapping) <= 3 and variables.keys() <= {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
        mapping.clear()
    return variables


def running_frames() -> list[types.FrameType]:
    """Returns the running frames of all threads, without nbtf's own: one of them would contain itself."""
    frames: list[types.FrameType] = []
    for frame in list(sys._current_frames().values()):
        caller: types.FrameType | None = frame
        while caller is not None:
            if not is_ours(caller):
                frames.append(caller)
            caller = caller.f_back
        del frame  # this frame may be listed, and a frame that refers to itself lives until the collector runs
    return frames


def is_ours(frame: types.FrameType) -> bool:
    """Returns whether a frame belongs to one of nbtf's functions."""
    module = _GET(frame.f_globals, "__name__")
    return type(module) is str and module.partition(".")[0] == "nbtf"
