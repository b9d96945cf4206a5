"""Joins the strings of several tensors, or those of one tensor over axes. Everything runs on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_axis
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.ragged_functions import takes_ragged
from nbtf._ops.specs import bracketed, reduced
from nbtf._ops.strings import kernels
from nbtf._runtime.arguments import check_text
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int32, string
from nbtf.errors import InvalidArgumentError, OutOfRangeError


@op("string* -> string", cpu_only=True)
def StringJoin(xp: Any, inputs: list[Any], separator: str) -> Any:
    shape: Any = _joined_shape([texts.shape for texts in inputs])
    columns = [xp.broadcast_to(texts, shape).ravel().tolist() for texts in inputs]
    between = check_text(separator, "separator").encode()
    return kernels.filled(xp, map(between.join, zip(*columns, strict=True)), shape, object)


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """Returns the elementwise concatenation of several string tensors.

    Args:
      inputs: a list of string tensors of the same shape (scalars fit any shape), or of ragged tensors.
      separator: the text between the strings; empty by default.

    Returns:
      A string tensor of this shape.

    >>> tf.strings.join(["Gray", ["wolf", "fox"]], separator=" ").numpy()
    array([b'Gray wolf', b'Gray fox'], dtype=object)
    """
    return _join(*inputs, separator=separator, name=name) if len(inputs) else as_tensor("", string)


@takes_ragged
def _join(*inputs: Any, separator: str, name: str | None) -> Tensor:
    return StringJoin(list(inputs), separator=separator, name=name)


@StringJoin.infer
def _(inputs: Sequence[Spec], separator: str) -> Spec:
    return Spec(_joined_shape([spec.shape for spec in inputs]), string)


def _joined_shape(shapes: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    """Returns the common shape of tensors, ignoring scalars."""
    not_scalar = [shape for shape in shapes if shape]
    for other in not_scalar[1:]:
        if other != not_scalar[0]:
            raise InvalidArgumentError(f"Input shapes do not match: {bracketed(not_scalar[0])} vs. {bracketed(other)}")
    return not_scalar[0] if not_scalar else ()


@op("string -> string", host={"axis": as_axis}, asked={"axis": int32}, cpu_only=True, partly=reduced)
def ReduceJoin(xp: Any, inputs: Any, axis: Any, keepdims: bool, separator: str) -> Any:
    axes = _axes(axis, inputs.ndim)
    remaining = [i for i in range(inputs.ndim) if i not in axes]
    shape = [inputs.shape[i] for i in remaining]
    rows = inputs.transpose(*remaining, *reversed(axes)).reshape(*shape, -1)  # the first named axis varies fastest
    result = xp.empty(shape, object)
    flat = result.reshape(-1)
    for position, texts in enumerate(rows.reshape(flat.size, -1)):
        flat[position] = check_text(separator, "separator").encode().join(texts)
    return result.reshape([1 if i in axes else n for i, n in enumerate(inputs.shape)]) if keepdims else result


def _axes(axis: Any, rank: int) -> list[int]:
    axes = range(rank - 1, -1, -1) if axis is None else [axis] if isinstance(axis, int) else axis
    for axis_number in axes:
        if not -rank <= axis_number < rank:
            raise OutOfRangeError(f"Invalid reduction dimension {axis_number} for input with {rank} dimension(s)")
    return [axis_number % rank for axis_number in axes]


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Tensor:
    """Returns the strings of a tensor joined over some of its axes.

    Args:
      inputs: a string tensor, or a ragged tensor, which is joined over its last axis.
      axis: an axis or a list of axes, the one to join first in front; all axes by default.
      keepdims: whether to keep the joined axes with length 1; False by default.
      separator: the text between the strings; empty by default.

    Returns:
      The joined strings.

    Raises:
      OutOfRangeError: if an axis is outside `[-rank, rank)`.

    >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator="-").numpy()
    array([b'a-b', b'c-d'], dtype=object)
    """
    if isinstance(inputs, RaggedTensor):
        return _joined_rows(inputs, axis, separator)
    return ReduceJoin(inputs, axis=axis, keepdims=keepdims, separator=separator, name=name)


def _joined_rows(ragged: RaggedTensor, axis: Any, separator: str) -> Any:
    rank = len(ragged.shape)
    if axis is None:
        return reduce_join(ragged.flat_values, separator=separator)
    if as_axis(axis) not in (-1, rank - 1):
        raise InvalidArgumentError("A ragged tensor can be joined only over its last axis")
    if isinstance(ragged.values, RaggedTensor):
        return ragged.with_values(_joined_rows(ragged.values, -1, separator))
    between = separator.encode()
    return as_tensor([between.join(row) for row in ragged.to_list()], string)


@ReduceJoin.infer
def _(inputs: Spec, axis: Any, keepdims: bool, separator: str) -> Spec:
    axes = _axes(axis, len(inputs.shape))
    if keepdims:
        return Spec(tuple(1 if i in axes else n for i, n in enumerate(inputs.shape)), string)
    return Spec(tuple(n for i, n in enumerate(inputs.shape) if i not in axes), string)


no_gradient(StringJoin, ReduceJoin)
