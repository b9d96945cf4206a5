"""How does one object lead to another: what follows its name, and what takes the reference away?"""

from __future__ import annotations

import gc
import keyword
from collections import deque
from collections.abc import Collection, Iterator
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
from typing import Any, NamedTuple

import numpy as np

from nbtf.notebook.anatomy import (
    attributes_of,
    class_dict,
    class_name,
    defined,
    is_made_of_nbtf,
    is_ours,
    is_plain,
    items_of,
    kind_of,
    locals_of,
    module_of,
    mro_of,
    names_in,
    slots_of,
)

LONGEST_KEY = 60
"""Characters of a dictionary's key that are shown."""

OURS = "nbtf's "
"""Stands before the name of a function of nbtf."""

_LONG = 100_000
"""Entries of a container that are told apart, at most."""

ITEM = "[…]"
"""Stands for any index, where many entries of a list are told as one."""


class Way(NamedTuple):
    """One reference of an object.

    `shown` and `code` follow the object's own; `code` is None where no expression leads there. `removal` says what
    takes the reference away: `del` or `None` (an assignment) with the code of what it refers to, `clear` (of a cache),
    or nothing. `role` says how to read what it refers to. `local_of` names the function whose variable it is. What is
    `hidden` inside of an object of nbtf is told only if there is no other way.
    """

    shown: str = ""
    code: str | None = None
    removal: str = ""
    pattern: str | None = None
    role: str = ""
    names: tuple[str, ...] = ()
    local_of: str = ""
    hidden: bool = False


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
        yield from _attributes(thing)


# Containers


def key_text(key: Any) -> tuple[str, bool]:
    """Returns a dictionary's key as it is shown, and whether that is its code.

    Only plain keys are shown as they are; others may be anything, and are told by their type.
    """
    kind = kind_of(key)
    if kind is str:
        return (repr(key), True) if len(key) <= LONGEST_KEY else (repr(f"{key[: LONGEST_KEY - 1]}…"), False)
    if kind is bool or key is None or (kind is int and key.bit_length() <= 64):
        return repr(key), True
    return f"<{class_name(kind)}>", False


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
    return base is not None and base.__len__(thing) > _LONG


def _of_set(thing: Any) -> Iterator[tuple[object, Way]]:
    for value in list(base_of(kind_of(thing)).__iter__(thing)):
        yield value, Way(".<member>", pattern=".<member>")


def _of_array(thing: Any) -> Iterator[tuple[object, Way]]:
    if type(thing) is np.ndarray and thing.dtype == object:
        for index, value in np.ndenumerate(thing):
            text = f"[{', '.join(map(str, index))}]"
            yield value, Way(text, text, "None", ITEM)


# Attributes


def _attributes(thing: Any) -> Iterator[tuple[object, Way]]:
    kind = kind_of(thing)
    readable, changeable = is_plain(kind, "__getattribute__"), is_plain(kind, "__delattr__")
    names = attributes_of(thing)
    inner = _INNER if is_made_of_nbtf(kind) else ""
    if names is not None:
        public = [f"_{name}" for name in _properties(kind)] if inner else []
        yield names, Way(code="", role="attributes", names=("del" if readable and changeable else "", inner, *public))
        for name, value in items_of(names):
            way = _inner_attribute(name, public) if inner else None
            yield value, way or attribute(name, readable, changeable and not _is_guarded(kind, name))
    for name, value in slots_of(thing):
        way = _inner_attribute(name, [f"_{name}" for name in _properties(kind)]) if inner else None
        yield value, way or attribute(name, readable, changeable)


def _inner_attribute(name: Any, public: Collection[str]) -> Way | None:
    """Returns the way to an attribute of an object of nbtf that its users do not see; None where they do."""
    if type(name) is not str or not name.startswith("_"):
        return None
    if name in _TOLD:
        return _TOLD[name]
    return Way(f".{name[1:]}", f".{name[1:]}") if name in public else Way(f".{name}", f".{name}", hidden=True)


_INNER = "inner"

_TOLD = {
    "_value": Way(),  # of a variable of Keras: a `tf.Variable`
    "_sequence": Way(".layers", role="layers"),
    "_slots": Way(role="slots"),
}
"""Attributes of nbtf's objects that users know by other names."""


def _properties(kind: type[Any]) -> set[str]:
    return {name for one in mro_of(kind) for name, value in class_dict(one).items() if type(value) is property}


def _layers(thing: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the layers of a model as they are counted: without those where data come in."""
    layers: list[Any] = [one for one in base_of(list).__iter__(thing) if class_name(kind_of(one)) != "InputLayer"]
    for index, layer in enumerate(layers):
        yield layer, Way(f"[{index}]", f"[{index}]", pattern=ITEM)


def attribute(name: Any, readable: bool, changeable: bool) -> Way:
    """Returns the way to an attribute."""
    if type(name) is str and name.isidentifier() and not keyword.iskeyword(name):
        return Way(f".{name}", f".{name}" if readable else None, "del" if changeable else "")
    text, is_code = key_text(name)
    code = f".__dict__[{text}]"
    return Way(code, code if is_code and readable else None, "del" if changeable else "")


def _is_guarded(kind: type[Any], name: Any) -> bool:
    """Says whether a property or the like of the class stands before an attribute."""
    found = defined(kind, name)
    return found is not None and any(defined(kind_of(found), one) is not None for one in ("__set__", "__delete__"))


def _as_attributes(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    changeable, inner, *public = names
    for name, value in items_of(thing):
        way = _inner_attribute(name, public) if inner else None
        yield value, way or attribute(name, bool(changeable), bool(changeable))


def _of_module(thing: ModuleType) -> Iterator[tuple[object, Way]]:
    yield names_in(thing), Way(code="", role="attributes", names=("del", ""))


def _of_class(thing: type) -> Iterator[tuple[object, Way]]:
    changeable = is_plain(kind_of(thing), "__delattr__")
    for names in gc.get_referents(class_dict(thing)):  # the dictionary behind the view
        yield names, Way(code="", role="attributes", names=("del" if changeable else "", ""))
    for name, value in list(class_dict(thing).items()):
        yield value, attribute(name, True, changeable)
        if type(value) is staticmethod or type(value) is classmethod:
            yield value, Way(f".{name}", f".__dict__[{name!r}]", "del" if changeable else "")


# Functions


def _of_function(thing: FunctionType) -> Iterator[tuple[object, Way]]:
    code = thing.__code__
    yield thing.__closure__, Way(role="closure", names=code.co_freevars)
    defaults = thing.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    yield defaults, Way(role="defaults", names=arguments[len(arguments) - len(defaults) :])
    yield thing.__kwdefaults__, Way(role="keyword defaults")


def _closure(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    for index, cell in enumerate(thing):
        yield cell, Way(f".<closure> {names[index] if index < len(names) else index}")


def _defaults(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    for index, value in enumerate(thing):
        yield value, Way(f".<default> {names[index] if index < len(names) else index}")


def _keyword_defaults(thing: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    for name, value in items_of(thing):
        yield value, Way(f".<default> {name}")


def _of_cell(thing: CellType) -> Iterator[tuple[object, Way]]:
    try:
        yield thing.cell_contents, Way()
    except ValueError:  # empty
        return


def _of_method(thing: MethodType) -> Iterator[tuple[object, Way]]:
    yield thing.__self__, Way(".__self__", ".__self__")
    yield thing.__func__, Way(".__func__", ".__func__")


def _of_partial(thing: Any) -> Iterator[tuple[object, Way]]:
    for name in ("func", "args", "keywords"):
        value = class_dict(partial)[name].__get__(thing)
        yield value, Way(f".{name}", f".{name}")


# Frames


def _of_frame(thing: FrameType) -> Iterator[tuple[object, Way]]:
    told = function_of(thing)
    for name, value in locals_of(thing).items():
        yield value, Way(name, local_of=told)
    if not locals_of(thing):
        yield thing.f_locals, Way(role="locals", names=(told,))
    yield thing.f_back, Way()


def function_of(frame: FrameType) -> str:
    """Returns how the function of a frame is told."""
    return f"{OURS if is_ours(frame) else ''}`{frame.f_code.co_qualname}`"


def _as_locals(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    for name, value in items_of(thing) if issubclass(type(thing), dict) else ():
        yield value, Way(str(name) if type(name) is str else key_text(name)[0], local_of=names[0])


def _of_generator(thing: Any) -> Iterator[tuple[object, Way]]:
    frame = next((value for name, value in _FRAMES if issubclass(type(thing), name)), None)
    found = None if frame is None else frame.__get__(thing)
    if found is not None:
        yield found, Way()
        for name, value in locals_of(found).items():
            yield value, Way(name, local_of=function_of(found))


_FRAMES = tuple(
    (kind, class_dict(kind)[name])
    for kind, name in ((GeneratorType, "gi_frame"), (CoroutineType, "cr_frame"), (AsyncGeneratorType, "ag_frame"))
)


def _of_traceback(thing: TracebackType) -> Iterator[tuple[object, Way]]:
    yield thing.tb_frame, Way()
    yield thing.tb_next, Way()


def _of_error(thing: BaseException) -> Iterator[tuple[object, Way]]:
    for name in ("__traceback__", "__cause__", "__context__"):
        yield class_dict(BaseException)[name].__get__(thing), Way()
    yield class_dict(BaseException)["args"].__get__(thing), Way(".args", ".args")


_ROLES: dict[str, Any] = {
    "attributes": _as_attributes,
    "layers": _layers,
    "closure": _closure,
    "defaults": _defaults,
    "keyword defaults": _keyword_defaults,
    "locals": _as_locals,
}

_KINDS: tuple[tuple[Any, Any], ...] = (
    (dict, _of_dict),
    ((list, tuple, deque), _of_list),
    ((set, frozenset), _of_set),
    (np.ndarray, _of_array),
    (FunctionType, _of_function),
    (CellType, _of_cell),
    (MethodType, _of_method),
    (partial, _of_partial),
    ((GeneratorType, CoroutineType, AsyncGeneratorType), _of_generator),
    (FrameType, _of_frame),
    (TracebackType, _of_traceback),
    (BaseException, _of_error),
    (ModuleType, _of_module),
    (type, _of_class),
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
