"""NumPy's functions that create arrays and change their shape, for tensors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from nbtf._ops.arrays import broadcasting, creation, gathering, joining, padding, ranges, shapes, slicing
from nbtf._ops.arrays.identity import identity as _copy
from nbtf._ops.attributes import as_ints
from nbtf._ops.linalg import diagonals
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.magnitude import clip_by_value
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.tensor import Tensor
from nbtf._types import float64, int64
from nbtf.experimental.numpy.promotion import alike, asarray, dtype_of, python_float, result_type

newaxis = None


def _dtype(dtype: Any, default: Any = None) -> Any:
    return (float64 if default is None else default) if dtype is None else dtype_of(dtype)


MOST_AXES = 64
"""Source: `NPY_MAXDIMS` of NumPy 2."""


def array(val: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Returns a value as a tensor.

    >>> tf.experimental.numpy.array([1.5], ndmin=2).shape
    TensorShape([1, 1])
    """
    tensor = asarray(val, dtype)
    missing = check_whole(ndmin, "ndmin") - len(tensor.shape)
    if missing > MOST_AXES:
        raise ValueError(f"ndmin must be at most {MOST_AXES}. Got {ndmin}")
    if missing > 0:
        tensor = broadcasting.reshape(tensor, [1] * missing + tensor.shape.as_list())
    return _copy(tensor) if copy else tensor


def copy(a: Any) -> Tensor:
    """Returns a copy of an array."""
    return array(a)


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of zeros; floats by default."""
    return creation.zeros(shape, _dtype(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of ones; floats by default.

    >>> tf.experimental.numpy.ones((2,)).dtype
    tf.float64
    """
    return creation.ones(shape, _dtype(dtype))


empty = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor filled with a value."""
    lengths = [shape] if isinstance(shape, int) else shape
    return broadcasting.broadcast_to(asarray(fill_value, dtype), lengths)


def zeros_like(a: Any, dtype: Any = None) -> Tensor:
    """Returns zeros in the shape of an array."""
    return creation.zeros_like(asarray(a, dtype))


def ones_like(a: Any, dtype: Any = None) -> Tensor:
    """Returns ones in the shape of an array."""
    return creation.ones_like(asarray(a, dtype))


empty_like = zeros_like


def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor filled with a value, in the shape and dtype of an array."""
    like = asarray(a)
    return full(like.shape, fill_value, dtype or like.dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803  # NumPy's names
    """Returns a matrix with ones on a diagonal and zeros elsewhere."""
    columns = N if M is None else M
    rows, diagonal = ranges.range(N, dtype=int64)[:, None], ranges.range(columns, dtype=int64)
    return cast(rows + k == diagonal, _dtype(dtype))  # type: ignore[operator]  # tensors get operators at run time


def identity(n: int, dtype: Any = None) -> Tensor:
    """Returns a square identity matrix."""
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Returns evenly spaced numbers from `start` up to but excluding `stop`; int64 for integers.

    >>> tf.experimental.numpy.arange(3).numpy()
    array([0, 1, 2])
    """
    first, last = (0, start) if stop is None else (start, stop)
    dtype_of_range = _dtype(dtype, result_type(*(asarray(bound) for bound in (first, last, step))))
    start_value, stop_value, step_value = (cast(asarray(bound), dtype_of_range) for bound in (first, last, step))
    return ranges.range(start_value, stop_value, step_value)


def linspace(start: Any, stop: Any, num: int = 50, dtype: Any = None) -> Tensor:
    """Returns `num` evenly spaced numbers, including both ends."""
    numbers = ranges.linspace(cast(asarray(start), python_float()), cast(asarray(stop), python_float()), num)
    return numbers if dtype is None else cast(numbers, dtype_of(dtype))


def meshgrid(*xi: Any, indexing: str = "xy") -> list[Tensor]:
    """Returns the coordinate matrices of a grid."""
    return ranges.meshgrid(*(asarray(coordinates) for coordinates in xi), indexing=indexing)


# Shapes


def shape(a: Any) -> tuple[int, ...]:
    """Returns the lengths of the axes."""
    return tuple(asarray(a).shape)


def ndim(a: Any) -> int:
    """Returns the number of axes."""
    return len(asarray(a).shape)


def size(a: Any) -> int:
    """Returns the number of values."""
    return int(asarray(a).shape.num_elements() or 0)


def reshape(a: Any, newshape: Any) -> Tensor:
    """Returns the values in another shape; a length of -1 is computed from the others."""
    return broadcasting.reshape(asarray(a), [newshape] if isinstance(newshape, int) else newshape)


def ravel(a: Any) -> Tensor:
    """Returns the values along a single axis."""
    return reshape(a, [-1])


flatten = ravel


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Returns the values with the axes permuted; by default in reverse order."""
    return shapes.transpose(asarray(a), perm=axes)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Returns the values with two axes swapped."""
    tensor = asarray(a)
    order = list(range(len(tensor.shape)))
    first, second = (axis_of(tensor, axis) for axis in (axis1, axis2))
    order[first], order[second] = order[second], order[first]
    return shapes.transpose(tensor, perm=order)


def moveaxis(a: Any, source: int, destination: int) -> Tensor:
    """Returns the values with an axis moved to another position."""
    tensor = asarray(a)
    first, last = axis_of(tensor, source), axis_of(tensor, destination)
    order = [axis for axis in range(len(tensor.shape)) if axis != first]
    order.insert(last, first)
    return shapes.transpose(tensor, perm=order)


def axis_of(tensor: Tensor, axis: Any) -> int:
    """Returns an axis counted from the front.

    Raises:
      ValueError: if the axis does not exist.
    """
    rank, number = len(tensor.shape), check_whole(axis, "axis")
    if not -rank <= number < rank:
        raise ValueError(f"axis {number} is out of bounds for array of dimension {rank}")
    return number % rank


def expand_dims(a: Any, axis: int) -> Tensor:
    """Returns the values with an additional axis of length 1."""
    return shapes.expand_dims(asarray(a), axis)


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Returns the values without axes of length 1.

    Raises:
      ValueError: if the axis does not exist.
    """
    tensor = asarray(a)
    if axis is not None:
        axis = [axis_of(tensor, number) for number in as_ints(axis)]
    return shapes.squeeze(tensor, axis)


def broadcast_to(array: Any, shape: Any) -> Tensor:
    """Returns the values broadcast to a shape."""
    return broadcasting.broadcast_to(asarray(array), shape)


# Several arrays


def concatenate(arys: Any, axis: int = 0) -> Tensor:
    """Returns arrays joined along an axis, in a common dtype."""
    return joining.concat(alike(*(asarray(array_like) for array_like in arys)), axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Returns arrays stacked along a new axis, in a common dtype."""
    return joining.stack(alike(*(asarray(array_like) for array_like in arrays)), axis)


def _at_least(a: Any, rank: int) -> Tensor:
    return array(a, ndmin=rank)


def vstack(tup: Any) -> Tensor:
    """Returns arrays joined row by row."""
    return concatenate([_at_least(array_like, 2) for array_like in tup], 0)


def hstack(tup: Any) -> Tensor:
    """Returns arrays joined side by side."""
    arrays = [_at_least(array_like, 1) for array_like in tup]
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    return concatenate(arrays, 0 if len(arrays[0].shape) == 1 else 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Returns an array with values appended."""
    pieces = [arr, values] if axis is not None else [ravel(arr), ravel(values)]
    return concatenate(pieces, axis or 0)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Returns parts of an array: a number of equal parts, or parts cut at given indices."""
    tensor = asarray(ary)
    if isinstance(indices_or_sections, int):
        return joining.split(tensor, indices_or_sections, axis)
    cuts = [0, *as_ints(indices_or_sections), tensor.shape[axis_of(tensor, axis)]]
    return joining.split(tensor, [end - start for start, end in pairwise(cuts)], axis)


def tile(a: Any, reps: Any) -> Tensor:
    """Returns an array repeated along each axis."""
    times = list(as_ints(reps))
    tensor = _at_least(a, len(times))
    return padding.tile(tensor, [1] * (len(tensor.shape) - len(times)) + times)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Returns an array with each value repeated."""
    return gathering.repeat(asarray(a) if axis is None else _at_least(a, 1), repeats, axis)


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Returns the values shifted along axes; values shifted past the end reappear at the beginning."""
    tensor = asarray(a)
    if axis is None:
        return broadcasting.reshape(slicing.roll(ravel(tensor), shift, 0), tensor.shape)
    return slicing.roll(tensor, shift, axis)


def flip(m: Any, axis: Any = None) -> Tensor:
    """Returns the values in reverse order along axes; along all axes by default."""
    tensor = asarray(m)
    axes = list(range(len(tensor.shape))) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return slicing.reverse(tensor, axes) if len(tensor.shape) else tensor


def take(a: Any, indices: Any, axis: int | None = None) -> Tensor:
    """Returns the values at indices along an axis; indices out of range are clipped."""
    tensor, number = (ravel(a), 0) if axis is None else (asarray(a), axis)
    positions = asarray(indices)
    length = tensor.shape[axis_of(tensor, number)]
    return gathering.gather(tensor, clip_by_value(positions, cast(0, positions.dtype), length - 1), axis=number)


def diag(v: Any, k: int = 0) -> Tensor:
    """Returns a matrix with given values on a diagonal, or the diagonal of a matrix.

    Raises:
      ValueError: if `v` is neither a vector nor a matrix.
    """
    tensor = asarray(v)
    if not 1 <= len(tensor.shape) <= 2:
        raise ValueError(f"Expected a vector or a matrix. Got an array of shape {tensor.shape}.")
    return (diagonals.diag if len(tensor.shape) == 1 else diagonals.diag_part)(tensor, k=k)


def tril(m: Any, k: int = 0) -> Tensor:
    """Returns the values on and below a diagonal, with zeros above."""
    return _triangle(m, k, below=True)


def triu(m: Any, k: int = 0) -> Tensor:
    """Returns the values on and above a diagonal, with zeros below."""
    return _triangle(m, k, below=False)


def _triangle(m: Any, k: int, below: bool) -> Tensor:
    tensor = asarray(m)
    if len(tensor.shape) < 2:
        raise ValueError(f"Argument to tril and triu must have at least rank 2, got shape {tensor.shape}")
    rows = ranges.range(tensor.shape[-2])[:, None]
    columns = ranges.range(tensor.shape[-1])
    mask: Any = columns <= rows + k if below else columns >= rows + k  # type: ignore[operator]
    return multiply(tensor, cast(mask, tensor.dtype))
