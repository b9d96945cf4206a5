"""What the outputs of a new node will be: their dtypes and shapes, by the op's own rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._graph.operation import flat
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.unknown_shapes import dims_of_results
from nbtf._runtime.execute import OpRecord
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError

Known = list[tuple[TensorShape, DType]]


def outputs_of(
    op: OpRecord, arguments: Sequence[Any], attrs: dict[str, Any], unknown: frozenset[str] = frozenset()
) -> Known:
    """Returns shape and dtype of each output of an op on tensors of a graph.

    Args:
      op: the op.
      arguments: its inputs, lists where it takes lists.
      attrs: its attributes, normalised.
      unknown: those which are tensors that have no value before a session runs.

    Raises:
      TypeError: it does not take these dtypes.
      InvalidArgumentError: the shapes do not fit, in the words of the op's own rule.
    """
    try:
        dtypes = op.check(arguments, attrs)
    except InvalidArgumentError as error:
        raise TypeError(_disagreement(op, arguments) or error.message) from None
    specs = None if unknown else _specs(op, arguments, attrs)
    if specs is not None:
        return [(TensorShape(spec.shape), spec.dtype) for spec in specs]
    count = _count(op, attrs)
    shapes = dims_of_results(op, arguments, attrs, unknown, count)
    return list(zip(map(TensorShape, shapes), op.output_dtypes(dtypes, attrs, count), strict=True))


def _disagreement(op: Any, arguments: Sequence[Any]) -> str | None:
    """Returns which two inputs should have the same dtype and have not; None where that is not what is wrong."""
    first: dict[str, tuple[str, DType]] = {}
    for token, name, value in zip(op.tokens, op.inputs, arguments, strict=True):
        if value.__class__ is list:
            dtypes = [one._dtype for one in value]
            if len(set(dtypes)) > 1:
                names = ", ".join([one.name for one in dtypes])
                return (
                    f"Tensors in list passed to '{name}' of '{op.type}' Op have types [{names}] that don't all match."
                )
            continue
        other, dtype = first.setdefault(token, (name, value._dtype))
        if dtype is not value._dtype:
            return (
                f"Input '{name}' of '{op.type}' Op has type {value._dtype.name} that does not match "
                f"type {dtype.name} of argument '{other}'."
            )
    return None


def _specs(op: OpRecord, arguments: Sequence[Any], attrs: Mapping[str, Any]) -> list[Spec] | None:
    """Returns the specs of the outputs; None if values decide them, or the rank of an input is not known."""
    specs: list[Any] = []
    for value in arguments:
        found = [_spec_of(one) for one in value] if value.__class__ is list else _spec_of(value)
        if found is None or (found.__class__ is list and None in found):
            return None
        specs.append(found)
    if op.type == "Squeeze" and attrs["axis"] is None and None in specs[0].shape:
        return None  # a length that only a run tells may be 1
    if op.type in _ALIKE:
        specs = [_merged(specs[0])]
    try:
        return op.specs(specs, attrs)
    except _UNDECIDED:
        if not any([None in spec.shape for spec in flat(specs)]):
            raise
        return None


def _spec_of(tensor: GraphTensor) -> Spec | None:
    dims = tensor._shape.dims  # of a variable's own output those of its value
    return None if dims is None else Spec(tuple(dims), tensor._dtype)


_ALIKE = frozenset({"AddN", "Pack"})
"""Ops whose inputs have one shape, of which each may say a part."""


def _merged(specs: Sequence[Spec]) -> list[Spec]:
    """Returns specs of one shape that says what all of them say; as they are where they contradict."""
    shape = TensorShape(specs[0].shape)
    try:
        for spec in specs[1:]:
            shape = shape.merge_with(TensorShape(spec.shape))
    except ValueError:
        return list(specs)
    return [Spec(tuple(shape.as_list()), spec.dtype) for spec in specs]


_UNDECIDED = (TypeError, ValueError, ArithmeticError, IndexError)
"""What a rule raises that counts with a length which is not known."""


def _count(op: Any, attrs: Mapping[str, Any]) -> int:
    """Returns how long the list of a result is; without the shapes of the inputs an attribute must say so."""
    if not any(result.endswith("*") for result in op.results):
        return len(op.results)
    for name in ("num_split", "num", "num_partitions"):
        if attrs.get(name) is not None:
            return attrs[name]
    raise ValueError(f"The number of results of {op.type} depends on the shape of its input, which is not known.")
