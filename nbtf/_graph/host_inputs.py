"""Which attributes of an op are inputs in a graph: axes, shapes and other numbers, and how their nodes are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._graph.static import constant_value
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import find_op
from nbtf._types import as_dtype, int32, int64


class HostInput(NamedTuple):
    """An attribute that is an input: its name here, TensorFlow's name of the input, and its place among the inputs."""

    attr: str
    name: str
    place: int | None = None
    """None at the end."""


_AXES = (HostInput("axis", "reduction_indices"),)
_SEGMENTS = (HostInput("num_segments", "num_segments"),)

# Source: the arguments of the ops in core/ops/*.cc of TensorFlow 2.21, and the names which its Python wrappers give.
_INPUTS: dict[str, tuple[HostInput, ...]] = {
    "All": _AXES,
    "Any": _AXES,
    "ArgMax": (HostInput("axis", "dimension"),),
    "ArgMin": (HostInput("axis", "dimension"),),
    "Conv2DBackpropFilter": (HostInput("filter_sizes", "filter_sizes", 1),),
    "Conv2DBackpropInput": (HostInput("input_sizes", "input_sizes", 0),),
    "EuclideanNorm": _AXES,
    "ExpandDims": (HostInput("axis", "dim"),),
    "Fill": (HostInput("dims", "dims", 0),),
    "Max": _AXES,
    "Mean": _AXES,
    "Min": _AXES,
    "OneHot": (HostInput("depth", "depth", 1),),
    "PadV2": (HostInput("paddings", "paddings", 1),),
    "Prod": _AXES,
    "RandomUniformInt": (HostInput("shape", "shape"), HostInput("minval", "min"), HostInput("maxval", "max")),
    "Split": (HostInput("axis", "split_dim", 0),),
    "SplitV": (HostInput("size_splits", "Const"), HostInput("axis", "split_dim")),
    "StridedSlice": (HostInput("begin", "stack"), HostInput("end", "stack_1"), HostInput("strides", "stack_2")),
    "Sum": _AXES,
}
"""Ops for which the names or places are not the plain ones: an attribute's own name, at the end."""

REDUCTIONS = frozenset({"All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"})


def host_inputs_of(op: Any) -> tuple[HostInput, ...]:
    """Returns the attributes of an op that are inputs in a graph, in TensorFlow's order."""
    known = _INPUTS.get(op.type)
    if known is None:
        known = _INPUTS[op.type] = tuple([HostInput(name, name) for name in op.host_inputs])
    return known


def holds_tensors(value: Any) -> bool:
    """Tells whether a value is a tensor of a graph, or a list with one in it."""
    if isinstance(value, GraphTensor):
        return True
    return value.__class__ in (list, tuple) and any([holds_tensors(one) for one in value])


class Read(NamedTuple):
    """The attributes of a node: normalised as far as they are known, and those that only a run tells."""

    attrs: dict[str, Any]
    unknown: frozenset[str]


def read_attrs(op: Any, attrs: dict[str, Any]) -> Read:
    """Returns the attributes of a new node; those given as tensors with the values that the graph knows.

    Raises:
      TypeError: a tensor stands for an attribute that is part of the node itself.
    """
    symbolic = {name for name, value in attrs.items() if holds_tensors(value)}
    if not symbolic:
        return Read(op.normalised(attrs), frozenset())
    if not symbolic.issubset(op.host_inputs):
        name = min(symbolic.difference(op.host_inputs))
        raise TypeError(
            f"The attribute '{name}' of {op.type} is part of the node, so it must be a Python value: "
            f"{attrs[name]!r} has none before a session runs."
        )
    known = {name: constant_value(attrs[name]) for name in symbolic}
    unknown = frozenset([name for name, value in known.items() if value is None])
    plain = {name: known.get(name, value) for name, value in attrs.items()}
    for name, normalise in op.normalisers.items():
        if name not in unknown:
            plain[name] = normalise(plain[name])
    return Read({name: attrs[name] if name in unknown else value for name, value in plain.items()}, unknown)


_DEFAULTS = {("GatherV2", "axis"): 0, ("ArgMax", "axis"): 0, ("ArgMin", "axis"): 0}
"""What stands for attributes that nobody gave, besides the axes of reductions and the order of `Transpose`."""


def array_of(op: Any, host: HostInput, arguments: Sequence[Any], attrs: Mapping[str, Any], given: Any) -> Any:
    """Returns the value that the constant of an attribute has: int32, unless int64 was given.

    Args:
      op: the op.
      host: which attribute.
      arguments: the op's inputs.
      attrs: its attributes, normalised.
      given: the attribute as the program gave it.

    Returns:
      An array; None where nobody gave a value and the shapes do not tell.
    """
    if given is not None:
        own = getattr(given, "dtype", None)
        dtype = int32 if own is None or as_dtype(own) is not int64 else int64
        if op.type in ("Range", "RandomUniformInt") and host.attr != "shape":
            dtype = attrs["dtype"]
        array = np.asarray(attrs[host.attr], dtype.np_dtype)
        return array.reshape(()) if array.size == 1 and not np.ndim(given) else array
    known = _DEFAULTS.get((op.type, host.attr))
    if known is not None:
        return np.asarray(known, np.int32)
    rank = arguments[0]._shape.rank if op.type in REDUCTIONS or host.attr == "perm" else None
    if rank is None:
        return None
    axes = np.arange(rank, dtype=np.int32)
    return axes if op.type in REDUCTIONS else axes[::-1]


def spliced(inputs: Sequence[GraphTensor], hosts: Sequence[HostInput], made: Mapping[str, GraphTensor]) -> list[Any]:
    """Returns all inputs of a node in TensorFlow's order."""
    found = list(inputs)
    for host in hosts:
        if host.attr in made:
            found.insert(len(found) if host.place is None else host.place, made[host.attr])
    return found


def late_attrs(
    graph: Any,
    op: Any,
    arguments: Sequence[Any],
    given: Mapping[str, Any],
    read: Read,
    node: str,
    hosts: Sequence[HostInput],
) -> dict[str, GraphTensor]:
    """Returns the tensors that stand for attributes of a new node: those given, constants of the others.

    Args:
      graph: the graph, in which constants are made.
      op: the op.
      arguments: its inputs.
      given: the attributes as the program gave them.
      read: what they are; a list with tensors in it becomes one tensor there.
      node: the node's name.
      hosts: the attributes that are wanted.
    """
    found: dict[str, GraphTensor] = {}
    for host in hosts:
        value = given[host.attr]
        if isinstance(value, GraphTensor):
            found[host.attr] = value
        elif holds_tensors(value):
            found[host.attr] = read.attrs[host.attr] = _packed(graph, value, f"{node}/{host.name}")
        else:
            array = array_of(op, host, arguments, read.attrs, value)
            if array is not None:
                by_itself = host.name == "Const" or (value is None and op.type in REDUCTIONS)
                name = graph.unique_name("Const") if by_itself else graph._names.unique(f"{node}/{host.name}")
                found[host.attr] = graph._constant_named(name, array)
    return found


def _packed(graph: Any, values: Sequence[Any], name: str) -> GraphTensor:
    """Returns a vector of numbers, some of which only a run tells: a node of its own."""
    waiting: list[GraphTensor] = graph._unnamed
    graph._unnamed = []
    packed: GraphTensor = find_op("Pack")(list(values), axis=0, name=f"{graph._names.unique(name)}/")
    graph._unnamed = waiting
    return packed
