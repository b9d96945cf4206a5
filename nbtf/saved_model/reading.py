"""How an object comes out of the folder that `save` wrote."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nbtf._ops.creation import constant
from nbtf._ops.function import Function
from nbtf._ops.variable import Variable
from nbtf._runtime.names import name_scope
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._storage import folders
from nbtf._types import as_dtype
from nbtf.keras.registry import custom_object_scope, deserialized, get_registered_object
from nbtf.keras.saving import arrays
from nbtf.keras.saving.graph import variables_of
from nbtf.keras.saving.models import go_on
from nbtf.keras.variables import Variable as KerasVariable
from nbtf.saved_model.places import found_at
from nbtf.saved_model.signatures import Signature, SignatureMap
from nbtf.saved_model.writing import OBJECTS, VALUES


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Tells whether a folder holds what `tf.saved_model.save` of nbtf wrote.

    >>> tf.saved_model.contains_saved_model("no_such_folder")
    False
    """
    return folders.holds(export_dir, OBJECTS)


def load(export_dir: str | os.PathLike[str], tags: Any = None, options: Any = None, **ignored: Any) -> Any:
    """Makes an object of what `tf.saved_model.save` wrote; in the scope of a strategy its variables are mirrored.

    Classes are found by module and name, and no `__init__` is called; Keras models and layers are made from their
    configs. The object has `signatures`, functions by name that return dictionaries.

    Args:
      export_dir: the folder.
      tags: accepted and ignored.
      options: accepted and ignored.
      **ignored: accepted for other programs.

    Raises:
      OSError: nothing was saved there.
      ValueError: a class or function cannot be found.
    """
    folder = Path(os.fspath(export_dir))
    if not contains_saved_model(folder):
        theirs = " TensorFlow's own format cannot be read." if (folder / "saved_model.pb").exists() else ""
        raise OSError(f"SavedModel file does not exist at: {folder / OBJECTS}.{theirs}")
    parts = folders.read(folder, (OBJECTS, VALUES))
    document: dict[str, Any] = json.loads(parts[OBJECTS])
    reader = Reader(document["nodes"], arrays.read(io.BytesIO(parts[VALUES])))
    root = reader.made(document["root"])
    signatures = {name: reader.signature(name, root, one) for name, one in document["signatures"].items()}
    object.__setattr__(root, "signatures", SignatureMap(signatures))  # a layer would look for weights in it
    return root


class Reader:
    """Makes objects of nodes; each once."""

    def __init__(self, nodes: list[dict[str, Any]], values: dict[str, np.ndarray[Any, Any]]) -> None:
        """Takes what was read."""
        self._nodes, self._values = nodes, values
        self._made: dict[int, Any] = {}
        self._described: dict[str, Callable[[dict[str, Any]], Any]] = {
            "node": lambda one: self._node(one["node"]),
            "tuple": lambda one: tuple(self.made(part) for part in one["tuple"]),
            "set": lambda one: {self.made(part) for part in one["set"]},
            "frozenset": lambda one: frozenset(self.made(part) for part in one["frozenset"]),
            "dtype": lambda one: as_dtype(one["dtype"]),
            "shape": lambda one: TensorShape(one["shape"]),
            "spec": lambda one: TensorSpec(self.made(one["spec"][0]), as_dtype(one["spec"][1]), one["spec"][2]),
            "array": self._array,
            "name_scope": lambda one: name_scope(one["name_scope"]),
            "bytes": lambda one: bytes.fromhex(one["bytes"]),
            "place": lambda one: found_at(one["place"]),
            "method": lambda one: getattr(self.made(one["method"][0]), one["method"][1]),
            "function": lambda one: Function(self.made(one["function"]), self.made(one["signature"])),
        }
        self._kinds: dict[str, Callable[[int, dict[str, Any]], Any]] = {
            "variable": self._variable,
            "keras_variable": lambda _, node: KerasVariable(self.made(node["of"]), name=node["name"]),
            "list": self._list,
            "dict": self._dict,
            "function": lambda _, node: self.made({key: one for key, one in node.items() if key != "kind"}),
            "keras": self._keras,
            "object": self._object,
        }

    def made(self, value: Any) -> Any:
        """Returns the value that JSON stands for."""
        if not isinstance(value, dict):
            return value
        described: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        if "tensor" in described:
            return constant(self._values[described["tensor"]], as_dtype(described["dtype"]))
        return self._described[next(iter(described))](described)

    def _array(self, described: dict[str, Any]) -> Any:
        array = self._values[described["array"]]
        return array[()] if described["scalar"] else array

    def _node(self, number: int) -> Any:
        if number not in self._made:
            node = self._nodes[number]
            self._made[number] = self._kinds[node["kind"]](number, node)
        return self._made[number]

    def _variable(self, _: int, node: dict[str, Any]) -> Any:
        value = self._values[node["value"]]
        value = value.astype(object) if value.dtype.kind == "S" else value
        shape = None if node["shape"] == list(value.shape) else TensorShape(node["shape"])
        dtype = as_dtype(node["dtype"])
        return Variable(value, trainable=node["trainable"], name=node["name"], dtype=dtype, shape=shape)

    def _list(self, number: int, node: dict[str, Any]) -> list[Any]:
        made: list[Any] = []
        self._made[number] = made  # it may hold itself
        made.extend(self.made(value) for _, value in node["items"])
        return made

    def _dict(self, number: int, node: dict[str, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        self._made[number] = made
        made.update((self.made(key), self.made(value)) for key, value in node["items"])
        return made

    def _object(self, number: int, node: dict[str, Any]) -> Any:
        kind = found_at(node["class"])
        made = kind.__new__(kind)
        self._made[number] = made
        for name, value in node["attributes"]:
            made.__dict__[name] = self.made(value)
        return made

    def _keras(self, _: int, node: dict[str, Any]) -> Any:
        """Returns a model, layer, optimizer, metric or loss, with its values."""
        own = {name: found_at(place) for name, place in node["classes"].items()}
        with custom_object_scope({**own, **dict(_own_functions([node["config"], node["compile"]], own))}):
            made = deserialized(node["config"])
            if node["build"] is not None and not made.built:
                made.build(_as_shape(node["build"]))
            if node["compile"]:
                made.compile_from_config(node["compile"])
        optimizer = getattr(made, "optimizer", None)
        if optimizer is not None and any(name.startswith("optimizer/") for name in node["values"]):
            optimizer.build(made.trainable_variables)
        for name, variable in (variables_of(made) if node["values"] else {}).items():
            if name in node["values"]:
                arrays.put(variable, self._values[node["values"][name]], name)
        go_on(made, node["seeds"])
        return made

    def signature(self, name: str, root: Any, described: dict[str, Any]) -> Signature:
        """Returns a signature of the object."""
        if "root" in described:
            return Signature(name, _without_training(root))
        if "attribute" in described:
            return Signature(name, getattr(root, described["attribute"]))
        return Signature(name, self.made(described))


def _without_training(model: Any) -> Callable[..., Any]:
    """Returns a model as a function; several inputs by name become a dictionary."""

    def called(*args: Any, **kwargs: Any) -> Any:
        if args or not kwargs:
            return model(*args)
        return model(next(iter(kwargs.values())) if len(kwargs) == 1 else kwargs)

    return called


def _as_shape(value: Any) -> Any:
    if isinstance(value, dict):
        entries: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {key: _as_shape(one) for key, one in entries.items()}
    if isinstance(value, list) and not all(one is None or isinstance(one, int) for one in value):  # pyright: ignore[reportUnknownVariableType]
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_as_shape(one) for one in items]
    return tuple(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _own_functions(config: Any, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the functions in a config that are none of Keras', under the name by which they are looked up.

    Raises:
      ValueError: one cannot be found.
    """
    if isinstance(config, list):
        items: list[Any] = config  # pyright: ignore[reportUnknownVariableType]
        for one in items:
            yield from _own_functions(one, known)
    elif isinstance(config, dict):
        entries: dict[str, Any] = config  # pyright: ignore[reportUnknownVariableType]
        name, place = entries.get("registered_name"), entries.get("module")
        if name and place and name not in known and get_registered_object(name) is None:
            is_function = entries["class_name"] == "function"
            yield name, found_at([place, entries["config"] if is_function else entries["class_name"]])
        for one in entries.values():
            yield from _own_functions(one, known)
