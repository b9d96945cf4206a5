"""What stands in the attributes of an object, of a module, of a class, and how is it reached?"""

from __future__ import annotations

import gc
import keyword
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any

from nbtf.notebook.holders.introspection import (
    attributes_of,
    class_dict,
    class_name,
    defined,
    is_made_of_nbtf,
    is_plain,
    items_of,
    kind_of,
    mro_of,
    names_in,
    slots_of,
)
from nbtf.notebook.holders.reference import ITEM, Way, key_text

_LIST: Any = vars(list)["__iter__"]


def attributes(thing: Any) -> Iterator[tuple[object, Way]]:
    """Yields what stands in the attributes and slots of an object."""
    kind = kind_of(thing)
    readable, changeable = is_plain(kind, "__getattribute__"), is_plain(kind, "__delattr__")
    names = attributes_of(thing)
    inner = _INNER if is_made_of_nbtf(kind) else ""
    if names is not None:
        public = [f"_{name}" for name in _properties(kind)] if inner else []
        flags = "read" if readable else "", "del" if readable and changeable else ""
        yield names, Way(code="", role="attributes", names=(*flags, inner, *public))
        for name, value in items_of(names):
            way = _inner_attribute(name, public) if inner else None
            yield value, way or _attribute(name, readable, changeable and not _is_guarded(kind, name))
    for name, value in slots_of(thing):
        way = _inner_attribute(name, [f"_{name}" for name in _properties(kind)]) if inner else None
        yield value, way or _attribute(name, readable, changeable)


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
    "_runner": Way(code="", role="runner"),  # of a session of TensorFlow 1
}
"""Attributes of nbtf's objects that users know by other names."""


def _properties(kind: type[Any]) -> set[str]:
    return {name for one in mro_of(kind) for name, value in class_dict(one).items() if type(value) is property}


def layers(thing: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the layers of a model as they are counted: without those where data come in."""
    shown: list[Any] = [one for one in _LIST(thing) if class_name(kind_of(one)) != "InputLayer"]
    for index, layer in enumerate(shown):
        yield layer, Way(f"[{index}]", f"[{index}]", pattern=ITEM)


_KEPT = {"values": "variable", "constants": "constant"}
"""What a session's runner keeps, by its attributes."""


def runner(thing: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields what the runner of a session keeps: an object, or its attributes."""
    names = thing if kind_of(thing) is dict else attributes_of(thing)
    if names is not thing:
        yield names, Way(code="", role="runner")
    for name, value in items_of(names):
        kept = _KEPT.get(name)
        yield value, Way(hidden=True) if kept is None else Way(code="", role="nodes", names=(kept,))


def nodes(thing: dict[Any, Any], names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields what a session keeps for nodes of its graph; it lets go of all when it is closed."""
    (what,) = names
    for node, value in items_of(thing):
        yield value, Way(f": {what} {node.name}", None, "close", pattern=f": {what} {ITEM}")
        yield node, Way(".<key>")


def _attribute(name: Any, readable: bool, changeable: bool) -> Way:
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


def as_attributes(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Way]]:
    """Yields the values of a dictionary that is an object's attributes."""
    readable, changeable, inner, *public = names
    for name, value in items_of(thing):
        way = _inner_attribute(name, public) if inner else None
        yield value, way or _attribute(name, bool(readable), bool(changeable))


def of_module(thing: ModuleType) -> Iterator[tuple[object, Way]]:
    """Yields the names of a module."""
    yield names_in(thing), Way(code="", role="attributes", names=("read", "del", ""))


def of_class(thing: type) -> Iterator[tuple[object, Way]]:
    """Yields what stands in a class."""
    changeable = is_plain(kind_of(thing), "__delattr__")
    for names in gc.get_referents(class_dict(thing)):  # the dictionary behind the view
        yield names, Way(code="", role="attributes", names=("read", "del" if changeable else "", ""))
    for name, value in list(class_dict(thing).items()):
        yield value, _attribute(name, True, changeable)
        if type(value) is staticmethod or type(value) is classmethod:
            yield value, Way(f".{name}", f".__dict__[{name!r}]", "del" if changeable else "")
