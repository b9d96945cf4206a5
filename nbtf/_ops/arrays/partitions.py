"""Distributes and merges slices by index: masks of lengths, dynamic_partition, dynamic_stitch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.joining import filled_up
from nbtf._ops.arrays.ranges import range as number_range
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import less
from nbtf._ops.math.magnitude import maximum
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.specs import Dims, bracketed, merged_shape
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, DTypeLike, TensorLike, as_dtype, bool_
from nbtf.errors import InvalidArgumentError


def sequence_mask(lengths: TensorLike, maxlen: Any = None, dtype: DTypeLike = bool_, name: str | None = None) -> Tensor:
    """Returns masks that select the first elements of sequences.

    Args:
      lengths: number of selected elements in each sequence.
      maxlen: the length of the masks; by default the largest of `lengths`.
      dtype: the dtype of the masks; bool by default.

    Returns:
      A tensor of shape `[*lengths.shape, maxlen]`, True or 1 for selected elements.

    Raises:
      ValueError: if `maxlen` is not a scalar.

    >>> tf.sequence_mask([1, 3]).numpy()
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    counts = as_tensor(lengths)
    longest = maximum(0, reduce_max(counts)) if maxlen is None else as_tensor(maxlen)
    if longest.ndim:
        raise ValueError(
            f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {longest} "
            f"with shape '{longest.shape}' instead"
        )
    positions = number_range(0, longest, 1)
    mask = less(positions, cast(expand_dims(counts, -1), positions.dtype))
    return mask if as_dtype(dtype) is bool_ else cast(mask, dtype)


def _dealt_partly(data: Any, partitions: Any, num_partitions: int) -> list[Dims]:
    return [None] * num_partitions


@op("T int32 -> T*", T=ALL, data_dependent=True, partly=_dealt_partly)
def DynamicPartition(xp: Any, data: Any, partitions: Any, num_partitions: int) -> Any:
    if data.shape[: partitions.ndim] != partitions.shape:
        text = "data.shape must start with partitions.shape, got data.shape = "
        shapes = f"{bracketed(data.shape)}, partitions.shape = {bracketed(partitions.shape)}"
        raise InvalidArgumentError(text + shapes)
    if xp is CPU.xp:
        outside = (partitions < 0) | (partitions >= num_partitions)
        if outside.any():
            first = tuple(int(i) for i in xp.argwhere(outside)[0])
            position = bracketed(first) if first else ""
            text = f"partitions{position} = {int(partitions[first])} is not in [0, {num_partitions})"
            raise InvalidArgumentError(text)
    return [data[partitions == number] for number in range(num_partitions)]


@DynamicPartition.infer
def _(data: Spec, partitions: Spec, num_partitions: int) -> list[Spec]:
    return [Spec((None, *data.shape[len(partitions.shape) :]), data.dtype)] * num_partitions


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Distributes the slices of a tensor among several tensors.

    Args:
      data: any tensor, shape `[*partitions.shape, ...]`.
      partitions: for each slice, the index of its tensor; int32.
      num_partitions: number of tensors.

    Returns:
      A list of tensors, in which slices keep their order.

    Raises:
      InvalidArgumentError: if a partition is outside `[0, num_partitions)`, or the shapes do not fit.

    >>> [t.numpy().tolist() for t in tf.dynamic_partition([1, 2, 3, 4], [0, 1, 0, 1], 2)]
    [[1, 3], [2, 4]]
    """
    if check_whole(num_partitions, "num_partitions") < 1:
        raise InvalidArgumentError(f"Value for attr 'num_partitions' of {num_partitions} must be at least minimum 1")
    return DynamicPartition(data, partitions, num_partitions=num_partitions, name=name)


@DynamicPartition.gradient_keeping("inputs", "outputs")
def _(call: Call, *grads: Tensor | None) -> Gradients:
    data, partitions = call.inputs
    count = math.prod(partitions.shape.as_list())
    numbers = reshape(number_range(count), partitions.shape)
    row_numbers = dynamic_partition(numbers, partitions, call.attrs["num_partitions"])
    return [reshape(dynamic_stitch(row_numbers, filled_up(call, grads)), data.shape), None]


@op("T* int32* -> T", T=ALL, data_dependent=True)
def DynamicStitch(xp: Any, data: Sequence[Any], indices: Sequence[Any]) -> Any:
    _check_parts(indices, data)
    inner = data[0].shape[indices[0].ndim :]
    if xp is CPU.xp:
        for number, rows in enumerate(indices):
            if rows.size and rows.min() < 0:
                raise InvalidArgumentError(f"indices[{number}] is out of range")
    count = max((int(rows.max()) + 1 for rows in indices if rows.size), default=0)
    stitched = xp.zeros((count, *inner), data[0].dtype)
    for rows, values in zip(indices, data, strict=True):
        stitched[rows] = values
    return stitched


@DynamicStitch.infer
def _(data: Sequence[Spec], indices: Sequence[Spec]) -> Spec:
    inner = merged_shape([values.shape[len(index.shape) :] for values, index in zip(data, indices, strict=True)])
    return Spec((None, *inner), data[0].dtype)


def _check_parts(indices: Sequence[Any], data: Sequence[Any]) -> None:
    inner = data[0].shape[indices[0].ndim :]
    for number, (rows, values) in enumerate(zip(indices, data, strict=True)):
        if values.shape[: rows.ndim] != rows.shape:
            text = f"data[{number}].shape = {bracketed(values.shape)} does not start with indices[{number}].shape = "
            raise InvalidArgumentError(text + bracketed(rows.shape))
        if values.shape[rows.ndim :] != inner:
            first, n = indices[0].ndim, rows.ndim
            raise InvalidArgumentError(
                f"Need data[0].shape[{first}:] = data[{number}].shape[{n}:], got data[0].shape = "
                f"{bracketed(data[0].shape)}, data[{number}].shape = {bracketed(values.shape)}, indices[0].shape = "
                f"{bracketed(indices[0].shape)}, indices[{number}].shape = {bracketed(rows.shape)}"
            )


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Merges slices of several tensors into one.

    Args:
      indices: a list of int32 tensors: the position of each slice.
      data: a list of tensors, shape `[*indices[i].shape, ...]`. For a repeated position, the last slice wins.

    Returns:
      A tensor as long as the largest index requires; zeros at positions without a slice.

    >>> tf.dynamic_stitch([[0, 2], [1, 3]], [[1, 2], [3, 4]]).numpy()
    array([1, 3, 2, 4], dtype=int32)
    """
    row_numbers, values = list(indices), list(data)
    if not row_numbers or len(row_numbers) != len(values):
        counts = f"{len(row_numbers)} and {len(values)}"
        text = f"tf.dynamic_stitch: `indices` and `data` must have the same length, at least 1, but have {counts}"
        raise InvalidArgumentError(text)
    return DynamicStitch(values, row_numbers, name=name)


@DynamicStitch.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    # Of two slices at the same position only the last is kept, but TensorFlow gives both the gradient.
    gradients: Any = [gather(grad, rows) for rows in call.inputs[1]]
    return [gradients, None]
