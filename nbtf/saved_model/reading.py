"""Loads an object from the folder that `save` wrote."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from nbtf._graph.function import Function
from nbtf._ops.arrays.creation import constant
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.names import name_scope
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._storage import folders
from nbtf._storage.archives import read_arrays
from nbtf._storage.documents import check, parse_document
from nbtf._storage.limits import OBJECT_LEVELS
from nbtf._storage.refusal import RefusedFileError, refusing
from nbtf._types import as_dtype
from nbtf.keras.allowance import allowing
from nbtf.keras.registry import custom_object_scope, deserialized, get_registered_object
from nbtf.keras.saving import arrays
from nbtf.keras.saving.arrays import variables_of
from nbtf.keras.saving.models import go_on
from nbtf.keras.variables import Variable as KerasVariable
from nbtf.saved_model.references import custom_names, resolve, resolve_class
from nbtf.saved_model.schema import DESCRIBED, DOCUMENT, NODES
from nbtf.saved_model.signatures import Signature, SignatureMap
from nbtf.saved_model.writing import FORMAT, OBJECTS, VALUES

_CALLS = ("call", "__call__")
"""Methods of Keras models and layers that can be a signature."""


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Returns whether a folder holds an object saved by nbtf's `tf.saved_model.save`.

    >>> tf.saved_model.contains_saved_model("no_such_folder")
    False
    """
    return folders.holds(export_dir, OBJECTS)


def load(export_dir: str | os.PathLike[str], tags: Any = None, options: Any = None, **ignored: Any) -> Any:
    """Loads an object that `tf.saved_model.save` wrote; inside a strategy's scope its variables are mirrored.

    Loading a folder from an untrusted source is safe: nothing in it is executed or imported. The folder can only name
    this program's classes that derive from nbtf's (`tf.Module`, Keras layers and so on), and public Keras classes.
    Other classes and functions must be registered, by `register_keras_serializable` or `custom_object_scope`.
    Only Keras models and layers have their `__init__` called, with their configs.

    The object has `signatures`, functions by name that return dictionaries: the `tf.function`s of its class.

    Args:
      export_dir: the folder.
      tags: accepted and ignored.
      options: accepted and ignored.
      **ignored: accepted for compatibility and ignored.

    Raises:
      OSError: if nothing was saved in the folder.
      DataLossError: if the folder is damaged, or names a class or function that this program does not have. The error
        is also a `ValueError` and a `TypeError`.
    """
    folder = Path(os.fspath(export_dir))
    if not contains_saved_model(folder):
        hint = " TensorFlow's own format cannot be read." if (folder / "saved_model.pb").exists() else ""
        raise OSError(f"SavedModel file does not exist at: {folder / OBJECTS}.{hint}")
    contents = folders.read(folder, (OBJECTS, VALUES))
    document: dict[str, Any] = parse_document(contents[OBJECTS], folder / OBJECTS, DOCUMENT)
    if document["format"] != FORMAT:
        raise RefusedFileError(f"{folder} has the format {document['format']!r:.60}; this nbtf reads {FORMAT!r}.")
    values = read_arrays(io.BytesIO(contents[VALUES]), folder / VALUES)
    reader = Reader(document["nodes"], values, folder / OBJECTS)
    with refusing(folder, "cannot be loaded"), allowing(sum(array.nbytes for array in values.values())):
        root = reader.root(document["root"])
        signatures = {name: reader.signature(name, root, entry) for name, entry in document["signatures"].items()}
        # Set directly, because a layer would search the value for weights.
        object.__setattr__(root, "signatures", SignatureMap(signatures))
    return root


class Reader:
    """Creates objects from nodes, each once."""

    def __init__(self, nodes: list[dict[str, Any]], values: dict[str, np.ndarray[Any, Any]], source: object) -> None:
        """Stores the nodes, the values and the file that errors name."""
        self._nodes, self._values, self._source = nodes, values, source
        self._objects: dict[int, Any] = {}
        self._unfinished: set[int] = set()
        self._level = 0
        self._described: dict[str, Callable[[dict[str, Any]], Any]] = {
            "node": lambda entry: self._node(entry["node"]),
            "tuple": lambda entry: tuple(self.build(item) for item in entry["tuple"]),
            "set": lambda entry: {self.build(item) for item in entry["set"]},
            "frozenset": lambda entry: frozenset(self.build(item) for item in entry["frozenset"]),
            "dtype": lambda entry: as_dtype(entry["dtype"]),
            "shape": lambda entry: TensorShape(entry["shape"]),
            "spec": lambda entry: TensorSpec(
                self.build(entry["spec"][0]), as_dtype(entry["spec"][1]), entry["spec"][2]
            ),
            "array": self._array,
            "tensor": lambda entry: constant(self._values[entry["tensor"]], as_dtype(entry["dtype"])),
            "name_scope": lambda entry: name_scope(entry["name_scope"]),
            "bytes": lambda entry: bytes.fromhex(entry["bytes"]),
            "place": lambda entry: _class_or_function(entry["place"]),
            "method": lambda entry: _method(self.build(entry["method"][0]), entry["method"][1]),
            "function": self._function,
        }
        self._builders: dict[str, Callable[[int, dict[str, Any]], Any]] = {
            "variable": self._variable,
            "keras_variable": self._keras_variable,
            "list": self._list,
            "dict": self._dict,
            "function": lambda _, node: self.build({key: entry for key, entry in node.items() if key != "kind"}),
            "keras": self._keras,
            "object": self._object,
        }

    def root(self, entry: dict[str, Any]) -> Any:
        """Returns the object that was saved.

        Raises:
          ValueError: if it is an object without attributes.
        """
        root = self.build(entry)
        if self._nodes[entry["node"]]["kind"] not in ("keras", "object", "variable", "keras_variable"):
            raise ValueError(f"the saved object is {root!r:.60}; expected a module, model, layer or variable.")
        return root

    def build(self, value: Any) -> Any:
        """Returns the value that JSON describes."""
        if isinstance(value, list):
            raise ValueError(f"the list {value!r:.60} is not the description of a value.")
        if not isinstance(value, dict):
            return value
        OBJECT_LEVELS.check(self._level)
        self._level += 1
        try:
            return self._build_described(value)  # pyright: ignore[reportUnknownArgumentType]
        finally:
            self._level -= 1

    def _build_described(self, described: dict[str, Any]) -> Any:
        """Returns the value of a description."""
        name = next(iter(described), "")
        if name not in DESCRIBED:
            raise ValueError(f"{name!r:.60} does not describe a value.")
        check(described, DESCRIBED[name], self._source)
        return self._described[name](described)

    def _function(self, described: dict[str, Any]) -> Function:
        function = self.build(described["function"])
        if not isinstance(function, FunctionType | MethodType):
            raise ValueError(f"{function!r:.60} is not a function.")
        return Function(function, self.build(described["signature"]))

    def _array(self, described: dict[str, Any]) -> Any:
        array = self._values[described["array"]]
        if described.get("text"):
            array = array.astype(object)
        return array[()] if described["scalar"] else array

    def _node(self, number: int) -> Any:
        if number in self._objects:
            return self._objects[number]
        if not 0 <= number < len(self._nodes) or number in self._unfinished:
            raise ValueError(f"node {number} does not exist, or contains itself.")
        node = self._nodes[number]
        if node["kind"] not in NODES:
            raise ValueError(f"node {number} has the unknown kind {node['kind']!r:.60}.")
        check(node, NODES[node["kind"]], self._source, f"nodes[{number}]")
        self._unfinished.add(number)
        self._objects[number] = value = self._builders[node["kind"]](number, node)
        return value

    def _variable(self, _: int, node: dict[str, Any]) -> Any:
        value, dtype = self._values[node["value"]], as_dtype(node["dtype"])
        arrays.check_dtype(dtype, value, f"the value of {node['name']!r:.60}")
        value = value.astype(object) if value.dtype.kind == "S" else value
        shape = None if node["shape"] == list(value.shape) else TensorShape(node["shape"])
        return Variable(value, trainable=node["trainable"], name=node["name"], dtype=dtype, shape=shape)

    def _keras_variable(self, _: int, node: dict[str, Any]) -> KerasVariable:
        value = self.build(node["of"])
        if not isinstance(value, Variable):
            raise ValueError(f"the weight {node['name']!r:.60} is {value!r:.60}; expected a variable.")
        return KerasVariable(value, name=node["name"])

    def _list(self, number: int, node: dict[str, Any]) -> list[Any]:
        items: list[Any] = []
        self._objects[number] = items  # stored first, because the list may contain itself
        items.extend(self.build(value) for _, value in node["items"])
        return items

    def _dict(self, number: int, node: dict[str, Any]) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        self._objects[number] = entries
        entries.update((self.build(key), self.build(value)) for key, value in node["items"])
        return entries

    def _object(self, number: int, node: dict[str, Any]) -> Any:
        saved_class: Any = resolve_class(node["class"])
        instance = saved_class.__new__(saved_class)
        self._objects[number] = instance
        for name, value in node["attributes"]:
            instance.__dict__[name] = self.build(value)
        return instance

    def _keras(self, _: int, node: dict[str, Any]) -> Any:
        """Returns a model, layer, optimizer, metric or loss, with its values."""
        classes = {name: resolve_class(reference) for name, reference in node["classes"].items()}
        with custom_object_scope({**classes, **_custom_objects([node["config"], node["compile"]], classes)}):
            keras_object = deserialized(node["config"])
            if node["build"] is not None and not keras_object.built:
                keras_object.build(_as_shape(node["build"]))
            if node["compile"]:
                keras_object.compile_from_config(node["compile"])
        optimizer = getattr(keras_object, "optimizer", None)
        if optimizer is not None and any(name.startswith("optimizer/") for name in node["values"]):
            optimizer.build(keras_object.trainable_variables)
        for name, variable in (variables_of(keras_object) if node["values"] else {}).items():
            if name in node["values"]:
                value = self._values[node["values"][name]]
                arrays.check_dtype(variable.dtype, value, name)
                arrays.put(variable, value, name)
        go_on(keras_object, node["seeds"])
        return keras_object

    def signature(self, name: str, root: Any, described: dict[str, Any]) -> Signature:
        """Returns a signature of the object.

        Raises:
          ValueError: if it is not a function.
        """
        if "root" in described and callable(root):
            return Signature(name, _without_training(root))
        if "attribute" in described:
            attribute: Any = described["attribute"]
            function = root.__dict__.get(attribute) or _method(root, attribute)
        else:
            function = self.build(described)
        is_call = isinstance(function, MethodType) and function.__name__ in _CALLS
        if not isinstance(function, Function | FunctionType) and not is_call:
            raise ValueError(f"the signature {name!r:.60} is {function!r:.60}; expected a `tf.function`.")
        return Signature(name, function)


def _class_or_function(reference: list[str]) -> Any:
    try:
        return resolve(reference)
    except ValueError:
        return resolve_class(reference)


def _method(owner: Any, name: str) -> Any:
    """Returns a method of an object, if a class of the program defines it as a function.

    Raises:
      ValueError: if no class does.
    """
    owner_class = next((base for base in type(owner).__mro__ if name in vars(base)), object)
    function = vars(owner_class).get(name)
    is_ours = owner_class.__module__.startswith("nbtf.") and name not in _CALLS
    if isinstance(function, Function) or (isinstance(function, FunctionType) and not is_ours):
        bound: Any = function
        return bound.__get__(owner)
    raise ValueError(f"{name!r:.60} is not a function of the class {type(owner).__qualname__}.")


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
        return {key: _as_shape(entry) for key, entry in entries.items()}
    if isinstance(value, list) and not all(length is None or isinstance(length, int) for length in value):  # pyright: ignore[reportUnknownVariableType]
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_as_shape(item) for item in items]
    return tuple(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _custom_objects(config: Any, classes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the classes and functions in a config that do not belong to Keras, keyed by their names in it.

    Raises:
      ValueError: if a class or function cannot be found.
    """
    return {
        name: resolve_class([module, name]) if is_class else resolve([module, name])
        for module, name, is_class in custom_names(config)
        if name not in classes and get_registered_object(name) is None
    }
