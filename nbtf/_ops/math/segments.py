"""Reductions of rows by segment, for sorted segment ids: sums, means, products, maxima and minima."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import ones_like, zeros_like
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.comparison import equal, greater, where
from nbtf._ops.math.division import divide
from nbtf._ops.op import Gradients, Op, op
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, REALS, DType, TensorLike, int32, int64
from nbtf.errors import InvalidArgumentError

IDS = frozenset({int32, int64})
"""Dtypes of segment ids. Source: attr `Tindices` in TensorFlow's op definitions."""


def folded(xp: Any, join: Any, rows: Any, ids: Any, count: int, start: Any) -> Any:
    """Returns `count` rows, each combined from the rows with its id.

    Args:
      xp: the array library.
      join: a ufunc, such as `xp.add`.
      rows: an array.
      ids: the position of each row in the result, below `count`.
      count: the length of the result.
      start: the value of rows without an id.
    """
    if xp is CPU.xp and join is xp.add and rows.dtype.kind == "f" and rows.size:
        return _summed(xp, rows, ids, count)
    result = xp.full((count, *rows.shape[1:]), start, dtype=rows.dtype)
    if not ids.size:
        return result
    order = xp.argsort(ids.astype(xp.uint16) if count <= 1 << 16 else ids, kind="stable")  # 16 bits: radix sort
    ids, rows = ids[order], rows[order]
    if xp is CPU.xp:
        begins = xp.flatnonzero(xp.diff(ids, prepend=-1))
        result[ids[begins]] = join.reduceat(rows, begins)
    else:
        _fold_neighbours(xp, join, rows, ids, result)
    return result


def _summed(xp: Any, rows: Any, ids: Any, count: int) -> Any:
    """Returns sums of floats, column by column, computed in double precision."""
    columns = rows.reshape(len(rows), -1)
    sums = xp.empty((count, columns.shape[1]), rows.dtype)
    for column in range(columns.shape[1]):
        sums[:, column] = xp.bincount(ids, columns[:, column], count)
    return sums.reshape(count, *rows.shape[1:])


def _fold_neighbours(xp: Any, join: Any, rows: Any, ids: Any, result: Any) -> None:
    """Combines sorted rows in pairs, the only deterministic method on a GPU."""
    rank = xp.arange(ids.size) - xp.searchsorted(ids, ids, side="left")
    while int(rank.max()):
        second = xp.flatnonzero(rank & 1)
        rows[second - 1] = join(rows[second - 1], rows[second])
        first = xp.flatnonzero(rank & 1 == 0)
        ids, rows, rank = ids[first], rows[first], rank[first] >> 1
    result[ids] = rows


def _segments(xp: Any, data: Any, segment_ids: Any) -> int:
    """Returns the number of segments after checking the ids.

    On a real GPU, only the shapes are checked: it would have to wait for the ids, and TensorFlow's kernels do not
    either.
    """
    if segment_ids.ndim != 1:
        raise InvalidArgumentError("segment_ids should be a vector.")
    if not data.ndim:
        raise InvalidArgumentError("input must be at least rank 1")
    if segment_ids.size != data.shape[0]:
        raise InvalidArgumentError("segment_ids should be the same size as dimension 0 of input.")
    if not segment_ids.size:
        return 0
    count = int(segment_ids[-1]) + 1
    if xp is CPU.xp:
        if (segment_ids[1:] < segment_ids[:-1]).any():
            raise InvalidArgumentError("segment ids are not increasing")
        if int(segment_ids[0]) < 0:
            text = f"Segment id {int(segment_ids[0])} out of range [0, {count}), possibly because 'segment_ids' input "
            raise InvalidArgumentError(f"{text}is not sorted.")
    return count


def _folded_spec(data: Spec, segment_ids: Spec) -> Spec:
    return Spec((None, *data.shape[1:]), data.dtype)


def _segment_op(type: str, function: str, dtypes: frozenset[DType], start: int) -> Op:
    """Returns an op that combines the rows of each segment with a ufunc; `start` is the value of no rows."""

    def kernel(xp: Any, data: Any, segment_ids: Any) -> Any:
        return folded(xp, getattr(xp, function), data, segment_ids, _segments(xp, data, segment_ids), start)

    kernel.__name__ = type
    return op("T Tindices -> T", T=dtypes, Tindices=IDS, data_dependent=True, infer=_folded_spec)(kernel)


SegmentSum = _segment_op("SegmentSum", "add", NUMBERS, 0)
SegmentMax = _segment_op("SegmentMax", "maximum", REALS, 0)
SegmentMin = _segment_op("SegmentMin", "minimum", REALS, 0)
SegmentProd = _segment_op("SegmentProd", "multiply", NUMBERS, 1)


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sums of rows by segment.

    Args:
      data: a numeric tensor.
      segment_ids: the segment of each row, in ascending order; int32 or int64.

    Returns:
      One row per segment up to the last one; 0 for segments without rows.

    Raises:
      InvalidArgumentError: if the ids are not in ascending order, or there is not one id per row.

    >>> tf.math.segment_sum([1, 2, 3], [0, 0, 2]).numpy()
    array([3, 0, 3], dtype=int32)
    """
    return SegmentSum(data, segment_ids, name=name)


@SegmentSum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [gather(grad, call.inputs[1]), None]


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Returns the means of rows by segment.

    Args:
      data: a numeric tensor; means of integers are rounded down.
      segment_ids: the segment of each row, in ascending order; int32 or int64.

    Returns:
      One row per segment up to the last one; 0 for segments without rows.

    Raises:
      InvalidArgumentError: if the ids are not in ascending order, or there is not one id per row.

    >>> tf.math.segment_mean([1.0, 2.0, 3.0], [0, 0, 2]).numpy()
    array([1.5, 0. , 3. ], dtype=float32)
    """
    return SegmentMean(data, segment_ids, name=name)


@op("T Tindices -> T", T=NUMBERS, Tindices=IDS, data_dependent=True, infer=_folded_spec)
def SegmentMean(xp: Any, data: Any, segment_ids: Any) -> Any:
    count = _segments(xp, data, segment_ids)
    sums = folded(xp, xp.add, data, segment_ids, count, 0)
    members = xp.maximum(folded(xp, xp.add, xp.ones(segment_ids.shape, dtype=xp.int64), segment_ids, count, 0), 1)
    members = members.reshape(count, *[1] * (data.ndim - 1)).astype(data.dtype)
    return sums // members if data.dtype.kind in "iu" else (sums / members).astype(data.dtype)


@SegmentMean.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    data, ids = call.inputs
    members = segment_sum(ones_like(ids, data.dtype), ids)
    return [gather(divide(grad, reshape(members, [-1, *[1] * (len(data.shape) - 1)])), ids), None]


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise maximum of rows by segment.

    Args:
      data: a tensor of real numbers.
      segment_ids: the segment of each row, in ascending order; int32 or int64.

    Returns:
      One row per segment up to the last one; 0 for segments without rows.

    Raises:
      InvalidArgumentError: if the ids are not in ascending order, or there is not one id per row.

    >>> tf.math.segment_max([1, 5, 3], [0, 0, 2]).numpy()
    array([5, 0, 3], dtype=int32)
    """
    return SegmentMax(data, segment_ids, name=name)


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise minimum of rows by segment.

    Args:
      data: a tensor of real numbers.
      segment_ids: the segment of each row, in ascending order; int32 or int64.

    Returns:
      One row per segment up to the last one; 0 for segments without rows.

    Raises:
      InvalidArgumentError: if the ids are not in ascending order, or there is not one id per row.

    >>> tf.math.segment_min([1, 5, 3], [0, 0, 2]).numpy()
    array([1, 0, 3], dtype=int32)
    """
    return SegmentMin(data, segment_ids, name=name)


@SegmentMax.gradient_keeping("inputs", "outputs")
@SegmentMin.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    data, ids = call.inputs
    chosen = equal(data, gather(call.output, ids))  # tied rows share the gradient
    ties = segment_sum(cast(chosen, data.dtype), ids)
    return [where(chosen, gather(divide(grad, ties), ids), zeros_like(data)), None]


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Returns the products of rows by segment.

    Args:
      data: a numeric tensor.
      segment_ids: the segment of each row, in ascending order; int32 or int64.

    Returns:
      One row per segment up to the last one; 1 for segments without rows.

    Raises:
      InvalidArgumentError: if the ids are not in ascending order, or there is not one id per row.

    >>> tf.math.segment_prod([2, 5, 3], [0, 0, 2]).numpy()
    array([10,  1,  3], dtype=int32)
    """
    return SegmentProd(data, segment_ids, name=name)


@SegmentProd.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    data, ids = call.inputs
    zero = equal(data, zeros_like(data))
    zeros_in = segment_sum(cast(zero, int32), ids)
    spread_grad = where(greater(zeros_in, 1), zeros_like(grad), grad)  # two zeros: no element matters
    without = segment_prod(where(zero, ones_like(data), data), ids)
    product_of_others = where(zero, gather(without, ids), divide(gather(call.output, ids), data))
    return [multiply(gather(spread_grad, ids), product_of_others), None]
