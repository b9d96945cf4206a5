"""Reads the object graph in a checkpoint that TensorFlow wrote.

Source: TensorFlow, `tensorflow/core/protobuf/trackable_object_graph.proto`.
"""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.limits import ARRAYS, INDEX_BYTES, NAME_BYTES
from nbtf._storage.messages.field_types import BYTES, INT32, STRING
from nbtf._storage.messages.message import Fields, Message
from nbtf._storage.refusal import refusing
from nbtf.train.object_graph import Node

_VALUE = "VARIABLE_VALUE"


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
        ARRAYS.check(len(objects))
        if not objects:
            raise ValueError("it contains no object")
        return [_node(number, _Object.FromString(message), len(objects)) for number, message in enumerate(objects)]


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
