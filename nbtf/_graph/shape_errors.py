"""Error texts for inputs whose shapes do not fit, as TensorFlow's shape functions word them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.specs import Lengths, bracketed, unequal_operands

_SHOWN = 3
"""Number of elements of a small constant that are shown, as in the text of a tensor in TensorFlow."""


def misfit(op: Any, name: str, arguments: Sequence[Any], hosts: Sequence[GraphTensor], attrs: Any, problem: str) -> str:
    """Returns the text of the ValueError for inputs that do not fit.

    Args:
      op: the op.
      name: the node's name.
      arguments: its inputs; lists where it takes lists.
      hosts: all inputs of the node, in TensorFlow's order.
      attrs: its attributes.
      problem: the problem that the op's own rule found.
    """
    rule = op.form.misfit or (unequal_operands if op.function is not None and len(op.tokens) > 1 else None)
    text = (None if rule is None else rule(*map(_shape_of, arguments), **attrs)) or problem
    shapes = ", ".join([shape_text(host._shape.dims) for host in hosts])
    values = ", ".join(
        [f"input[{i}] = {_value_text(_constant(host))}" for i, host in enumerate(hosts) if _is_small(host)]
    )
    return f"{text} for '{name}' (op: '{op.type}') with input shapes: {shapes}" + (
        f" and with computed input tensors: {values}." if values else "."
    )


def shape_text(lengths: Lengths | None) -> str:
    """Returns a shape as TensorFlow's shape functions print it: `[2,?]`."""
    return "<unknown>" if lengths is None else bracketed(lengths)


def _is_small(tensor: GraphTensor) -> bool:
    """Returns whether a tensor is a small constant, such as a shape or an axis."""
    value = _constant(tensor)
    return value is not None and value.dtype.kind == "i" and value.ndim < 2


def _constant(tensor: GraphTensor) -> Any:
    """Returns the value of a constant; None for other tensors."""
    return tensor._value if tensor._node is None else tensor._node.attrs.get("value")


def _value_text(value: Any) -> str:
    flat = np.asarray(value).reshape(-1).tolist()
    ellipsis = "..." if len(flat) > _SHOWN else ""
    return f"<{' '.join(map(str, flat[:_SHOWN]))}{ellipsis}>"


def _shape_of(argument: Any) -> Any:
    """Returns the lengths of an input, for a list those of each item; None if the rank is unknown."""
    return [*map(_shape_of, argument)] if argument.__class__ is list else argument._shape.dims or []
