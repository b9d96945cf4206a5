"""The attributes of objects, modules and classes, and the code that reaches them."""

from __future__ import annotations

import gc
import keyword
from collections.abc import Collection, Iterator
from functools import lru_cache
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
from nbtf.notebook.holders.reference import ITEM, Reference, key_text

_LIST: Any = vars(list)["__iter__"]


def attributes(obj: Any) -> Iterator[tuple[object, Reference]]:
    """Yields the values in an object's attributes and slots."""
    cls = kind_of(obj)
    readable, changeable = is_plain(cls, "__getattribute__"), is_plain(cls, "__delattr__")
    names = attributes_of(obj)
    inner = _INNER if is_made_of_nbtf(cls) else ""
    if names is not None:
        public = [f"_{name}" for name in _properties(cls)] if inner else []
        flags = "read" if readable else "", "del" if readable and changeable else ""
        yield names, Reference(code="", role="attributes", names=(*flags, inner, *public))
        for name, value in items_of(names):
            reference = _inner_attribute(name, public) if inner else None
            yield value, reference or _attribute(name, readable, changeable and not _is_guarded(cls, name))
    for name, value in slots_of(obj):
        reference = _inner_attribute(name, [f"_{name}" for name in _properties(cls)]) if inner else None
        yield value, reference or _attribute(name, readable, changeable)


def _inner_attribute(name: Any, public: Collection[str]) -> Reference | None:
    """Returns how to name an internal attribute of an nbtf object; None for public attributes."""
    if type(name) is not str or not name.startswith("_"):
        return None
    if name in _TOLD:
        return _TOLD[name]
    return (
        Reference(f".{name[1:]}", f".{name[1:]}") if name in public else Reference(f".{name}", f".{name}", hidden=True)
    )


_INNER = "inner"

_TOLD = {
    "_value": Reference(),  # of a Keras variable: a `tf.Variable`
    "_sequence": Reference(".layers", role="layers"),
    "_slots": Reference(role="slots"),
    "_runner": Reference(code="", role="runner"),  # of a TensorFlow 1 session
}
"""Attributes of nbtf's objects that users know by other names."""


def _properties(cls: type[Any]) -> set[str]:
    return {name for base in mro_of(cls) for name, value in class_dict(base).items() if type(value) is property}


def layers(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the layers of a model as users count them, without input layers."""
    visible: list[Any] = [layer for layer in _LIST(obj) if class_name(kind_of(layer)) != "InputLayer"]
    for index, layer in enumerate(visible):
        yield layer, Reference(f"[{index}]", f"[{index}]", pattern=ITEM)


_KEPT = {"values": "variable", "constants": "constant"}
"""The attributes of a session's runner, and how each is named."""


def runner(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields what a session's runner keeps: an object, or its attributes."""
    names = obj if kind_of(obj) is dict else attributes_of(obj)
    if names is not obj:
        yield names, Reference(code="", role="runner")
    for name, value in items_of(names):
        attribute = _KEPT.get(name)
        yield (
            value,
            Reference(hidden=True) if attribute is None else Reference(code="", role="nodes", names=(attribute,)),
        )


def nodes(obj: dict[Any, Any], names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields what a session keeps for nodes of its graph; closing the session releases all of it."""
    (noun,) = names
    for node, value in items_of(obj):
        yield value, Reference(f": {noun} {node.name}", None, "close", pattern=f": {noun} {ITEM}")
        yield node, Reference(".<key>")


def _attribute(name: Any, readable: bool, changeable: bool) -> Reference:
    """Returns how to name an attribute."""
    if type(name) is str and name.isidentifier() and not keyword.iskeyword(name):
        return _plain_attribute(name, readable, changeable)
    text, is_code = key_text(name)
    code = f".__dict__[{text}]"
    return Reference(code, code if is_code and readable else None, "del" if changeable else "")


@lru_cache(1024)
def _plain_attribute(name: str, readable: bool, changeable: bool) -> Reference:
    """Returns how to name an attribute; cached, because a class may have 25,000 objects."""
    return Reference(f".{name}", f".{name}" if readable else None, "del" if changeable else "")


def _is_guarded(cls: type[Any], name: Any) -> bool:
    """Returns whether the class defines a property or other descriptor with the attribute's name."""
    value = defined(cls, name)
    return value is not None and any(
        defined(kind_of(value), method) is not None for method in ("__set__", "__delete__")
    )


def as_attributes(obj: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the values of a dictionary that holds an object's attributes."""
    readable, changeable, inner, *public = names
    for name, value in items_of(obj):
        reference = _inner_attribute(name, public) if inner else None
        yield value, reference or _attribute(name, bool(readable), bool(changeable))


def of_module(obj: ModuleType) -> Iterator[tuple[object, Reference]]:
    """Yields the values in a module's namespace."""
    yield names_in(obj), Reference(code="", role="attributes", names=("read", "del", ""))


def of_class(obj: type) -> Iterator[tuple[object, Reference]]:
    """Yields the values in a class's namespace."""
    changeable = is_plain(kind_of(obj), "__delattr__")
    for names in gc.get_referents(class_dict(obj)):  # the dictionary behind the mapping proxy
        yield names, Reference(code="", role="attributes", names=("read", "del" if changeable else "", ""))
    for name, value in list(class_dict(obj).items()):
        yield value, _attribute(name, True, changeable)
        if type(value) is staticmethod or type(value) is classmethod:
            yield value, Reference(f".{name}", f".__dict__[{name!r}]", "del" if changeable else "")
