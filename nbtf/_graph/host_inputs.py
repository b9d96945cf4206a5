"""Attributes of ops that are inputs in a graph, such as axes and shapes, and the names of their nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._graph.operation import flat
from nbtf._graph.static import constant_value
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.attributes import HostInput
from nbtf._ops.op import Op, find_op
from nbtf._types import DType, as_dtype, int32, int64


def holds_tensors(value: Any) -> bool:
    """Returns whether a value is a graph tensor or a list that contains one."""
    return any([item.__class__ is GraphTensor for item in flat([value])])


class Read(NamedTuple):
    """The attributes of a node: normalised as far as they are known, and those that only a run knows."""

    attrs: dict[str, Any]
    unknown: frozenset[str]


def read_attrs(op: Any, attrs: dict[str, Any]) -> Read:
    """Returns the attributes of a new node; those given as tensors have the values that the graph knows.

    Raises:
      TypeError: if an attribute that is part of the node itself is given as a tensor.
    """
    symbolic = {name for name, value in attrs.items() if holds_tensors(value)}
    if not symbolic:
        return Read(op.normalised(attrs), frozenset())
    if not symbolic.issubset(op.host_inputs):
        name = min(symbolic.difference(op.host_inputs))
        raise TypeError(
            f"The attribute '{name}' of {op.type} is part of the node, so it must be a Python value: "
            f"{attrs[name]!r} has no value before a session runs."
        )
    constants = {name: constant_value(attrs[name]) for name in symbolic}
    unknown = frozenset([name for name, value in constants.items() if value is None])
    plain = {name: constants.get(name, value) for name, value in attrs.items()}
    for name, normalise in op.normalisers.items():
        if name not in unknown:
            plain[name] = normalise(plain[name])
    return Read({name: attrs[name] if name in unknown else value for name, value in plain.items()}, unknown)


def array_of(value: Any, argument: Any, host: HostInput, rank: int | None, dtype: DType) -> Any:
    """Returns the constant's value for an attribute: int32, unless int64 or a number of the result dtype was given.

    Args:
      value: the normalised attribute.
      argument: the attribute as the program gave it.
      host: how the attribute is an input.
      rank: rank of the op's first input.
      dtype: dtype of the result.

    Returns:
      An array; None if no value was given and the shapes do not determine it.
    """
    if argument is None:
        if callable(host.default):
            return None if rank is None else np.asarray(host.default(rank), np.int32)
        return None if host.default is None else np.asarray(host.default, np.int32)
    dtype_given = getattr(argument, "dtype", None)
    integer_dtype = int32 if dtype_given is None or as_dtype(dtype_given) is not int64 else int64
    array = np.asarray(value, (dtype if host.of_result else integer_dtype).np_dtype)
    return array.reshape(()) if array.size == 1 and not np.ndim(argument) else array


def node_inputs(op: Op, inputs: Sequence[GraphTensor], attrs: Mapping[str, GraphTensor]) -> list[Any]:
    """Returns all inputs of a node in TensorFlow's order, including those that are attributes of the op."""
    ordered = list(inputs)
    for attr in op.host_inputs:
        if attr in attrs:
            host = op.form.host_input(attr)
            ordered.insert(len(ordered) if host.place is None else host.place, attrs[attr])
    return ordered


def late_attrs(
    graph: Any, op: Op, arguments: Sequence[Any], attrs_given: Mapping[str, Any], read: Read, node: str, in_front: bool
) -> dict[str, GraphTensor]:
    """Returns the tensors for attributes of a new node: the given tensors, and constants for other attributes.

    Args:
      graph: the graph in which constants are made.
      op: the op.
      arguments: its inputs.
      attrs_given: the attributes as the program gave them.
      read: the attributes as read; a list that contains tensors becomes one tensor in it.
      node: the node's name.
      in_front: whether to return the attributes that come before all inputs, or those after.
    """
    tensors: dict[str, GraphTensor] = {}
    for attr in op.host_inputs:
        host, value = op.form.host_input(attr), attrs_given[attr]
        if (host.place == 0) != in_front:
            continue
        if isinstance(value, GraphTensor):
            tensors[attr] = value
        elif holds_tensors(value):
            tensors[attr] = packed = _packed(graph, value, f"{node}/{host.name}")
            if attr in read.unknown:
                read.attrs[attr] = packed
        else:
            rank = arguments[0]._shape.rank if arguments and arguments[0].__class__ is GraphTensor else None
            array = array_of(read.attrs[attr], value, host, rank, read.attrs.get("dtype", int32))
            if array is not None:
                is_const = host.name == "Const" or (value is None and host.default is range)
                name = graph.unique_name("Const") if is_const else graph._names.unique(f"{node}/{host.name}")
                tensors[attr] = graph._constant_named(name, array)
    return tensors


def _packed(graph: Any, values: Sequence[Any], name: str) -> GraphTensor:
    """Returns a node for a vector of numbers, some of which only a run knows."""
    waiting: list[GraphTensor] = graph._unnamed
    graph._unnamed = []
    packed: GraphTensor = find_op("Pack")(list(values), axis=0, name=f"{graph._names.unique(name)}/")
    graph._unnamed = waiting
    return packed
