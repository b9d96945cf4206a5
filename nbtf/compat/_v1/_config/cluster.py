"""The messages that describe a cluster: its jobs, and the addresses of their tasks."""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import INT32, STRING
from nbtf._storage.messages.message import Fields, Message

# Field numbers and types. Source: core/protobuf/cluster.proto of TensorFlow 2.21.


class JobDef(Message):
    """A job and the addresses of its tasks."""

    FIELDS: ClassVar[Fields] = {"name": (1, STRING), "tasks": (2, {INT32: STRING})}


class ClusterDef(Message):
    """The jobs of a cluster."""

    FIELDS: ClassVar[Fields] = {"job": (1, [JobDef])}
