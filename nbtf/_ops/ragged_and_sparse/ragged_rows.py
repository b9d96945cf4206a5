"""Rows of ragged tensors: merging axes, gathering rows, and sums along axes.

`RaggedTensor` imports these functions, so they create ragged tensors by the class of those that they get.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.attributes import as_axis, as_int
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.unsorted_segments import unsorted_segment_sum
from nbtf._ops.ragged_and_sparse.row_splits import splits_of
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import int64
from nbtf.errors import InvalidArgumentError, UnimplementedError

_HOST: Any = CPU.xp
"""NumPy, since row positions are in host memory."""


def positive_axis(axis: int, rank: int, name: str = "axis") -> int:
    """Returns an axis counted from the start.

    Raises:
      ValueError: if the axis does not exist.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}")
    return axis % rank


def is_ragged(value: Any) -> bool:
    """Returns whether a value is a ragged tensor."""
    return hasattr(value, "nested_row_splits")


# Merging axes


def merged(ragged: Any, outer_axis: int, inner_axis: int) -> Any:
    """Returns a ragged tensor with neighbouring axes merged; see `RaggedTensor.merge_dims`."""
    rank = len(ragged.shape)
    outer = positive_axis(outer_axis, rank, "outer_axis")
    inner = positive_axis(inner_axis, rank, "inner_axis")
    if outer > inner:
        raise ValueError(f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner}).")
    return _merged(ragged, outer, inner)


def _merged(value: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return value
    if not is_ragged(value):
        lengths = value.shape.as_list()
        return reshape(value, [*lengths[:outer], -1, *lengths[inner + 1 :]])
    if outer > 1:
        return value.with_values(_merged(value.values, outer - 1, inner - 1))
    if outer == 0:
        return _merged(value.values, 0, inner - 1)
    for _ in range(inner - 1):
        value = _with_merged_rows(value)
    return value


def _with_merged_rows(ragged: Any) -> Any:
    """Returns a ragged tensor with the axes 1 and 2 merged."""
    values, splits = ragged.values, ragged.row_splits
    if is_ragged(values):
        return type(ragged)(values.values, gather(cast(values.row_splits, splits.dtype), splits))
    length = values.shape.as_list()[1]
    return type(ragged)(_merged(values, 0, 1), multiply(splits, as_tensor(length, splits.dtype)))


# Gathering


def gathered(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """Returns rows or slices of a tensor, where the tensor or the indices are ragged; see `tf.gather`.

    Raises:
      UnimplementedError: for batches of a ragged tensor, and for slices along its inner axes.
    """
    if not is_ragged(params):
        params = as_tensor(params)
    rank = len(params.shape)
    number = positive_axis(batch_dims if axis is None else as_int(axis), rank)
    if is_ragged(params):
        if number or batch_dims:
            raise UnimplementedError(
                f"tf.gather takes only rows of a ragged tensor: axis 0 and batch_dims 0, not axis {number} and "
                f"batch_dims {batch_dims}. Convert it with .to_tensor(), or gather from each row."
            )
        return _rows_of(params, indices)
    if batch_dims == 1 and number == 1 and indices.ragged_rank == 1:
        flat = indices.flat_values
        positions = stack([cast(indices.value_rowids(), int64), cast(flat, int64)], 1)
        return indices.with_flat_values(gather_nd(params, positions))
    if batch_dims:
        raise UnimplementedError(
            f"tf.gather at ragged indices supports batch_dims 1 along axis 1, not {batch_dims} along axis {number}. "
            "Gather from each example."
        )
    slices = gather(params, indices.flat_values, axis=number)
    return indices.with_flat_values(slices) if number == 0 else _repeated(slices, indices, number)


def _rows_of(params: Any, indices: Any) -> Any:
    """Returns rows of a ragged tensor."""
    if is_ragged(indices):
        return indices.with_flat_values(_rows_of(params, indices.flat_values))
    numbers = as_tensor(indices)
    if not numbers.shape.rank:
        return params[numbers]
    flat, shape = numbers.numpy().reshape(-1), numbers.shape.as_list()
    splits = params.row_splits.numpy()
    for position, number in enumerate(flat.tolist()):
        if not 0 <= number < len(params):
            label = bracketed(_HOST.unravel_index(position, shape)).replace(" ", "")
            raise InvalidArgumentError(f"indices{label} = {number} is not in [0, {len(params)})")
    starts, lengths = splits[:-1][flat], _HOST.diff(splits)[flat]
    chosen = [_HOST.arange(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    positions = _HOST.concatenate([_HOST.empty(0, _HOST.int64), *chosen])
    values = params.values
    row_values = _rows_of(values, positions) if is_ragged(values) else gather(values, positions)
    rows: Any = type(params)(row_values, as_tensor(splits_of(lengths.tolist()), params.row_splits.dtype))
    for length in reversed(shape[1:]):
        rows = params.from_uniform_row_length(rows, length)
    return rows


def _repeated(slices: Tensor, indices: Any, axis: int) -> Any:
    """Returns slices, gathered along an axis, with the rows of the indices in the place of that axis."""
    lengths: list[Any] = slices.shape.as_list()
    outer, count = lengths[:axis], 1
    for length in outer:
        count *= length
    result: Any = reshape(slices, [-1, *lengths[axis + 1 :]])
    for row_splits in reversed(indices.nested_row_splits):
        splits = row_splits.numpy()
        all_lengths = _HOST.tile(_HOST.diff(splits), count).tolist()
        result = type(indices)(result, as_tensor(splits_of(all_lengths), row_splits.dtype))
    for length in reversed([*outer[1:], len(indices)]):
        result = indices.from_uniform_row_length(result, length)
    return result


# Sums


def summed(ragged: Any, axis: Any, keepdims: bool) -> Any:
    """Returns sums of a ragged tensor along axes; see `tf.reduce_sum`."""
    rank = len(ragged.shape)
    if axis is None:
        total = reduce_sum(ragged.flat_values)
        return reshape(total, [1] * rank) if keepdims else total
    numbers: Any = as_axis(axis)
    axes: Sequence[int] = [numbers] if isinstance(numbers, int) else numbers
    result: Any = ragged
    for number in sorted({positive_axis(each, rank) for each in axes}, reverse=True):
        result = _summed(result, number, keepdims) if is_ragged(result) else reduce_sum(result, number, keepdims)
    return result


def _summed(ragged: Any, axis: int, keepdims: bool) -> Any:
    """Returns sums along one axis."""
    splits = ragged.row_splits.numpy()
    if axis > 1:
        values = ragged.values
        return ragged.with_values(
            _summed(values, axis - 1, keepdims) if is_ragged(values) else reduce_sum(values, axis - 1, keepdims)
        )
    lengths = _HOST.diff(splits)
    if axis == 1:
        ids, count = _HOST.repeat(_HOST.arange(len(lengths)), lengths), len(lengths)
    else:
        ids = _HOST.arange(splits[-1]) - _HOST.repeat(splits[:-1], lengths)
        count = int(lengths.max(initial=0))
    sums = _in_segments(ragged.values, ids, count)
    return _expanded(sums, axis) if keepdims else sums


def _in_segments(values: Any, ids: Any, count: int) -> Any:
    """Returns `count` rows, each the sum of the rows with its id; the longest row decides the length."""
    if not is_ragged(values):
        return unsorted_segment_sum(values, as_tensor(ids, int64), count)
    splits = values.row_splits.numpy()
    lengths = _HOST.diff(splits)
    longest = _HOST.zeros(count, _HOST.int64)
    _HOST.maximum.at(longest, ids, lengths)
    starts = _HOST.array([0, *accumulate(longest.tolist())], _HOST.int64)
    positions = _HOST.arange(splits[-1]) - _HOST.repeat(splits[:-1], lengths)
    inner_ids = _HOST.repeat(starts[ids], lengths) + positions
    sums = _in_segments(values.values, inner_ids, int(starts[-1]))
    return type(values)(sums, as_tensor(starts, values.row_splits.dtype))


def _expanded(sums: Any, axis: int) -> Any:
    """Returns sums with an axis of length 1 in the place of the first or second."""
    if not is_ragged(sums):
        return expand_dims(sums, axis)
    return sums.from_uniform_row_length(sums, len(sums) if axis == 0 else 1)
