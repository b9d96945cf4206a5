"""The messages of `step_stats`: when and where each node ran, and its outputs."""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BOOL, INT32, INT64, STRING
from nbtf._storage.messages.message import Fields, Message


class TensorShapeProto(Message):
    """The dimensions of a tensor."""

    class Dim(Message):
        """One dimension."""

        FIELDS: ClassVar[Fields] = {"size": (1, INT64), "name": (2, STRING)}

    FIELDS: ClassVar[Fields] = {"dim": (2, [Dim]), "unknown_rank": (3, BOOL)}


class AllocationDescription(Message):
    """The memory of a tensor."""

    FIELDS: ClassVar[Fields] = {
        "requested_bytes": (1, INT64),
        "allocated_bytes": (2, INT64),
        "allocator_name": (3, STRING),
    }


class TensorDescription(Message):
    """A tensor without its values; `dtype` is TensorFlow's number for the dtype."""

    FIELDS: ClassVar[Fields] = {
        "dtype": (1, INT32),
        "shape": (2, TensorShapeProto),
        "allocation_description": (4, AllocationDescription),
    }


class NodeOutput(Message):
    """An output of a node."""

    FIELDS: ClassVar[Fields] = {"slot": (1, INT32), "tensor_description": (3, TensorDescription)}


class NodeExecStats(Message):
    """One run of one node, with times in µs; fields with `rel` are relative to `all_start_micros`."""

    FIELDS: ClassVar[Fields] = {
        "node_name": (1, STRING),
        "all_start_micros": (2, INT64),
        "op_start_rel_micros": (3, INT64),
        "op_end_rel_micros": (4, INT64),
        "all_end_rel_micros": (5, INT64),
        "output": (7, [NodeOutput]),
        "timeline_label": (8, STRING),
        "scheduled_micros": (9, INT64),
        "thread_id": (10, INT32),
        "all_start_nanos": (13, INT64),
        "op_start_rel_nanos": (14, INT64),
        "op_end_rel_nanos": (15, INT64),
        "all_end_rel_nanos": (16, INT64),
        "scheduled_nanos": (17, INT64),
    }


class DeviceStepStats(Message):
    """What ran on one device."""

    FIELDS: ClassVar[Fields] = {"device": (1, STRING), "node_stats": (2, [NodeExecStats])}


class StepStats(Message):
    """The nodes that ran in a call of `Session.run`, grouped by device."""

    FIELDS: ClassVar[Fields] = {"dev_stats": (1, [DeviceStepStats])}
