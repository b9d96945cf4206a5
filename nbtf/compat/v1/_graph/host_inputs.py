"""Which attributes of an op are inputs in a graph: axes, shapes and other numbers, and how their nodes are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbtf._types import DType, as_dtype
from nbtf.compat.v1._graph.static import constant_value
from nbtf.compat.v1._graph.tensor import GraphTensor


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


def as_array(value: Any, given: Any, dtype: DType | None) -> Any:
    """Returns the value of an attribute as its node has it: int32, unless an array of int64 was given."""
    if dtype is not None:
        return np.asarray(value, dtype.np_dtype)
    own = getattr(given, "dtype", None)
    return np.asarray(value, np.int64 if own is not None and np.dtype(np.int64) == _np_dtype(own) else np.int32)


def _np_dtype(dtype: Any) -> Any:
    return as_dtype(dtype).np_dtype


def spliced(inputs: Sequence[GraphTensor], hosts: Sequence[HostInput], made: Mapping[str, GraphTensor]) -> list[Any]:
    """Returns all inputs of a node in TensorFlow's order."""
    found = list(inputs)
    for host in hosts:
        if host.attr in made:
            found.insert(len(found) if host.place is None else host.place, made[host.attr])
    return found
