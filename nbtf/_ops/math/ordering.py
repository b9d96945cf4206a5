"""Sorting: top_k, sort, argsort and in_top_k."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.coordinates import scatter_nd
from nbtf._ops.arrays.ranges import range as range_
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.shapes import transpose
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import add, cast, multiply, negative, subtract
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.specs import bracketed, last_open, of_rank
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import REALS, DType, DTypeLike, TensorLike, as_dtype, float32, int32, int64
from nbtf.errors import InvalidArgumentError


class Largest(NamedTuple):
    """The largest elements and their positions."""

    values: Tensor
    indices: Tensor


Largest.__name__ = "TopKV2"  # the class name that TensorFlow prints


@op(
    "T -> T index_type",
    T=REALS,
    host={"k": as_int},
    plain={"index_type": as_dtype},
    partly=last_open,
)
def TopKV2(xp: Any, input: Any, k: int, sorted: bool, index_type: DType) -> Any:
    if not 0 <= k <= input.shape[-1]:
        raise ValueError("k exceeds the number of elements")
    order = _descending(xp, input, k)
    return xp.take_along_axis(input, order, axis=-1), order.astype(index_type.np_dtype)


def _descending(xp: Any, array: Any, k: int) -> Any:
    """Returns the positions of the `k` largest elements along the last axis: nan first; equal ones keep their order."""
    length = array.shape[-1]
    if array.dtype.itemsize != 4 or length < 16:
        # A stable sort of the reversed elements, then reversed.
        return length - 1 - xp.argsort(array[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    keys = _keys(xp, array)
    if 0 < k < length:
        keys = xp.partition(keys, k - 1, axis=-1)
    return (xp.sort(keys[..., :k], axis=-1) & 0xFFFFFFFF).astype(xp.int64)


def _keys(xp: Any, array: Any) -> Any:
    """Returns a 64-bit key per 32-bit number: bits that decrease as the number increases, then its position.

    Keys all differ, so they need no stable sort, and few of many can be selected. The bits of floats are ordered like
    those of integers, except that the order of negative floats is reversed.
    """
    if array.dtype.kind == "f":
        bits = (array + 0).view(xp.int32)  # turns -0.0 into 0.0, which it equals
        bits ^= (bits >> 31) & 0x7FFFFFFF
        bits[xp.isnan(array)] = 0x7FFFFFFF
    else:
        bits = array.view(xp.int32) ^ (-(1 << 31) if array.dtype.kind == "u" else 0)
    keys = (bits.view(xp.uint32) ^ 0x7FFFFFFF).astype(xp.uint64)
    keys <<= 32
    keys |= xp.arange(array.shape[-1], dtype=xp.uint64)
    return keys


def top_k(
    input: TensorLike, k: Any = 1, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None
) -> Largest:
    """Returns the largest elements along the last axis and their positions.

    Args:
      input: a tensor of real numbers, shape `[..., length]`.
      k: number of elements; 1 by default.
      sorted: accepted and ignored; the largest element always comes first.
      index_type: the dtype of the positions: int16, int32 (default) or int64.

    Returns:
      A named tuple of `values` and `indices`, shape `[..., k]` each. Equal elements keep their order.

    Raises:
      InvalidArgumentError: if `k` exceeds the number of elements.

    >>> tf.math.top_k([1, 5, 3], k=2).indices.numpy()
    array([1, 2], dtype=int32)
    """
    return Largest(*TopKV2(input, k=k, sorted=sorted, index_type=index_type, name=name))


@TopKV2.infer
def _(input: Spec, k: int, sorted: bool, index_type: DType) -> list[Spec]:
    if not input.shape:
        raise InvalidArgumentError(f"input must be >= 1-D, got shape {bracketed(input.shape)}")
    if k < 0:
        raise InvalidArgumentError(f"Need k >= 0, got {k}")
    length = input.shape[-1]
    if length is not None and k > length:
        raise InvalidArgumentError(f"input must have at least k columns. Had {length}, needed {k}")
    shape = (*input.shape[:-1], k)
    return [Spec(shape, input.dtype), Spec(shape, index_type)]


@TopKV2.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor | None, _indices: Tensor | None) -> Gradients:
    if grad is None:
        return [None]
    shape: list[int] = call.inputs[0].shape.as_list()
    rows = math.prod(shape[:-1])
    starts = multiply(range_(rows, dtype=int64), shape[-1])
    positions = add(cast(reshape(call.outputs[1], [rows, -1]), int64), reshape(starts, [-1, 1]))
    spread = scatter_nd(reshape(positions, [-1, 1]), reshape(grad, [-1]), [rows * shape[-1]])
    return [reshape(spread, shape)]


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Returns a tensor sorted along an axis.

    Args:
      values: a tensor of real numbers.
      axis: the axis, counted from the end if negative; the last by default.
      direction: "ASCENDING" (default) or "DESCENDING".

    Returns:
      A tensor with the shape and elements of `values`.

    Raises:
      ValueError: if `direction` is unknown.

    >>> tf.sort([3, 1, 2]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    descending = _is_descending(direction)
    tensor = as_tensor(values)
    return _ordered(tensor, axis).values if descending else _backwards(_ordered(_backwards(tensor), axis).values)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the positions that sort a tensor along an axis.

    Args:
      values: a tensor of real numbers.
      axis: the axis, counted from the end if negative; the last by default.
      direction: "ASCENDING" (default) or "DESCENDING".
      stable: accepted and ignored; equal elements always keep their order.

    Returns:
      Positions along `axis`, int32; `tf.gather` with them returns the elements in order.

    Raises:
      ValueError: if `direction` is unknown.

    >>> tf.argsort([3, 1, 2]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    descending = _is_descending(direction)
    tensor = as_tensor(values)
    return _ordered(tensor if descending else _backwards(tensor), axis).indices


def _is_descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )
    return direction == "DESCENDING"


def _backwards(tensor: Tensor) -> Tensor:
    """Returns numbers in reverse order of size; applying it twice gives the original numbers."""
    dtype = tensor.dtype
    if dtype.is_unsigned:
        return subtract(as_tensor(dtype.max, dtype), tensor)
    return subtract(negative(tensor), 1) if dtype.is_integer else negative(tensor)


def _ordered(tensor: Tensor, axis: int) -> Largest:
    """Returns all elements along an axis in descending order."""
    rank = len(tensor.shape)
    if not -rank <= check_whole(axis, "axis") < rank:
        raise InvalidArgumentError(f"slice index {axis} of dimension 0 out of bounds.")
    position = axis % rank
    length: Any = tensor.shape[position]
    if length is None:  # known only at run time
        length = shape_of(tensor)[position]
    if position == rank - 1:
        return top_k(tensor, length)
    order = list(range(rank))
    order[position], order[-1] = order[-1], order[position]
    tops = top_k(transpose(tensor, order), length)
    return Largest(transpose(tops.values, order), transpose(tops.indices, order))


@op("float32 T -> bool", T=frozenset({int32, int64}), host={"k": as_int}, partly=of_rank(1))
def InTopKV2(xp: Any, predictions: Any, targets: Any, k: int) -> Any:
    columns = predictions.shape[-1]
    if predictions.ndim != 2 or targets.shape != predictions.shape[:1]:
        raise ValueError("expected one target per row")
    inside = (targets >= 0) & (targets < columns)
    chosen = xp.take_along_axis(predictions, xp.where(inside, targets, 0)[:, None], axis=1)
    larger = xp.add.reduce(predictions > chosen, 1, xp.int64)
    return inside & xp.isfinite(chosen[:, 0]) & (larger < k)


def in_top_k(targets: TensorLike, predictions: TensorLike, k: Any, name: str | None = None) -> Tensor:
    """Returns whether targets are among the `k` largest predictions.

    Args:
      targets: a column number per row, int32 or int64, shape `[batch]`.
      predictions: float32, shape `[batch, classes]`.
      k: number of predictions that count.

    Returns:
      A bool per row; False if the target is not a column or its prediction is not finite. Predictions equal to the
      `k`-th largest count as well.

    >>> tf.math.in_top_k([0, 2], [[0.1, 0.7, 0.2], [0.1, 0.2, 0.7]], k=1).numpy()
    array([False,  True])
    """
    return InTopKV2(as_tensor(predictions, float32), targets, k=k, name=name)


@InTopKV2.infer
def _(predictions: Spec, targets: Spec, k: int) -> Spec:
    if len(predictions.shape) != 2:
        raise InvalidArgumentError("predictions must be 2-dimensional")
    if len(targets.shape) != 1:
        raise InvalidArgumentError("targets must be 1-dimensional")
    rows = predictions.shape[0]
    if rows != targets.shape[0] and None not in (rows, targets.shape[0]):
        text = f"First dimension of predictions {rows} must match length of targets {targets.shape[0]}"
        raise InvalidArgumentError(text)
    return Spec((rows,), as_dtype("bool"))


no_gradient(InTopKV2)
