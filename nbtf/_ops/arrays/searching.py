"""Finds values: unique values, positions in sorted rows, the inverse of a permutation."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.attributes import as_index_dtype
from nbtf._ops.op import no_gradient, op, unregistered
from nbtf._ops.specs import of_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, REALS, DType, DTypeLike, TensorLike, int32, int64
from nbtf.errors import InvalidArgumentError


class UniqueValues(NamedTuple):
    """The result of `tf.unique`."""

    y: Tensor
    idx: Tensor


class UniqueValuesWithCounts(NamedTuple):
    """The result of `tf.unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # pyright: ignore[reportIncompatibleMethodOverride]  # TensorFlow's name


# The class names that TensorFlow prints; here these names belong to the ops' records.
UniqueValues.__name__, UniqueValuesWithCounts.__name__ = "Unique", "UniqueWithCounts"


def _distinct(xp: Any, x: Any, out_idx: Any) -> tuple[Any, Any, Any]:
    """Returns the unique values in order of appearance, each element's index among them, and their counts."""
    if x.ndim != 1:
        raise InvalidArgumentError("unique expects a 1D vector.")
    values, first, inverse, counts = xp.unique(x, True, True, True, equal_nan=False)
    order = xp.argsort(first)
    rank = xp.empty(order.shape, out_idx.np_dtype)
    rank[order] = xp.arange(order.size, dtype=out_idx.np_dtype)
    return values[order], rank[inverse.reshape(x.shape)], counts[order].astype(out_idx.np_dtype)


@op("T -> T out_idx", T=ALL, plain={"out_idx": as_index_dtype}, data_dependent=True, partly=of_rank(1))
def Unique(xp: Any, x: Any, out_idx: Any) -> Any:
    return _distinct(xp, x, out_idx)[:2]


@Unique.infer
def _(x: Spec, out_idx: DType) -> list[Spec]:
    return [Spec((None,), x.dtype), Spec(x.shape, out_idx)]


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> UniqueValues:
    """Returns the unique values of a vector, in order of appearance.

    Args:
      x: a vector.
      out_idx: the dtype of the indices, `tf.int32` (default) or `tf.int64`.

    Returns:
      A pair: `y`, the values; `idx`, the index in `y` of each element of `x`.

    >>> y, idx = tf.unique([5, 7, 5])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([5, 7], [0, 1, 0])
    """
    return UniqueValues(*Unique(x, out_idx=out_idx, name=name))


@op("T -> T out_idx out_idx", T=ALL, plain={"out_idx": as_index_dtype}, data_dependent=True, partly=of_rank(1))
def UniqueWithCounts(xp: Any, x: Any, out_idx: Any) -> Any:
    return _distinct(xp, x, out_idx)


@UniqueWithCounts.infer
def _(x: Spec, out_idx: DType) -> list[Spec]:
    return [Spec((None,), x.dtype), Spec(x.shape, out_idx), Spec((None,), out_idx)]


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> UniqueValuesWithCounts:
    """Returns the unique values of a vector and their counts.

    Args:
      x: a vector.
      out_idx: the dtype of indices and counts, `tf.int32` (default) or `tf.int64`.

    Returns:
      `y`, the values in order of appearance; `idx`, the index in `y` of each element of `x`; `count`, the counts.

    >>> tf.unique_with_counts([5, 7, 5]).count.numpy().tolist()
    [2, 1]
    """
    return UniqueValuesWithCounts(*UniqueWithCounts(x, out_idx=out_idx, name=name))


def _bounds(xp: Any, rows: Any, values: Any, side: str, out_type: Any) -> Any:
    if rows.shape[0] != values.shape[0]:
        raise ValueError("the numbers of rows differ")
    positions = xp.empty(values.shape, out_type.np_dtype)
    for number in range(rows.shape[0]):
        positions[number] = xp.searchsorted(rows[number], values[number], side)
    return positions


@op("T T -> out_type", T=REALS, plain={"out_type": as_index_dtype})
def LowerBound(xp: Any, sorted_inputs: Any, values: Any, out_type: Any) -> Any:
    return _bounds(xp, sorted_inputs, values, "left", out_type)


@op("T T -> out_type", T=REALS, plain={"out_type": as_index_dtype})
def UpperBound(xp: Any, sorted_inputs: Any, values: Any, out_type: Any) -> Any:
    return _bounds(xp, sorted_inputs, values, "right", out_type)


@LowerBound.infer
def _(sorted_inputs: Spec, values: Spec, out_type: Any) -> Spec:
    return _like_values(sorted_inputs, values, out_type)


@UpperBound.infer
def _(sorted_inputs: Spec, values: Spec, out_type: Any) -> Spec:
    return _like_values(sorted_inputs, values, out_type)


def _like_values(sorted_inputs: Spec, values: Spec, out_type: Any) -> Spec:
    m, n = sorted_inputs.shape[0], values.shape[0]
    if m != n and None not in (m, n):
        raise InvalidArgumentError("Leading dim_size of both tensors must match.")
    return Spec(values.shape, out_type)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns the indices at which values would be inserted into sorted rows.

    Args:
      sorted_sequence: numbers in ascending order along the last axis.
      values: numbers of the same dtype, with the same shape except for the last axis.
      side: `"left"` (default) for the position before equal numbers, or `"right"` for the one after them.
      out_type: the dtype of the indices, `tf.int32` (default) or `tf.int64`.

    Returns:
      The indices, with the shape of `values`.

    Raises:
      InvalidArgumentError: if the numbers of rows differ.
      ValueError: if `side` is unknown.

    >>> tf.searchsorted([1, 3, 5], [0, 3, 9]).numpy()
    array([0, 1, 3], dtype=int32)
    """
    rows, needles = as_tensor(sorted_sequence), as_tensor(values)
    for tensor in (rows, needles):
        if tensor.ndim == 0:
            raise InvalidArgumentError("slice index -1 of dimension 0 out of bounds.")
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    bound = LowerBound if side == "left" else UpperBound
    shape = needles.shape
    positions = bound(_in_rows(rows), _in_rows(needles), out_type=out_type, name=name)
    return reshape(positions, shape)


def _in_rows(tensor: Tensor) -> Tensor:
    lengths: list[Any] = tensor.shape.as_list()
    count = 1
    for length in lengths[:-1]:
        count *= length
    return reshape(tensor, [count, lengths[-1]])


@op("T -> T", T=frozenset({int32, int64}))
def InvertPermutation(xp: Any, x: Any) -> Any:
    if x.ndim != 1:
        raise ValueError("expected a vector")
    if xp is CPU.xp:
        _check_permutation(x)
    inverse = xp.empty_like(x)
    inverse[x] = xp.arange(x.size, dtype=x.dtype)
    return inverse


def _check_permutation(x: Any) -> None:
    earlier_numbers: set[int] = set()
    for number in x.tolist():
        if not 0 <= number < x.size:
            raise InvalidArgumentError(f"{number} is not between 0 and {x.size}")
        if number in earlier_numbers:
            raise InvalidArgumentError(f"{number} is duplicated in the input.")
        earlier_numbers.add(number)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of a permutation.

    Args:
      x: a vector that contains each number from 0 to its length - 1 once.

    Returns:
      A vector with the position of each number in `x`.

    >>> tf.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return InvertPermutation(x, name=name)


@InvertPermutation.infer
def _(x: Spec) -> Spec:
    if len(x.shape) != 1:
        raise InvalidArgumentError("invert_permutation expects a 1D vector.")
    return x


unregistered(Unique, UniqueWithCounts)
no_gradient(LowerBound, UpperBound, InvertPermutation)
