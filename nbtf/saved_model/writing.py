"""Saves an object to a folder: its structure as JSON and its values as arrays, without code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtf._graph.function import Function
from nbtf._ops.module import Module
from nbtf._ops.variables.variable import Variable
from nbtf._runtime import names
from nbtf._runtime.logger import get_logger
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._storage import folders
from nbtf._storage.archives import is_storable, storable
from nbtf._storage.documents import as_document
from nbtf._storage.limits import OBJECT_LEVELS, saving
from nbtf._types import DType
from nbtf.keras.registry import get_registered_name, serialized
from nbtf.keras.saving import arrays
from nbtf.keras.saving.arrays import variables_of
from nbtf.keras.saving.models import as_plain, seeds_of
from nbtf.keras.variables import Variable as KerasVariable
from nbtf.saved_model.references import (
    FORMAT_KEEPS,
    is_resolvable,
    is_saved_by_attributes,
    reference_to,
    remember_functions,
)
from nbtf.saved_model.schema import DOCUMENT, NODES
from nbtf.train.object_graph import check_is_ours, foreign_reason

FORMAT = "nbtf-saved-model/1"
OBJECTS, VALUES = "saved_model.json", "values.npz"
SERVING_DEFAULT = "serving_default"
_PLAIN = (bool, int, float, str)
_NOT_OURS = sys.stdlib_module_names - {"__main__"} | {"numpy"}


class UnkeptError(Exception):
    """Raised for a value that the format cannot store."""


def save(
    obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: Any = None, **ignored: Any
) -> None:
    """Saves an object (a module, Keras model or checkpoint) to a folder, from which `load` recreates it.

    TensorFlow saves graphs, which run without the program. nbtf saves the object's structure (plain values, lists,
    dictionaries, variables, modules, layers) and the names of classes and functions, so the loading program must have
    these classes. Attributes that cannot be stored are left out, and one warning names them. An optimizer outside a
    compiled model keeps its settings and its counter.

    Args:
      obj: an object with attributes: a `tf.Module`, a Keras model or layer, or a `tf.train.Checkpoint`.
      export_dir: the folder; created if necessary.
      signatures: a method of `obj` decorated with `tf.function`, or a dictionary of such methods by name. By default,
        `serving_default` is the Keras model itself, or the only function of a module with an `input_signature`.
      options: accepted and ignored.
      **ignored: accepted for compatibility and ignored.

    Raises:
      ValueError: if `obj` has no attributes, or a signature is not a function that belongs to it.

    >>> import tempfile
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = tf.Variable(2.0)
    ...     @tf.function(input_signature=[tf.TensorSpec([None])])
    ...     def __call__(self, x):
    ...         return self.slope * x
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.saved_model.save(Line(), folder)
    ...     line = tf.saved_model.load(folder)
    >>> line([1.0, 2.0]).numpy(), list(line.signatures)
    (array([2., 4.], dtype=float32), ['serving_default'])
    """
    check_is_ours(obj)
    root_class: Any = obj.__class__
    if not _has_attributes(obj) or not is_resolvable(root_class):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, "
            f"for export. Got {obj} with type {type(obj)}."
        )
    writer = Writer()
    try:
        with saving(export_dir):
            root = writer.describe(obj)
    except UnkeptError:
        raise ValueError(
            f"Expected an object of type `Trackable`, such as `tf.Module`. Got {obj} with type {type(obj)}, which the "
            "format cannot store."
        ) from None
    document = {"format": FORMAT, "root": root, "signatures": writer.signatures_of(obj, signatures)}
    with saving(export_dir):
        contents = writer.contents(document)
    if writer.left_out:
        get_logger().warning(
            "tf.saved_model.save leaves out attributes that it cannot store: %s", ", ".join(writer.left_out)
        )
    folders.write(export_dir, contents)


def _has_attributes(obj: Any) -> bool:
    """Returns whether an object can be the root of a saved folder."""
    if isinstance(obj, Module | Variable):
        return True
    return hasattr(obj, "__dict__") and not isinstance(obj, type | Function | Mapping | Tensor)


class Writer:
    """Collects the parts of an object, each once, even if several references lead to it."""

    def __init__(self) -> None:
        """Starts empty."""
        self.nodes: list[dict[str, Any]] = []
        self.values: dict[str, np.ndarray[Any, Any]] = {}
        self.left_out: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # keeps objects alive so that their ids stay unique
        self._level = 0

    def contents(self, document: dict[str, Any]) -> dict[str, bytes]:
        """Returns the files of the folder, after checking them against the limits of `load`.

        Args:
          document: the description of the object, without the nodes.

        Raises:
          UnsavableError: if a part exceeds a limit or does not match the schema.
        """
        values = io.BytesIO()
        arrays.write(values, self.values)
        schema = {**DOCUMENT, "nodes": [NODES[node["kind"]] for node in self.nodes]}
        objects = as_document({**document, "nodes": self.nodes}, schema)
        return {VALUES: values.getvalue(), OBJECTS: objects}

    def describe(self, value: Any) -> Any:
        """Returns the JSON description of a value.

        Raises:
          UnkeptError: if the format cannot store it.
          UnsavableError: if objects are nested too deeply.
        """
        if value is None or type(value) in _PLAIN:
            return value
        OBJECT_LEVELS.check(self._level)
        self._level += 1
        try:
            return self._described_object(value)
        finally:
            self._level -= 1

    def _described_object(self, value: Any) -> Any:
        """Returns the JSON description of an object."""
        if id(value) in self._numbers:
            return {"node": self._numbers[id(value)]}
        if isinstance(value, tuple):
            items: Any = value  # pyright: ignore[reportUnknownVariableType]
            return {"tuple": [self.describe(item) for item in items]}
        if isinstance(value, set | frozenset):
            members: Any = value  # pyright: ignore[reportUnknownVariableType]
            return {type(members).__name__: [self.describe(member) for member in members]}
        simple = self._described(value)
        if simple is not None:
            return simple
        return self._node(value)

    def _described(self, value: Any) -> dict[str, Any] | None:
        """Returns the description of a value that needs no node; None for other values."""
        if isinstance(value, DType):
            return {"dtype": value.name}
        if isinstance(value, TensorShape):
            return {"shape": None if value.rank is None else value.as_list()}
        if type(value) is TensorSpec:
            return {"spec": [self.describe(value.shape), value.dtype.name, value.name]}
        if isinstance(value, Tensor) and not isinstance(value, Variable):
            return {"tensor": self._array(value), "dtype": value.dtype.name}
        if isinstance(value, np.ndarray | np.generic):
            array: Any = value  # pyright: ignore[reportUnknownVariableType]
            if not is_storable(array):
                raise UnkeptError
            is_text = array.dtype.kind == "O"
            return {"array": self._array(array), "scalar": isinstance(array, np.generic), "text": is_text}
        if isinstance(value, names.name_scope):
            return {"name_scope": value.name}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return self._callable(value)
        return None

    def _callable(self, value: Any) -> dict[str, Any]:
        """Returns the description of a class or function by its location, or of a method by its object."""
        if not isinstance(value, type) and getattr(value, "__self__", None) is not None:
            if isinstance(value.__self__, type):
                raise UnkeptError
            return {"method": [self.describe(value.__self__), value.__name__]}
        reference = reference_to(value)
        if reference is not None:
            return {"place": reference}
        if isinstance(value, Function):
            inner = self._callable(value.python_function)
            return {"function": inner, "signature": self.describe(value.input_signature)}
        raise UnkeptError

    def _array(self, value: Any) -> str:
        array = arrays.value_of(value) if hasattr(value, "numpy") else storable(value)
        name = str(len(self.values))
        self.values[name] = array
        return name

    def _node(self, value: Any) -> dict[str, Any]:
        number = len(self.nodes)
        self._numbers[id(value)] = number
        self._alive.append(value)
        node: dict[str, Any] = {}
        self.nodes.append(node)
        try:
            node.update(self._content(value))
        except UnkeptError:
            del self._numbers[id(value)]
            raise
        return {"node": number}

    def _content(self, value: Any) -> dict[str, Any]:
        value_class: Any = value.__class__
        if isinstance(value, KerasVariable):
            return {"kind": "keras_variable", "of": self.describe(value.value), "name": value.name}
        if isinstance(value, Variable):
            return self._variable(value)
        if isinstance(value, list):
            items: Any = value  # pyright: ignore[reportUnknownVariableType]
            return {"kind": "list", "items": self._items(enumerate(items))}
        if isinstance(value, Mapping):
            entries: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
            return {"kind": "dict", "items": self._items(entries.items())}
        if hasattr(value, "get_config") and hasattr(value_class, "from_config"):
            return self._keras(value)
        return self._object(value)

    def _variable(self, value: Any) -> dict[str, Any]:
        return {
            "kind": "variable",
            "name": value.name.rpartition(":")[0].rpartition("/")[2],
            "trainable": bool(value.trainable),
            "dtype": value.dtype.name,
            "shape": None if value.shape.rank is None else value.shape.as_list(),
            "value": self._array(value),
        }

    def _keras(self, value: Any) -> dict[str, Any]:
        """Returns a model, layer, optimizer, metric or loss as its config and its values by name."""
        variables = variables_of(value) if hasattr(value, "variables") else {}
        config = json.loads(json.dumps(serialized(value), default=as_plain))
        compiled = _compile_config(value)
        remember_functions([config, compiled])
        return {
            "kind": "keras",
            "classes": _own_classes(value),
            "config": config,
            "build": getattr(value, "_build_shape", None) if getattr(value, "built", False) else None,
            "compile": compiled,
            "seeds": [[generator.seed, generator._count] for generator in seeds_of(value)],
            "values": {name: self._array(variable) for name, variable in variables.items()},
        }

    def _object(self, value: Any) -> dict[str, Any]:
        object_class: Any = value.__class__
        if object_class.__module__.partition(".")[0] in _NOT_OURS or not hasattr(value, "__dict__"):
            raise UnkeptError
        if isinstance(value, Function):
            return {"kind": "function", **self._callable(value)}
        if not is_saved_by_attributes(object_class) or foreign_reason(value):
            raise UnkeptError
        attributes = {name: value for name, value in value.__dict__.items() if name != "signatures"}
        return {
            "kind": "object",
            "class": reference_to(object_class),
            "attributes": self._items(attributes.items(), object_class.__name__),
        }

    def _items(self, entries: Any, owner: str = "") -> list[list[Any]]:
        """Returns pairs of name and value, without an object's attributes that cannot be stored."""
        pairs: list[list[Any]] = []
        for name, value in entries:
            try:
                pairs.append([self.describe(name), self.describe(value)])
            except UnkeptError:
                if not owner:
                    raise
                self.left_out.append(f"{owner}.{name} ({type(value).__name__})")
        return pairs

    # Signatures

    def signatures_of(self, obj: Any, requested: Any) -> dict[str, Any]:
        """Returns the JSON descriptions of the signatures.

        Raises:
          ValueError: if a signature is not a function that belongs to the object.
        """
        if requested is None:
            return self._signatures_without_asking(obj)
        named: Mapping[str, Any] = requested if isinstance(requested, Mapping) else {SERVING_DEFAULT: requested}  # pyright: ignore[reportUnknownVariableType]
        signatures: dict[str, Any] = {}
        for name, function in named.items():
            if not callable(function):
                raise ValueError(
                    f"Expected a TensorFlow function for which to generate a signature, but got {function}. "
                    "Methods of the object and `tf.function`s can be used as a signature."
                )
            signatures[name] = self._signature(obj, name, function)
        return signatures

    def _signatures_without_asking(self, obj: Any) -> dict[str, Any]:
        if hasattr(obj, "get_config") and hasattr(obj, "call"):
            return {SERVING_DEFAULT: {"root": True}} if getattr(obj, "built", False) else {}
        attributes: dict[str, Any] = {**_class_attributes(obj.__class__), **obj.__dict__}
        names = [name for name, value in attributes.items() if isinstance(value, Function) and value.input_signature]
        return {SERVING_DEFAULT: {"attribute": names[0]}} if len(names) == 1 else {}

    def _signature(self, obj: Any, name: str, function: Any) -> dict[str, Any]:
        if function is obj:
            return {"root": True}
        for attribute, value in obj.__dict__.items():
            if value is function:
                return {"attribute": attribute}
        method = function.python_function if isinstance(function, Function) else function
        owner = getattr(method, "__self__", None)
        if owner is not None:
            return {"method": [self.describe(owner), method.__name__]}
        try:
            return self._callable(function)
        except UnkeptError:
            function_name = getattr(method, "__qualname__", str(method))
            raise ValueError(
                f"The signature {name!r} is {function_name}, which is neither a method of the object nor found in a "
                "module. " + FORMAT_KEEPS.format(name=function_name, last=name)
            ) from None


def _own_classes(value: Any) -> dict[str, Any]:
    """Returns where a model's custom layer classes are defined, keyed by their names in its config."""
    layers: list[Any] = value._flatten_layers() if hasattr(value, "_flatten_layers") else [value]
    classes: set[Any] = {type(layer) for layer in (value, *layers)}
    return {
        get_registered_name(layer_class): reference_to(layer_class)
        for layer_class in classes
        if not layer_class.__module__.startswith("nbtf.keras.")
    }


def _class_attributes(owner_class: type) -> dict[str, Any]:
    return {name: value for base in reversed(owner_class.__mro__) for name, value in vars(base).items()}


def _compile_config(value: Any) -> Any:
    if not getattr(value, "compiled", False):
        return None
    return json.loads(json.dumps(value.get_compile_config(), default=as_plain))
