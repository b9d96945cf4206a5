"""Reads and writes the object graph of a checkpoint as a message, as TensorFlow does.

Source: TensorFlow, `tensorflow/core/protobuf/trackable_object_graph.proto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from nbtf._storage.limits import INDEX_BYTES, NAME_BYTES, OBJECTS, UnsavableError
from nbtf._storage.messages.field_types import BYTES, INT32, STRING
from nbtf._storage.messages.message import Fields, Message
from nbtf._storage.refusal import refusing
from nbtf._storage.wire import block, whole_number
from nbtf.train.object_graph import Node

_VALUE = "VARIABLE_VALUE"
_ROOT = ""
"""The name of a variable that is the root, as a part of the checkpoint. In TensorFlow, it is the first node."""


class _Graph(Message):
    FIELDS: ClassVar[Fields] = {"nodes": (1, [BYTES])}  # each is parsed only after they are counted


class _Child(Message):
    FIELDS: ClassVar[Fields] = {"node_id": (1, INT32), "local_name": (2, STRING)}


class _Value(Message):
    FIELDS: ClassVar[Fields] = {"name": (1, STRING), "full_name": (2, STRING), "checkpoint_key": (3, STRING)}


class _Object(Message):
    FIELDS: ClassVar[Fields] = {"children": (1, [_Child]), "attributes": (2, [_Value])}


def from_message(content: bytes, source: object) -> list[Node]:
    """Returns the graph in a `TrackableObjectGraph`.

    Variables that only an optimizer's slots name are nodes that no other node has as its part.

    Raises:
      DataLossError: if the bytes are not a valid graph.
    """
    with refusing(source, "is damaged in its object graph; copy or save it again"):
        INDEX_BYTES.check(len(content))
        objects = [*_Graph.FromString(content).nodes]
        OBJECTS.check(len(objects))
        if not objects:
            raise ValueError("it contains no object")
        nodes = [_node(number, _Object.FromString(message), len(objects)) for number, message in enumerate(objects)]
    return _with_root_apart(nodes) if nodes[0].key is not None else nodes


def as_message(nodes: Iterable[Node]) -> bytes:
    """Returns a graph as a `TrackableObjectGraph`.

    Raises:
      UnsavableError: if it is too large to be read back.
    """
    graph = [*nodes]
    if _ROOT in graph[0].children:
        graph = _with_root_first(graph)
    try:
        objects = [_object(node) for node in graph]
    except UnicodeEncodeError as error:
        raise UnsavableError(f"the name {error.object!r:.200} has a character that UTF-8 cannot write.") from None
    OBJECTS.check(len(objects))
    content = b"".join([block(1, message) for message in objects])
    INDEX_BYTES.check(len(content))
    return content


def _with_root_apart(nodes: Sequence[Node]) -> list[Node]:
    """Returns TensorFlow's graph with a variable that is the root in a node of its own."""
    first, new = nodes[0], len(nodes)
    apart = [_renumbered(node, {0: new}) for node in (Node(first.children), *nodes[1:])]
    apart[0].children[_ROOT] = new
    return [*apart, Node(key=first.key, name=first.name)]


def _with_root_first(nodes: Sequence[Node]) -> list[Node]:
    """Returns a graph with a variable that is the root in the first node; its own node stays, empty."""
    number = nodes[0].children[_ROOT]
    joined = [_renumbered(node, {number: 0}) for node in nodes]
    del joined[0].children[_ROOT]
    joined[0].key, joined[0].name = nodes[number].key, nodes[number].name
    joined[number] = Node()
    return joined


def _renumbered(node: Node, numbers: Mapping[int, int]) -> Node:
    return Node({name: numbers.get(child, child) for name, child in node.children.items()}, node.key, node.name)


def _object(node: Node) -> bytes:
    fields: list[bytes] = []
    for name, number in node.children.items():
        NAME_BYTES.check(len(name))
        fields.append(block(1, whole_number(1, number) + block(2, name)))
    if node.key is not None:
        attribute = node.key.rpartition("/")[2]
        fields.append(block(2, block(1, attribute) + block(2, node.name) + block(3, node.key)))
    return b"".join(fields)


def _node(number: int, message: _Object, count: int) -> Node:
    node = Node()
    for child in message.children:
        NAME_BYTES.check(len(child.local_name))
        if not 0 <= child.node_id < count:
            raise ValueError(f"object {number} has part {child.node_id}, but there are {count} objects")
        if child.local_name in node.children:
            raise ValueError(f"object {number} has two parts {child.local_name!r:.200}")
        node.children[child.local_name] = child.node_id
    values = sorted(message.attributes, key=lambda value: value.name != _VALUE)  # that of a variable first
    if values and values[0].checkpoint_key:
        node.key, node.name = values[0].checkpoint_key, values[0].full_name
    return node
