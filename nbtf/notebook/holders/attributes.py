"""The attributes of objects, modules and classes, and the code that reaches them."""

from __future__ import annotations

import gc
import keyword
from collections.abc import Collection, Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any, cast

from nbtf.notebook.holders.introspection import (
    attributes_of,
    class_dict,
    class_name,
    defined,
    is_of_library,
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
    inner = _inner(cls)
    if names is not None:
        public = [f"_{name}" for name in _properties(cls)] if inner else []
        flags = "read" if readable else "", "del" if readable and changeable else ""
        yield names, Reference(code="", role="attributes", names=(*flags, inner, *public))
        for name, value in items_of(names):
            reference = _inner_attribute(name, inner, public, names) if inner else None
            yield value, reference or _attribute(name, readable, changeable and not _is_guarded(cls, name))
    for name, value in slots_of(obj):
        reference = _inner_attribute(name, inner, [f"_{name}" for name in _properties(cls)], {}) if inner else None
        yield value, reference or _attribute(name, readable, changeable)


def _inner(cls: type[Any]) -> str:
    """Returns how to name the internal attributes of a class's objects; empty for classes of no library."""
    if not is_of_library(cls):
        return ""
    bases = {class_name(base) for base in mro_of(cls)}
    return next((base for base in (_SEQUENTIAL, _COPIES) if base in bases), _INNER)


def _inner_attribute(name: Any, inner: str, public: Collection[str], attributes: Any) -> Reference | None:
    """Returns how to name an internal attribute of a library's object, one of some; None for public attributes."""
    if type(name) is not str or not name.startswith("_"):
        return None
    if name == "_layers" and inner == _SEQUENTIAL:
        return _TOLD["_sequence"]
    if name == "_values" and inner == _COPIES:
        return _TOLD["_copies"]
    if name == "_slots":
        return Reference(role="slots", names=_weights_of(attributes))
    if name in _TOLD:
        return _TOLD[name]
    return (
        Reference(f".{name[1:]}", f".{name[1:]}") if name in public else Reference(f".{name}", f".{name}", hidden=True)
    )


_INNER = "inner"
_SEQUENTIAL = "Sequential"
"""Name of Keras' class whose `layers` leave out the input layer, unlike those of other models."""
_COPIES = "DistributedVariable"
"""Name of nbtf's class of variables with a copy on each GPU."""

_TOLD = {
    "_value": Reference(),  # of a Keras variable: a `tf.Variable`
    "_handle": Reference(),  # of a variable in TensorFlow: a tensor
    "_sequence": Reference(".layers", role="layers"),
    "_compiled": Reference(role="compiled"),
    "_copies": Reference(code=".values", role="copies"),
    "_rate": Reference(".learning_rate", ".learning_rate"),
    "_runner": Reference(code="", role="runner"),  # of a TensorFlow 1 session
}
"""Attributes of libraries' objects that users know by other names."""


def _properties(cls: type[Any]) -> set[str]:
    return {name for base in mro_of(cls) for name, value in class_dict(base).items() if type(value) is property}


def layers(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the layers of a model as users count them, without input layers."""
    visible: list[Any] = [layer for layer in _LIST(obj) if class_name(kind_of(layer)) != "InputLayer"]
    for index, layer in enumerate(visible):
        yield layer, Reference(f"[{index}]", f"[{index}]", pattern=ITEM)


def compiled(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields what a model keeps since `compile`, such as its optimizer."""
    names = obj if kind_of(obj) is dict else attributes_of(obj)
    if names is not obj:
        yield names, Reference(role="compiled")
    for name, value in items_of(names):
        yield value, Reference(seal=_CONSTANT) if name == "functions" else Reference(f".{name}")


_CONSTANT = "constant of a traced step"


def copies(obj: Any, _: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the copies of a variable, which have its name."""
    for index, value in enumerate(obj):
        yield value, Reference(code=f"[{index}]")


def slots(obj: Any, weights: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the list of slots of each weight of an optimizer; nothing of other libraries' objects."""
    for index, value in enumerate(_LIST(obj) if issubclass(kind_of(obj), list) else ()):
        yield value, Reference(role="slots of a weight", names=weights[index : index + 1])


def slots_of_weight(obj: Any, names: tuple[str, ...]) -> Iterator[tuple[object, Reference]]:
    """Yields the slots of a weight, named like `hidden_1/kernel · velocity`."""
    for variable in _LIST(obj) if issubclass(kind_of(obj), list) else ():
        weight, slot = "".join(names), _path_of(variable)
        prefix = f"{weight.replace('/', '_')}_"
        start = slot.find(prefix)
        name = slot if start < 0 else slot[start + len(prefix) :]
        yield variable, Reference(seal=f"{weight} · {name}" if weight else name)


def _weights_of(names: Any) -> tuple[str, ...]:
    """Returns the paths of an optimizer's weights, such as `hidden_1/kernel`, without what all of them begin with."""
    weights: Any = names.get("_weights")
    paths = [_path_of(weight).split("/") for weight in _LIST(weights)] if type(weights) is list else []
    shared = 0
    while paths and all([len(path) > shared + 2 and path[shared] == paths[0][shared] for path in paths]):
        shared += 1
    return tuple(["/".join(path[shared:]) for path in paths])


def _path_of(variable: Any) -> str:
    """Returns the path of a Keras variable, or the name of another variable; empty for other objects."""
    values: dict[Any, Any] = {**dict(slots_of(variable)), **cast("dict[Any, Any]", attributes_of(variable) or {})}
    path = values.get("_path") or values.get("_name")
    return path.partition(":")[0] if type(path) is str else ""


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
        reference = _inner_attribute(name, inner, public, obj) if inner else None
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
