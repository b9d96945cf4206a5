"""The dtypes and shapes of a new node's outputs, by the op's own rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._graph.operation import flat
from nbtf._graph.static import known_lengths
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.op import Op
from nbtf._ops.specs import UNKNOWN
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError

Known = list[tuple[TensorShape, DType]]


def outputs_of(op: Op, arguments: Sequence[Any], attrs: dict[str, Any], unknown: frozenset[str] = frozenset()) -> Known:
    """Returns shape and dtype of each output of an op on graph tensors.

    Args:
      op: the op.
      arguments: its inputs; lists where it takes lists.
      attrs: its normalised attributes.
      unknown: names of the attributes that have no value before a session runs.

    Raises:
      TypeError: if the op does not support these dtypes.
      InvalidArgumentError: if the shapes do not fit; the text comes from the op's own rule.
    """
    try:
        dtypes = op.check(arguments, attrs)
    except InvalidArgumentError as error:
        raise TypeError(_disagreement(op, arguments) or error.message) from None
    attrs_known = {name: lengths_of_attr(attrs[name]) if name in unknown else value for name, value in attrs.items()}
    specs = [list(map(spec_of, value)) if value.__class__ is list else spec_of(value) for value in arguments]
    try:
        shapes = op.shapes(specs, attrs_known, bool(unknown))
    except _UNDECIDED:
        if all([tensor._shape.is_fully_defined() for tensor in flat(arguments)]):
            raise
        shapes = [None] * len(op.results)
    return list(zip(map(TensorShape, shapes), op.output_dtypes(dtypes, attrs, len(shapes)), strict=True))


def lengths_of_attr(value: Any) -> Any:
    """Returns the known part of an attribute that is a tensor: its lengths, or `UNKNOWN`."""
    lengths = known_lengths(value)
    return UNKNOWN if lengths is None else tuple(lengths)


def _disagreement(op: Any, arguments: Sequence[Any]) -> str | None:
    """Returns a text about two inputs whose dtypes should match but differ; None if that is not the problem."""
    first: dict[str, tuple[str, DType]] = {}
    for token, name, value in zip(op.tokens, op.inputs, arguments, strict=True):
        if value.__class__ is list:
            dtypes = [item._dtype for item in value]
            if len(set(dtypes)) > 1:
                names = ", ".join([item.name for item in dtypes])
                return (
                    f"Tensors in list passed to '{name}' of '{op.type}' Op have types [{names}] that don't all match."
                )
            continue
        other_name, dtype = first.setdefault(token, (name, value._dtype))
        if dtype is not value._dtype:
            return (
                f"Input '{name}' of '{op.type}' Op has type {value._dtype.name} that does not match "
                f"type {dtype.name} of argument '{other_name}'."
            )
    return None


def spec_of(tensor: GraphTensor) -> Spec:
    """Returns the known shape and dtype of a tensor; its `shape` is None if even the rank is unknown."""
    dims: Any = tensor._shape._dims  # for a variable's own output, the dimensions of its value
    return Spec(dims, tensor._dtype)


_UNDECIDED = (TypeError, ValueError, ArithmeticError, IndexError)
"""Errors that a rule raises when it calculates with an unknown length."""
