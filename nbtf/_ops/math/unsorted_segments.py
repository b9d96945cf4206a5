"""Reductions of rows by segment, for segment ids in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import broadcast_to, reshape
from nbtf._ops.arrays.creation import ones_like, zeros_like
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.comparison import equal, greater, greater_equal, where
from nbtf._ops.math.division import divide, truediv
from nbtf._ops.math.exponentials import sqrt
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.math.segments import IDS, folded
from nbtf._ops.op import Gradients, Op, op
from nbtf._ops.specs import UNKNOWN, Dims, bracketed
from nbtf._runtime.conversion import as_tensor, host_array
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTYPE_OF, NUMBERS, REALS, DType, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def as_segments(value: Any) -> int:
    """Returns the number of segments as an integer."""
    try:
        return as_int(value)
    except (AttributeError, TypeError):
        text = f"num_segments should be a scalar, not shape {bracketed(host_array(value)[0].shape)}"
        raise InvalidArgumentError(text) from None


def _folded(xp: Any, join: Any, data: Any, ids: Any, count: int, start: Any) -> Any:
    """Returns rows combined by segment, ignoring ids below 0. Ids that are too large are detected on the CPU only."""
    if count < 0 or data.shape[: ids.ndim] != ids.shape:
        raise ValueError("shapes do not fit")
    flat = ids.reshape(-1)
    if xp is CPU.xp and (flat >= count).any():
        position = tuple(int(i) for i in xp.argwhere(ids >= count)[0])
        text = (
            f"segment_ids{bracketed(position) if position else ''} = {int(ids[position])} is out of range [0, {count})"
        )
        raise InvalidArgumentError(text)
    rows = data.reshape(flat.size, *data.shape[ids.ndim :])
    if xp is not CPU.xp or (flat < 0).any():
        inside = xp.flatnonzero((flat >= 0) & (flat < count))
        rows, flat = rows[inside], flat[inside]
    return folded(xp, join, rows, flat, count, start)


def _folded_spec(data: Spec, segment_ids: Spec, num_segments: int) -> Spec:
    ids = segment_ids.shape
    pairs = zip(data.shape, ids, strict=False)
    if len(ids) > len(data.shape) or any(None not in (a, b) and a != b for a, b in pairs):
        text = f"data.shape = {bracketed(data.shape)} does not start with segment_ids.shape = {bracketed(ids)}"
        raise InvalidArgumentError(text)
    if num_segments < 0:
        raise InvalidArgumentError(f"Input num_segments == {num_segments} must not be negative.")
    return Spec((num_segments, *data.shape[len(ids) :]), data.dtype)


def _folded_partly(data: Any, segment_ids: Any, num_segments: Any) -> Dims:
    if data.shape is None or segment_ids.shape is None:
        return None
    return None if num_segments is UNKNOWN else num_segments, *data.shape[len(segment_ids.shape) :]


def _segment_op(type: str, function: str, dtypes: frozenset[DType], start: Callable[[DType], Any]) -> Op:
    """Returns an op that combines the rows of each segment with a ufunc; `start` gives the value of no rows."""

    def kernel(xp: Any, data: Any, segment_ids: Any, num_segments: int) -> Any:
        return _folded(xp, getattr(xp, function), data, segment_ids, num_segments, start(DTYPE_OF[data.dtype]))

    kernel.__name__ = type
    host = {"num_segments": as_segments}
    return op("T Tindices -> T", T=dtypes, Tindices=IDS, host=host, infer=_folded_spec, partly=_folded_partly)(kernel)


UnsortedSegmentSum = _segment_op("UnsortedSegmentSum", "add", NUMBERS, lambda dtype: 0)
UnsortedSegmentMax = _segment_op("UnsortedSegmentMax", "maximum", REALS, lambda dtype: dtype.min)
UnsortedSegmentMin = _segment_op("UnsortedSegmentMin", "minimum", REALS, lambda dtype: dtype.max)
UnsortedSegmentProd = _segment_op("UnsortedSegmentProd", "multiply", NUMBERS, lambda dtype: 1)


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the sums of rows by segment.

    Args:
      data: a numeric tensor.
      segment_ids: the segment of each row, int32 or int64; its shape is that of the first axes of `data`. Rows with ids
        below 0 are ignored.
      num_segments: number of segments.

    Returns:
      One row per segment; 0 for segments without rows.

    Raises:
      InvalidArgumentError: if the shapes do not fit, or an id is too large.

    >>> tf.math.unsorted_segment_sum([1, 2, 3], [2, 0, 2], 4).numpy()
    array([2, 0, 4, 0], dtype=int32)
    """
    return UnsortedSegmentSum(data, segment_ids, num_segments=num_segments, name=name)


@UnsortedSegmentSum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_of_rows(grad, call.inputs[1]), None]


def _of_rows(values: Tensor, ids: Tensor) -> Tensor:
    """Returns for each row its segment's value; 0 for rows without a segment."""
    gathered = gather(values, maximum(ids, zeros_like(ids)))
    inside = greater_equal(ids, zeros_like(ids))
    inside = reshape(inside, [*ids.shape, *[1] * (len(gathered.shape) - len(ids.shape))])
    return where(broadcast_to(inside, gathered.shape), gathered, zeros_like(gathered))


def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the elementwise maximum of rows by segment.

    Args:
      data: a tensor of real numbers.
      segment_ids: the segment of each row, int32 or int64; see `unsorted_segment_sum`.
      num_segments: number of segments.

    Returns:
      One row per segment; the dtype's smallest number for segments without rows.

    Raises:
      InvalidArgumentError: if the shapes do not fit, or an id is too large.

    >>> tf.math.unsorted_segment_max([1, 2, 3], [1, 0, 1], 2).numpy()
    array([2, 3], dtype=int32)
    """
    return UnsortedSegmentMax(data, segment_ids, num_segments=num_segments, name=name)


def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the elementwise minimum of rows by segment.

    Args:
      data: a tensor of real numbers.
      segment_ids: the segment of each row, int32 or int64; see `unsorted_segment_sum`.
      num_segments: number of segments.

    Returns:
      One row per segment; the dtype's largest number for segments without rows.

    Raises:
      InvalidArgumentError: if the shapes do not fit, or an id is too large.

    >>> tf.math.unsorted_segment_min([1, 2, 3], [1, 0, 1], 2).numpy()
    array([2, 1], dtype=int32)
    """
    return UnsortedSegmentMin(data, segment_ids, num_segments=num_segments, name=name)


@UnsortedSegmentMax.gradient_keeping("inputs", "outputs")
@UnsortedSegmentMin.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    data, ids = call.inputs
    chosen = equal(data, _of_rows(call.output, ids))  # tied rows share the gradient
    count = as_segments(call.attrs["num_segments"])
    ties = unsorted_segment_sum(cast(chosen, data.dtype), ids, count)
    shared = _of_rows(divide(grad, maximum(ties, ones_like(ties))), ids)
    return [where(chosen, shared, zeros_like(data)), None]


def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the products of rows by segment.

    Args:
      data: a numeric tensor.
      segment_ids: the segment of each row, int32 or int64; see `unsorted_segment_sum`.
      num_segments: number of segments.

    Returns:
      One row per segment; 1 for segments without rows.

    Raises:
      InvalidArgumentError: if the shapes do not fit, or an id is too large.

    >>> tf.math.unsorted_segment_prod([4, 2, 3], [1, 0, 1], 3).numpy()
    array([ 2, 12,  1], dtype=int32)
    """
    return UnsortedSegmentProd(data, segment_ids, num_segments=num_segments, name=name)


@UnsortedSegmentProd.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    data, ids = call.inputs
    count = as_segments(call.attrs["num_segments"])
    zero = equal(data, zeros_like(data))
    zeros_in = unsorted_segment_sum(cast(zero, int32), ids, count)
    spread_grad = where(greater(zeros_in, 1), zeros_like(grad), grad)  # two zeros: no element matters
    without = unsorted_segment_prod(where(zero, ones_like(data), data), ids, count)
    divisor = where(zero, ones_like(data), data)
    product_of_others = where(zero, _of_rows(without, ids), divide(_of_rows(call.output, ids), divisor))
    return [multiply(_of_rows(spread_grad, ids), product_of_others), None]


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the means of rows by segment.

    Args:
      data: a numeric tensor; means of integers are float64, like results of `/`.
      segment_ids: the segment of each row, int32 or int64; see `unsorted_segment_sum`.
      num_segments: number of segments.

    Returns:
      One row per segment; 0 for segments without rows.

    >>> tf.math.unsorted_segment_mean([1.0, 2.0, 3.0], [1, 0, 1], 2).numpy()
    array([2., 2.], dtype=float32)
    """
    rows = as_tensor(data)
    return truediv(unsorted_segment_sum(rows, segment_ids, num_segments), _members(rows, segment_ids, num_segments))


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the sums of rows by segment, divided by the square root of the number of rows.

    Args:
      data: floats.
      segment_ids: the segment of each row, int32 or int64; see `unsorted_segment_sum`.
      num_segments: number of segments.

    Returns:
      One row per segment; 0 for segments without rows.

    >>> tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0], [0, 0, 0], 1).numpy()
    array([3.4641018], dtype=float32)
    """
    rows = as_tensor(data)
    members = sqrt(_members(rows, segment_ids, num_segments))
    return truediv(unsorted_segment_sum(rows, segment_ids, num_segments), members)


def _members(rows: Tensor, segment_ids: TensorLike, num_segments: Any) -> Tensor:
    """Returns the number of rows per segment, at least 1, as a divisor."""
    ids = as_tensor(segment_ids)
    members = unsorted_segment_sum(ones_like(ids, rows.dtype), ids, num_segments)
    shaped = reshape(members, [-1, *[1] * (len(rows.shape) - len(ids.shape))])
    return maximum(shaped, ones_like(shaped))
