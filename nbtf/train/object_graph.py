"""The graph of objects that belong to an object, and the name under which each variable's value is saved."""

from __future__ import annotations

from collections.abc import Iterator as PythonIterator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from nbtf._ops.module import Module
from nbtf._ops.random.generator import Generator
from nbtf._ops.trackable import Trackable
from nbtf._ops.variables.variable import Variable as TensorVariable
from nbtf._storage.documents import parse_document
from nbtf._storage.manifest import damage
from nbtf.data.iterators import Iterator
from nbtf.keras.layers import Conv1D, Conv2D, Dense, Embedding
from nbtf.keras.layers.weights import Weights
from nbtf.keras.metrics import Metric
from nbtf.keras.models import Sequential
from nbtf.keras.models.functional import Functional
from nbtf.keras.optimizers import Optimizer
from nbtf.keras.variables import Variable

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The name under which a checkpoint stores its object graph, as in TensorFlow."""

_SCHEMA = {"nodes": [{"children": {str: int}}]}
_PROTOCOLS = ("_serialize_to_tensors", "_gather_saveables_for_checkpoint", "_trackable_children")
"""Methods that TensorFlow calls to save an object's values."""

_LIBRARIES = frozenset({"keras", "tf_keras", "tensorflow"})
"""Libraries whose layers, models and variables TensorFlow saves."""

_PLAIN = frozenset({int, float, str, bool, type(None), list, tuple, dict})
_UNTRACKED = frozenset({"_awaiting", "_weights", "_sequence", "_graph_layers", "_nodes", "_inner"})
_RENAMED: tuple[tuple[tuple[type, ...], dict[str, str]], ...] = (
    ((Dense, Conv1D, Conv2D), {"kernel": "_kernel"}),
    ((Embedding,), {"embeddings": "_embeddings"}),
)
"""Attributes with another name in Keras, and therefore in its checkpoint keys."""


@dataclass(slots=True)
class Node:
    """A saved object: the numbers of its parts by name, and the key of its value, if it has one."""

    children: dict[str, int] = field(default_factory=dict[str, int])
    key: str | None = None
    name: str = ""


def is_trackable(value: Any) -> bool:
    """Returns whether an object is a variable, or may hold some."""
    return isinstance(value, Trackable | TensorVariable | Variable | Generator | Iterator | list | tuple | dict)


def check_is_ours(value: Any) -> None:
    """Rejects an object whose values TensorFlow would save, but nbtf cannot.

    Raises:
      ValueError: if `foreign_reason` returns a reason.
    """
    reason = foreign_reason(value)
    if reason:
        value_class: Any = value.__class__
        raise ValueError(
            f"{value_class.__module__}.{value_class.__qualname__} cannot be saved or restored: {reason}. Expected an "
            f"object of `tf.keras` or a `tf.Module`. Save this object with its own library. Got {value!r:.200}."
        )


def foreign_reason(value: Any) -> str:
    """Returns why nbtf cannot save an object's values; empty if it can, or if the object has none."""
    value_class: Any = value.__class__
    if getattr(value_class, "_saves_parts", False):  # of the real Keras on nbtf
        return ""
    for name in _PROTOCOLS:
        if hasattr(value_class, name):
            return f"its class saves values with `{name}`, which nbtf does not call"
    library = value_class.__module__.partition(".")[0]
    if library in _LIBRARIES and any(hasattr(value_class, name) for name in ("variables", "weights", "assign")):
        return f"it belongs to `{library}`, and nbtf saves only its own objects"
    return ""


def is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    """Returns whether an object is a list or a tuple."""
    return isinstance(value, list | tuple)


def children_of(value: Any) -> PythonIterator[tuple[str, Any]]:
    """Yields the parts of an object that may hold variables, with the names that TensorFlow gives them.

    Raises:
      ValueError: if a part holds values that nbtf cannot save; see `check_is_ours`.
    """
    for name, child in _named_children(value):
        if type(child) not in _PLAIN:
            check_is_ours(child)
        if is_trackable(child) and (trackable := _without_keras(child)) is not None:
            yield name, trackable


def _without_keras(value: Any) -> Any:
    """Returns the tensor variable behind a variable of `tf.keras` or of the real Keras; other objects unchanged.

    A variable of Keras that has no value yet counts as missing: None.
    """
    if isinstance(value, Variable):
        return value.handle
    if isinstance(value, TensorVariable) or not hasattr(value.__class__, "__tf_variable__"):
        return value
    return getattr(value, "__tf_variable__", None)


def _named_children(value: Any) -> PythonIterator[tuple[str, Any]]:
    if isinstance(value, TensorVariable | Iterator):
        return
    if isinstance(value, dict):
        yield from _entries(value)  # pyright: ignore[reportUnknownArgumentType]
    elif is_sequence(value):
        yield from ((str(number), item) for number, item in enumerate(value))
    elif isinstance(value, Generator):
        yield "_state_var", value.state
    elif isinstance(value, Optimizer):
        yield from _parts_of_optimizer(value)
    elif isinstance(value, Weights):
        yield from _parts_of_layer(value)
    elif isinstance(value, Metric):
        yield "_variables", value.variables
    elif isinstance(value, Module):
        ignored = value._TF_MODULE_IGNORED_PROPERTIES
        yield from ((name, child) for name, child in vars(value).items() if name not in ignored and name != "_awaiting")
    elif isinstance(value, Trackable):
        yield from value._named_children()  # type: ignore[attr-defined]


def _entries(value: Mapping[Any, Any]) -> PythonIterator[tuple[str, Any]]:
    for key, entry in value.items():
        if isinstance(key, str):
            yield key, entry
        elif is_trackable(entry):
            raise ValueError(
                f"Unable to save the object {value}. The dictionary contains a non-string key, {key!r}, which maps to "
                "a trackable object or mutable data structure. Use strings as keys."
            )


def _parts_of_optimizer(optimizer: Optimizer) -> PythonIterator[tuple[str, Any]]:
    yield "_iterations", optimizer.iterations
    if isinstance(optimizer._rate, Variable):
        yield "_learning_rate", optimizer._rate
    inner = vars(optimizer).get("inner_optimizer")
    if inner is not None:
        yield "inner_optimizer", inner
    yield "_variables", optimizer.variables
    yield "_trainable_variables", optimizer._weights


def _parts_of_layer(layer: Weights) -> PythonIterator[tuple[str, Any]]:
    renamed = next((names for classes, names in _RENAMED if isinstance(layer, classes)), dict[str, str]())
    direct: set[int] = set()
    for name, child in vars(layer).items():
        if name not in layer._internal and name not in _UNTRACKED and not isinstance(child, Metric):
            direct.update(map(id, child if is_sequence(child) else (child,)))
            yield renamed.get(name, name), child
    if isinstance(layer, Functional):
        yield "_operations", layer._operations
    if isinstance(layer, Sequential):  # the layer's position, whether or not there is an input layer
        yield "_functional", {"_operations": {str(1 + number): layer for number, layer in enumerate(layer.layers)}}
    yield "optimizer", getattr(layer, "optimizer", None)
    loose = [weight for weight in layer._weights if id(weight) not in direct]
    if loose:
        yield "_weights", loose


# ---- the graph in a file


def graph_of(root: Any) -> tuple[list[Node], list[Any]]:
    """Returns the nodes of all reachable objects, and the objects; the shortest path names a value."""
    nodes, objects, paths = [Node()], [root], [""]
    numbers = {id(root): 0}
    for number, value in enumerate(objects):  # the list grows during the loop
        if isinstance(value, TensorVariable | Iterator):
            is_variable = isinstance(value, TensorVariable)
            nodes[number].key = f"{paths[number]}.ATTRIBUTES/{'VARIABLE_VALUE' if is_variable else 'ITERATOR_STATE'}"
            nodes[number].name = value.name.removesuffix(":0") if is_variable else "Iterator"
        for name, child in children_of(value):
            if id(child) not in numbers:
                numbers[id(child)] = len(objects)
                objects.append(child)
                nodes.append(Node())
                paths.append(f"{paths[number]}{_escaped(name)}/")
            nodes[number].children[name] = numbers[id(child)]
    return nodes, objects


def _escaped(name: str) -> str:
    """Returns a name without `/`, escaped as in TensorFlow's keys."""
    return name.replace(".", "..").replace("/", ".S")


def from_text(text: bytes, source: object) -> list[Node]:
    """Returns the graph that an older nbtf wrote as JSON.

    Raises:
      DataLossError: if the text is not a valid graph.
    """
    entries = parse_document(text, source, _SCHEMA)["nodes"]
    for entry in entries:
        if not all(0 <= number < len(entries) for number in entry["children"].values()):
            raise damage(source, f"an object has parts that do not exist: {entry['children']}")
        if not isinstance(entry.get("key"), str | None):
            raise damage(source, f"the key of a value is {entry['key']!r}")
    if not entries:
        raise damage(source, "it contains no object")
    return [Node(entry["children"], entry.get("key"), str(entry.get("name", ""))) for entry in entries]


def parents_in(nodes: Sequence[Node]) -> dict[int, tuple[int, str]]:
    """Returns, for each object that the root leads to, the number of the object it is a part of, and its name there."""
    parents: dict[int, tuple[int, str]] = {0: (0, "(root)")}
    order = [0]
    for number in order:  # the list grows during the loop
        for name, child in nodes[number].children.items():
            if child not in parents:
                parents[child] = number, name
                order.append(child)
    return parents


def name_of(number: int, parents: Mapping[int, tuple[int, str]]) -> str:
    """Returns the name of an object in messages, such as `(root).model.kernel`."""
    if number not in parents:
        return "(unreachable)"
    names = [parents[number][1]]
    while number:
        number = parents[number][0]
        names.append(parents[number][1])
    return ".".join(reversed(names))
