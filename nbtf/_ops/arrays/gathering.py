"""Selects slices by index: gather, boolean_mask, repeat."""

from __future__ import annotations

import math
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.coordinates import POSITIONS, scatter_nd
from nbtf._ops.arrays.index_writes import read_at, take_rows
from nbtf._ops.arrays.padding import tile
from nbtf._ops.arrays.ranges import range as number_range
from nbtf._ops.arrays.searching import searchsorted
from nbtf._ops.arrays.shapes import expand_dims, inverse, joint_length, lengths_of, shape, squeeze, transpose
from nbtf._ops.attributes import HostInput, as_axis, as_int, of_integers
from nbtf._ops.math.arithmetic import add
from nbtf._ops.math.comparison import where
from nbtf._ops.math.cumulative import cumsum
from nbtf._ops.op import Gradients, op
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.specs import Dims, bracketed
from nbtf._runtime.conversion import as_tensor, host_array
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def _gathered_partly(params: Any, indices: Any, axis: Any, batch_dims: int, **attrs: Any) -> Dims:
    if params.shape is None or indices.shape is None:
        return None
    return (None,) * (len(params.shape) - 1 + len(indices.shape) - batch_dims)


@op(
    "T Tindices -> T",
    T=ALL,
    Tindices=POSITIONS,
    host={"axis": of_integers("Taxis", as_axis)},
    asked={"axis": None},
    partly=_gathered_partly,
    inputs={"axis": HostInput("axis", default=0)},
    index_type="Taxis",
)
def GatherV2(xp: Any, params: Any, indices: Any, validate_indices: Any, axis: Any, batch_dims: int) -> Any:
    axis, batch = _axis_and_batch(axis, batch_dims, params.ndim, indices.ndim)
    if params.shape[:batch] != indices.shape[:batch]:
        raise ValueError("batches differ")
    if batch == 0:
        return _take(xp, params, indices, axis)
    if xp is CPU.xp and indices.size and (int(indices.min()) < 0 or int(indices.max()) >= params.shape[axis]):
        _refuse_index(xp, indices, params.shape[axis])
    grid = [
        xp.arange(n).reshape([-1 if i == axis_number else 1 for i in range(indices.ndim)])
        for axis_number, n in enumerate(indices.shape[:batch])
    ]
    rows = read_at(xp, xp.moveaxis(params, axis, batch), (*grid, indices))  # batch, positions, axes before, axes after
    positions = range(batch, indices.ndim)
    leading_axes = range(indices.ndim, indices.ndim + axis - batch)
    behind = range(indices.ndim + axis - batch, rows.ndim)
    return rows.transpose([*range(batch), *leading_axes, *positions, *behind])


def _take(xp: Any, params: Any, indices: Any, axis: int) -> Any:
    """Returns slices by index. Negative indices, which NumPy counts from the end, are rejected as in TensorFlow."""
    if xp is not CPU.xp:
        return take_rows(xp, params, indices, axis)
    if params.dtype.kind == "O" and not indices.ndim:  # NumPy would return the bytes themselves
        return _take(xp, params, indices[None], axis).squeeze(axis)
    try:
        if indices.itemsize < 8:  # as unsigned, negatives are too large: 3 times as fast as `min`
            return params.take(indices.view(f"u{indices.itemsize}"), axis)
        if not indices.size or indices.min() >= 0:
            return params.take(indices, axis)
    except IndexError:
        pass
    return _refuse_index(xp, indices, params.shape[axis])


def _axis_and_batch(axis: Any, batch_dims: int, rank: int, index_rank: int) -> tuple[int, int]:
    """Returns the non-negative axis to gather along and the number of batch axes."""
    batch = batch_dims + index_rank if batch_dims < 0 else batch_dims
    if isinstance(axis, tuple):
        raise InvalidArgumentError("axis must be scalar")
    position = batch if axis is None else axis.__index__()
    if rank == 0:
        raise InvalidArgumentError("params must be at least 1 dimensional")
    if not -rank <= position < rank:
        needed = position + 1 if position >= 0 else -position
        raise InvalidArgumentError(f"Shape must be at least rank {needed} but is rank {rank}")
    position %= rank
    if position == 0:
        batch = 0  # along the first axis, TensorFlow ignores `batch_dims`
    if not 0 <= batch <= index_rank:
        raise InvalidArgumentError(f"Expected batch_dims in the range [{-index_rank}, {index_rank}], but got {batch}")
    if batch >= rank:
        raise InvalidArgumentError(f"batch_dims ({batch}) must be less than rank(params) ({rank}).")
    if batch > position:
        raise InvalidArgumentError(f"batch_dims ({batch}) must be less than or equal to axis ({position}).")
    return position, batch


def _refuse_index(xp: Any, indices: Any, length: int) -> None:
    first = tuple(int(i) for i in xp.argwhere((indices < 0) | (indices >= length))[0])
    position = bracketed(first) if first else ""
    raise InvalidArgumentError(f"indices{position} = {int(indices[first])} is not in [0, {length})")


@GatherV2.express
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Returns slices of a tensor at the given indices along an axis.

    Args:
      params: a tensor with at least one axis, or a ragged tensor, whose rows are gathered.
      indices: the indices of the slices, an integer tensor; they may be ragged.
      validate_indices: accepted and ignored; as in TensorFlow, a real GPU reads zeros for indices out of range.
      axis: the axis to gather along; by default the first after the batch axes.
      batch_dims: number of leading batch axes that both have in common; 0 by default.

    Returns:
      The slices; the axes of `indices` replace `axis`.

    Raises:
      InvalidArgumentError: if an index is out of range (not on a real GPU), or an axis does not exist.

    >>> tf.gather([[1, 2, 3], [4, 5, 6]], [2, 0], axis=1).numpy()
    array([[3, 1],
           [6, 4]], dtype=int32)
    """
    of_ragged: Any = getattr(params, "_gather", None) or getattr(indices, "_gather", None)
    if of_ragged is not None:
        return of_ragged(params, indices, axis, batch_dims)
    if axis is None and batch_dims == 0:
        axis = 0
    return GatherV2(params, indices, validate_indices=validate_indices, axis=axis, batch_dims=batch_dims, name=name)


@GatherV2.infer
def _(params: Spec, indices: Spec, validate_indices: Any, axis: Any, batch_dims: int) -> Spec:
    axis_number, batch = _axis_and_batch(axis, batch_dims, len(params.shape), len(indices.shape))
    for number, (m, n) in enumerate(zip(params.shape[:batch], indices.shape[:batch], strict=True)):
        if m != n and None not in (m, n):
            raise InvalidArgumentError(f"params.shape[{number}]: {m} should be equal to indices.shape[{number}]: {n}")
    return Spec((*params.shape[:axis_number], *indices.shape[batch:], *params.shape[axis_number + 1 :]), params.dtype)


@GatherV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    params, indices = call.inputs
    lengths: list[Any] = params.shape.as_list()
    axis, batch = _axis_and_batch(as_axis(call.attrs["axis"]), call.attrs["batch_dims"], len(lengths), indices.ndim)
    if axis == 0:  # rows were read: a gradient of these rows costs less than a full one
        rows: Any = IndexedSlices(reshape(grad, [-1, *lengths[1:]]), reshape(indices, [-1]), shape(params))
        return [rows, None]
    positions = indices.ndim - batch
    # Reduce to rows: batch and position axes first, the others last, and each position as a row number.
    in_front = [*range(batch), *range(axis, axis + positions)]
    rows = transpose(grad, [*in_front, *(i for i in range(grad.ndim) if i not in in_front)])
    remaining = [*lengths[batch:axis], *lengths[axis + 1 :]]
    rows = reshape(rows, [-1, math.prod(remaining)])
    count = math.prod(lengths[:batch])
    summed = scatter_nd(
        reshape(_row_numbers(indices, batch, count, lengths[axis]), [-1, 1]),
        rows,
        [count * lengths[axis], math.prod(remaining)],
    )
    back = [*range(batch), axis, *range(batch, axis), *range(axis + 1, len(lengths))]
    return [transpose(reshape(summed, [*lengths[:batch], lengths[axis], *remaining]), inverse(back)), None]


def _row_numbers(indices: Tensor, batch: int, count: int, length: int) -> Tensor:
    """Returns positions as row numbers counted across all batches."""
    if batch == 0:
        return indices
    starts = number_range(0, count * length, length, dtype=indices.dtype)
    return add(reshape(starts, [*indices.shape[:batch], *[1] * (indices.ndim - batch)]), indices)


def boolean_mask(tensor: TensorLike, mask: TensorLike, axis: Any = None, name: str | None = "boolean_mask") -> Tensor:
    """Returns the elements or slices that a mask selects.

    Args:
      tensor: any tensor.
      mask: a bool tensor, or numbers, which select where they are not 0; has `tensor`'s lengths along the axes it
        covers.
      axis: the first axis that the mask covers; 0 by default.

    Returns:
      The selected slices; a single axis replaces the axes that the mask covers.

    Raises:
      ValueError: if the mask is a scalar, or its shape does not fit.

    >>> tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]).numpy()
    array([[1, 2],
           [5, 6]], dtype=int32)
    """
    tensor, mask = as_tensor(tensor), as_tensor(mask)
    if not mask.ndim:
        raise ValueError("mask cannot be scalar.")
    first = 0 if axis is None else as_int(axis)
    last = first + mask.ndim
    tensor.shape[first:last].assert_is_compatible_with(mask.shape)
    lengths = lengths_of(tensor)
    flat = reshape(tensor, [*lengths[:first], joint_length(tensor.shape[first:last]), *lengths[last:]])
    return gather(flat, squeeze(where(reshape(mask, [-1])), [1]), axis=first)


def repeat(input: TensorLike, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor in which each element or slice is repeated.

    Args:
      input: any tensor.
      repeats: number of repetitions, one number for all or a list with one per slice.
      axis: the axis along which slices are repeated; by default the elements of the flattened tensor.

    Returns:
      The longer tensor.

    Raises:
      TypeError: if `repeats` are not integers.
      ValueError: if the axis does not exist, or `repeats` does not have one number per slice.

    >>> tf.repeat([[1, 2], [3, 4]], [1, 2], axis=0).numpy()
    array([[1, 2],
           [3, 4],
           [3, 4]], dtype=int32)
    """
    tensor = as_tensor(input)
    if axis is None:
        tensor, axis = reshape(tensor, [-1]), 0
    counts = _counts(repeats)
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(f"axis={axis} out of bounds: expected {-tensor.ndim}<=axis<{tensor.ndim}")
    axis %= tensor.ndim
    lengths: list[Any] = [shape(tensor)[i] if n is None else n for i, n in enumerate(tensor.shape.as_list())]
    if counts.__class__ is not tuple and counts.shape.num_elements() == 1:
        counts = (reshape(counts, []),)
    if counts.__class__ is not tuple:
        ends = cumsum(counts)
        return gather(tensor, searchsorted(ends, number_range(ends[-1]), side="right"), axis=axis)
    if len(counts) == 1:
        multiples = [counts[0] if i == axis + 1 else 1 for i in range(tensor.ndim + 1)]
        repeated = tile(expand_dims(tensor, axis + 1), multiples)
        return reshape(repeated, [n * counts[0] if i == axis else n for i, n in enumerate(lengths)])
    if tensor.shape[axis] not in (len(counts), None):
        raise ValueError(f"Dimensions {lengths[axis]} and {len(counts)} are not compatible")
    numbers = [i for i, count in enumerate(counts) for _ in range(count)]
    return gather(tensor, as_tensor(numbers, int32), axis=axis)


def _counts(repeats: Any) -> Any:
    """Returns the numbers of repetitions in a tuple, or as a tensor if they are known only when a function runs."""
    if hasattr(repeats, "static_value") and repeats.static_value() is None:
        return repeats
    if hasattr(repeats, "static_value"):
        repeats = repeats.static_value()
    array, dtype = host_array(repeats)
    if array.size and not dtype.is_integer:
        text = f"Argument `tensor` (name: repeats) must be of type integer. Received `tensor` = {repeats} of dtype: "
        raise TypeError(text + str(dtype))
    if array.ndim > 1:
        raise ValueError(f"Shape {array.shape} must have rank at most 1")
    return tuple(array.reshape(-1).tolist())
