"""Cuts signals into frames that overlap, and adds such frames up."""

from __future__ import annotations

import builtins
from typing import Any

from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.padding import pad
from nbtf._ops.arrays.ranges import range
from nbtf._ops.arrays.shapes import expand_dims, lengths_of, reshape, transpose
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import add, multiply
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.math.unsorted_segments import unsorted_segment_sum
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike


def frame(
    signal: TensorLike,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Returns frames of a signal: windows of equal length at equal distances.

    Args:
      signal: any tensor of numbers, shape `[..., samples, ...]`.
      frame_length: the number of samples of a frame.
      frame_step: the distance of two frames' starts.
      pad_end: whether frames may reach beyond the signal's end; by default they may not.
      pad_value: the value beyond the end.
      axis: the axis of the samples; the last by default.
      name: accepted and ignored.

    Returns:
      The frames, shape `[..., frames, frame_length, ...]`.

    Raises:
      ValueError: if `signal` is a scalar, or a length is not.

    >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy()
    array([[1, 2, 3],
           [3, 4, 5]], dtype=int32)
    >>> tf.signal.frame([1, 2, 3, 4], 3, 2, pad_end=True).numpy()
    array([[1, 2, 3],
           [3, 4, 0]], dtype=int32)
    """
    samples = as_tensor(signal)
    samples.shape.with_rank_at_least(1)
    length, step = known_length(frame_length), known_length(frame_step)
    rank = len(samples.shape)
    sample_axis = axis % rank
    count = lengths_of(samples)[sample_axis]
    if pad_end:
        frames = -(-count // step)
        beyond = _at_least_0(length + step * (frames - 1) - count)
        pairs = [[0, beyond if number == sample_axis else 0] for number in builtins.range(rank)]
        samples = pad(samples, pairs, constant_values=pad_value)
    else:
        frames = _at_least_0(1 + (count - length) // step)
    starts = multiply(range(frames), step)
    return gather(samples, add(expand_dims(starts, 1), range(length)), axis=sample_axis)


def known_length(value: Any) -> Any:
    """Returns a number, or the tensor of one that is known only when a traced function runs."""
    tensor = as_tensor(value)
    tensor.shape.assert_has_rank(0)
    if not tensor._dtype.is_integer:
        raise ValueError(f"The lengths and steps of frames must be integers. Got {tensor._dtype!r}")
    try:
        return as_int(tensor)
    except TypeError:
        return tensor


def _at_least_0(count: Any) -> Any:
    return max(0, count) if isinstance(count, int) else maximum(0, count)


def overlap_and_add(signal: TensorLike, frame_step: Any, name: str | None = None) -> Tensor:
    """Returns the signal that is the sum of frames at equal distances.

    Args:
      signal: frames, shape `[..., frames, frame_length]`.
      frame_step: the distance of two frames' starts.
      name: accepted and ignored.

    Returns:
      The sum, shape `[..., (frames - 1) * frame_step + frame_length]`.

    Raises:
      ValueError: if `signal` has fewer than two axes, or `frame_step` is not an integer scalar.

    >>> tf.signal.overlap_and_add([[1, 2, 3], [10, 20, 30]], 2).numpy()
    array([ 1,  2, 13, 20, 30], dtype=int32)
    """
    frame_rows = as_tensor(signal)
    frame_rows.shape.with_rank_at_least(2)
    step = known_length(frame_step)
    *outer, frames, length = lengths_of(frame_rows)
    positions = add(expand_dims(multiply(range(frames), step), 1), range(length))
    rows = transpose(reshape(frame_rows, [-1, frames * length]))
    sums = unsorted_segment_sum(rows, reshape(positions, [-1]), (frames - 1) * step + length)
    return reshape(transpose(sums), [*outer, (frames - 1) * step + length])
