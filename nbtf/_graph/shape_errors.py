"""What is said of inputs that do not fit, in the words of TensorFlow's shape functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from nbtf._graph.tensor import GraphTensor

Dims = Sequence[int | None]
_SHOWN = 3
"""Elements of a small constant that are shown; as the text of a tensor in TensorFlow."""


def misfit(op: Any, name: str, arguments: Sequence[Any], hosts: Sequence[GraphTensor], attrs: Any, problem: str) -> str:
    """Returns the text of the ValueError for inputs of which no result can be made.

    Args:
      op: the op.
      name: the node's name.
      arguments: its inputs, lists where it takes lists.
      hosts: all inputs of the node, in TensorFlow's order.
      attrs: its attributes.
      problem: what the op's own rule says is wrong.
    """
    rule = _RULES.get(op.type, _broadcast if op.function is not None and len(op.tokens) > 1 else None)
    text = (None if rule is None else rule(arguments, attrs)) or problem
    shapes = ", ".join([shape_text(host._shape.dims) for host in hosts])
    values = ", ".join(
        [f"input[{i}] = {_value_text(_constant(host))}" for i, host in enumerate(hosts) if _is_small(host)]
    )
    return f"{text} for '{name}' (op: '{op.type}') with input shapes: {shapes}" + (
        f" and with computed input tensors: {values}." if values else "."
    )


def shape_text(dims: Dims | None) -> str:
    """Returns a shape as TensorFlow's shape functions print it: `[2,?]`."""
    return "<unknown>" if dims is None else f"[{','.join('?' if n is None else str(n) for n in dims)}]"


def _is_small(tensor: GraphTensor) -> bool:
    """Tells whether a tensor is a constant of a shape, an axis or the like."""
    value = _constant(tensor)
    return value is not None and value.dtype.kind == "i" and value.ndim < 2


def _constant(tensor: GraphTensor) -> Any:
    """Returns the value of a constant; None of other tensors."""
    return tensor._value if tensor._node is None else tensor._node.attrs.get("value")


def _value_text(value: Any) -> str:
    flat = np.asarray(value).reshape(-1).tolist()
    ellipsis = "..." if len(flat) > _SHOWN else ""
    return f"<{' '.join(map(str, flat[:_SHOWN]))}{ellipsis}>"


def _dims(tensor: GraphTensor) -> list[int | None]:
    return tensor._shape.dims or []


def _unequal(a: int | None, b: int | None) -> str:
    return f"Dimensions must be equal, but are {a} and {b}"


def _product(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    left, right = _dims(arguments[0]), _dims(arguments[1])
    for dims in (left, right):
        if len(dims) != 2:
            return f"Shape must be rank 2 but is rank {len(dims)}"
    return _unequal(left[0 if attrs["transpose_a"] else 1], right[1 if attrs["transpose_b"] else 0])


def _batches(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    left, right = _dims(arguments[0]), _dims(arguments[1])
    for dims in (left, right):
        if len(dims) < 2:
            return f"Shape must be at least rank 2 but is rank {len(dims)}"
    a, b = left[-2 if attrs["adj_x"] else -1], right[-1 if attrs["adj_y"] else -2]
    return _unequal(a, b) if None not in (a, b) and a != b else _first_unequal(left[:-2], right[:-2])


def _broadcast(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    return _first_unequal(_dims(arguments[0]), _dims(arguments[1]))


def _first_unequal(left: Dims, right: Dims) -> str | None:
    rank = max(len(left), len(right))
    padded = [(1,) * (rank - len(dims)) + tuple(dims) for dims in (left, right)]
    for a, b in zip(*padded, strict=True):
        if a != b and None not in (a, b) and 1 not in (a, b):
            return _unequal(a, b)
    return None


def _merged(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    first = _dims(arguments[0][0])
    for argument in reversed(arguments[0]):
        difference = _different(first, _dims(argument), None)
        if difference:
            return f"{difference}\n\tFrom merging shape 0 with other shapes."
    return None


def _joined(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    first = _dims(arguments[0][0])
    if not -len(first) <= attrs["axis"] < len(first):
        least_rank = attrs["axis"] + 1 if attrs["axis"] >= 0 else -attrs["axis"]
        return f"Shape must be at least rank {least_rank} but is rank {len(first)}"
    for argument in arguments[0][1:]:
        difference = _different(first, _dims(argument), attrs["axis"] % max(len(first), 1))
        if difference:
            return difference
    return None


def _different(first: Dims, second: Dims, free: int | None) -> str | None:
    """Returns what keeps two shapes from being the same, except along one axis."""
    if len(first) != len(second):
        return f"Shapes must be equal rank, but are {len(first)} and {len(second)}"
    for axis, (a, b) in enumerate(zip(first, second, strict=True)):
        if axis != free and a != b and None not in (a, b):
            return (
                f"Dimension {axis} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {_without(first, free)} and {_without(second, free)}."
            )
    return None


def _without(dims: Dims, free: int | None) -> str:
    return shape_text(dims if free is None else [n for axis, n in enumerate(dims) if axis != free])


def _reshaped(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    dims, target = _dims(arguments[0]), attrs["shape"]
    if None in dims:
        return None
    size, known_size = prod([n for n in dims if n is not None]), prod([n for n in target if n != -1])
    if -1 in target:
        return f"Dimension size must be evenly divisible by {known_size} but is {size}"
    return f"Cannot reshape a tensor with {size} elements to shape {shape_text(target)} ({known_size} elements)"


def _expanded(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    rank, (axis,) = len(_dims(arguments[0])), attrs["axis"]
    return f"dim {axis} not in the interval [{-rank - 1}, {rank}]."


def _reduced(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    rank, axis = len(_dims(arguments[0])), attrs["axis"]
    axes: Sequence[int] = [axis] if isinstance(axis, int) else axis or ()
    outside = [axis for axis in axes if not -rank <= axis < rank]
    return f"Invalid reduction dimension {outside[0]} for input with {rank} dimensions." if outside else None


def _split(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    dims, count = _dims(arguments[0]), attrs["num_split"]
    if not -len(dims) <= attrs["axis"] < len(dims):
        return None
    return (
        f"Dimension size must be evenly divisible by {count} but is {dims[attrs['axis']]}\n"
        "\tNumber of ways to split should evenly divide the split dimension"
    )


def _permuted(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    rank, count = len(_dims(arguments[0])), len(attrs["perm"])
    return f"Dimension must be {rank} but is {count}" if rank != count else None


def _tiled(arguments: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    return f"Shape must be rank {len(_dims(arguments[0]))} but is rank {len(attrs['multiples'])}"


_RULES: dict[str, Callable[[Sequence[Any], Mapping[str, Any]], str | None]] = {
    "AddN": _merged,
    "BatchMatMulV2": _batches,
    "ConcatV2": _joined,
    "ExpandDims": _expanded,
    "MatMul": _product,
    "Pack": _merged,
    "Reshape": _reshaped,
    "Split": _split,
    "Tile": _tiled,
    "Transpose": _permuted,
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _reduced),
}
"""Ops whose text is not that of elementwise ones. Source: common_shape_fns.cc and *_ops.cc of TensorFlow 1.15."""
