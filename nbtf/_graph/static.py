"""What is known of a tensor's value while a graph is built: of constants all, of shapes their known lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from nbtf._graph.operation import CONST, Operation
from nbtf._graph.tensor import GraphTensor

Lengths = Sequence[int | None]


def constant_value(value: Any) -> Any:
    """Returns the value of a tensor that no feed or variable decides; None where only a run tells.

    Args:
      value: a tensor of a graph, a list with such tensors in it, or a Python value, which is its own value.
    """
    if isinstance(value, GraphTensor):
        return _of_tensor(value)
    if isinstance(value, list | tuple):
        found = [constant_value(one) for one in cast("Sequence[Any]", value)]
        return None if any([one is None for one in found]) else found
    return value


def _of_tensor(tensor: GraphTensor) -> Any:
    if tensor._node is None:  # a constant that waits for its name
        return tensor._value
    node = tensor._node
    if node.record is CONST:
        return node.attrs["value"]
    rule = _RULES.get(node.type)
    return None if rule is None else rule(node)


def _shape(node: Operation) -> Any:
    shape = node.inputs[0]._shape
    return np.array(shape.as_list(), node.outputs[0]._dtype.np_dtype) if shape.is_fully_defined() else None


def _size(node: Operation) -> Any:
    count = node.inputs[0]._shape.num_elements()
    return None if count is None else np.array(count, node.outputs[0]._dtype.np_dtype)


def _rank(node: Operation) -> Any:
    rank = node.inputs[0]._shape.rank
    return None if rank is None else np.array(rank, np.int32)


def _computed(node: Operation) -> Any:
    """Runs the kernel where all inputs and attributes are known."""
    if set(node.late_attrs) - set(node.attrs_known):
        return None
    arguments = [constant_value(one) for one in node.arguments]
    if any(one is None for one in arguments):
        return None
    return node.record.kernel(np, *arguments, **node.attrs)


def _one_of_a_shape(node: Operation) -> Any:
    """Returns an element of a shape that is known in part: `tf.shape(x)[1]`."""
    whole: Any = _computed(node)
    if whole is not None:
        return whole
    lengths: Lengths | None = known_lengths(node.arguments[0])
    masks = node.attrs["masks"]
    if lengths is None or masks.shrink_axis != 1 or set(node.late_attrs) - set(node.attrs_known):
        return None
    place: int = node.attrs["begin"][0]
    found: int | None = lengths[place] if -len(lengths) <= place < len(lengths) else None
    return None if found is None else np.array(found, node.outputs[0]._dtype.np_dtype)


_RULES: dict[str, Callable[[Operation], Any]] = {
    "Shape": _shape,
    "Size": _size,
    "Rank": _rank,
    "Pack": _computed,
    "ConcatV2": _computed,
    "Cast": _computed,
    "Identity": _computed,
    "Prod": _computed,
    "Range": _computed,
    "StridedSlice": _one_of_a_shape,
}
"""Ops whose results are known where their inputs are. Source: constant_value in tensor_util.py of TensorFlow 2.21."""


def known_lengths(value: Any) -> Lengths | None:
    """Returns what is known of a shape that is given as a tensor or a list: None for a length that only a run tells.

    None for all of it where not even the number of axes is known. A length of -1 counts as not known.
    """
    whole = constant_value(value)
    if whole is not None:
        flat = np.asarray(whole).reshape(-1).tolist()
        return [None if one < 0 else int(one) for one in flat]
    if isinstance(value, GraphTensor):
        return _lengths_in(value)
    return [_length(one) for one in value]


def _length(value: Any) -> int | None:
    found = constant_value(value)
    return None if found is None or int(found) < 0 else int(found)


def _lengths_in(tensor: GraphTensor) -> Lengths | None:
    node = tensor.op
    if node.type == "Shape":
        return node.inputs[0]._shape.dims
    if node.type == "Pack":
        return [_length(one) for one in node.arguments[0]]
    if node.type == "ConcatV2":
        return _joined(node.arguments[0])
    if node.type in ("Cast", "Identity"):
        return known_lengths(node.arguments[0])
    if node.type == "StridedSlice" and not set(node.late_attrs) - set(node.attrs_known):
        return _cut(node)
    lengths = tensor._shape.dims
    return None if lengths is None or len(lengths) != 1 or lengths[0] is None else [None] * lengths[0]


def _joined(parts: Sequence[Any]) -> Lengths | None:
    found: list[int | None] = []
    for part in parts:
        lengths = known_lengths(part)
        if lengths is None:
            return None
        found += lengths
    return found


def _cut(node: Operation) -> Lengths | None:
    """Returns the part of a shape that `tf.shape(x)[1:]` is."""
    lengths: Lengths | None = known_lengths(node.arguments[0])
    masks = node.attrs["masks"]
    if lengths is None or masks.shrink_axis or masks.new_axis or masks.ellipsis or len(node.attrs["begin"]) != 1:
        return None
    start, stop, step = node.attrs["begin"][0], node.attrs["end"][0], node.attrs["strides"][0]
    return lengths[None if masks.begin else start : None if masks.end else stop : step]
