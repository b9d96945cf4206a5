"""Sums and maxima of sparse tensors along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.coordinates import gather_nd, scatter_nd
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.attributes import as_axis, as_ints
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.comparison import equal
from nbtf._ops.math.division import divide, floordiv
from nbtf._ops.math.segments import folded
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, sparse_of
from nbtf._ops.specs import Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, REALS, int32, int64
from nbtf.errors import InvalidArgumentError


def _axes(rank: int, axes: Sequence[int]) -> list[int]:
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidArgumentError(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    return sorted({axis % rank for axis in axes})


def _groups(xp: Any, indices: Any, shape: Sequence[int], axes: Sequence[int]) -> tuple[Any, list[int]]:
    """Returns the flat position of each element in the reduced tensor, and the lengths of the remaining axes."""
    reduced = _axes(len(shape), axes)
    remaining = [axis for axis in range(len(shape)) if axis not in reduced]
    lengths = [shape[axis] for axis in remaining]
    flat = xp.zeros(len(indices), xp.int64)
    for axis in remaining:
        flat = flat * shape[axis] + indices[:, axis]
    return flat, lengths


def _reduced_shape(shape: Sequence[int], axes: Sequence[int], keep_dims: bool) -> list[int]:
    """Returns the lengths of the result."""
    reduced = _axes(len(shape), axes)
    return [1 if axis in reduced else length for axis, length in enumerate(shape) if keep_dims or axis not in reduced]


def _dense(xp: Any, join: Any, start: Any, components: Any, shape: Any, axes: Any, keep_dims: bool) -> Any:
    indices, values = components
    flat, lengths = _groups(xp, indices, shape, axes)
    result = xp.zeros(math.prod(lengths), values.dtype)
    stored = xp.unique(flat)
    result[stored] = folded(xp, join, values, xp.searchsorted(stored, flat), len(stored), start)
    return result.reshape(_reduced_shape(shape, axes, keep_dims))


def _sparse(xp: Any, join: Any, start: Any, components: Any, shape: Any, axes: Any, keep_dims: bool) -> list[Any]:
    indices, values = components
    flat, _ = _groups(xp, indices, shape, axes)
    stored = xp.unique(flat)
    reduced = folded(xp, join, values, xp.searchsorted(stored, flat), len(stored), start)
    lengths = _reduced_shape(shape, axes, keep_dims)
    positions = xp.empty((len(stored), len(lengths)), xp.int64)
    for axis in range(len(lengths) - 1, -1, -1):
        positions[:, axis] = stored % lengths[axis]
        stored = stored // lengths[axis]
    return [positions, reduced, xp.array(lengths, xp.int64)]


def _lowest(values: Any, xp: Any) -> Any:
    return -xp.inf if values.dtype.kind == "f" else xp.iinfo(values.dtype).min


_ATTRS: Any = {
    "host": {"input_shape": as_ints, "reduction_axes": as_ints},
    "asked": {"input_shape": int64, "reduction_axes": int32},
    "cpu_only": True,
}


def _partly(*specs: Any, **attrs: Any) -> Dims:
    return None


def _sparse_partly(*specs: Any, **attrs: Any) -> list[Dims]:
    return [(None, None), (None,), (None,)]


def _dense_spec(indices: Spec, values: Spec, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> Spec:
    return Spec(tuple(_reduced_shape(input_shape, reduction_axes, keep_dims)), values.dtype)


def _sparse_specs(indices: Spec, values: Spec, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> list[Spec]:
    rank = len(_reduced_shape(input_shape, reduction_axes, keep_dims))
    return [Spec((None, rank), int64), Spec((None,), values.dtype), Spec((rank,), int64)]


@op("int64 T -> T", T=NUMBERS, partly=_partly, infer=_dense_spec, **_ATTRS)
def SparseReduceSum(
    xp: Any, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool
) -> Any:
    return _dense(xp, xp.add, 0, (input_indices, input_values), input_shape, reduction_axes, keep_dims)


@SparseReduceSum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [None, _spread(call, grad)]


def _spread(call: Call, reduced: Tensor) -> Tensor:
    """Returns, for each stored element, the element of a reduced tensor that it belongs to."""
    shape, axes = call.attrs["input_shape"], call.attrs["reduction_axes"]
    return gather_nd(reshape(reduced, _reduced_shape(shape, axes, True)), _positions(call))


def _positions(call: Call) -> Tensor:
    shape, axes = call.attrs["input_shape"], call.attrs["reduction_axes"]
    reduced_lengths = [1 if length == 0 else length for length in _reduced_shape(shape, axes, True)]
    divisors = [max(length // divisor, 1) for length, divisor in zip(shape, reduced_lengths, strict=True)]
    return floordiv(call.inputs[0], as_tensor(divisors, int64))


@op("int64 T -> T", T=REALS, partly=_partly, infer=_dense_spec, **_ATTRS)
def SparseReduceMax(
    xp: Any, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool
) -> Any:
    lowest = _lowest(input_values, xp)
    return _dense(xp, xp.maximum, lowest, (input_indices, input_values), input_shape, reduction_axes, keep_dims)


@SparseReduceMax.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    values, shape = call.inputs[1], _reduced_shape(call.attrs["input_shape"], call.attrs["reduction_axes"], True)
    is_largest = cast(equal(values, _spread(call, call.outputs[0])), values.dtype)
    positions = _positions(call)
    count = gather_nd(scatter_nd(positions, is_largest, shape), positions)
    return [None, multiply(divide(_spread(call, grad), count), is_largest)]


@op(
    "int64 T -> int64 T int64",
    T=NUMBERS,
    data_dependent=True,
    partly=_sparse_partly,
    infer=_sparse_specs,
    **_ATTRS,
)
def SparseReduceSumSparse(
    xp: Any, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool
) -> list[Any]:
    return _sparse(xp, xp.add, 0, (input_indices, input_values), input_shape, reduction_axes, keep_dims)


@op(
    "int64 T -> int64 T int64",
    T=REALS,
    data_dependent=True,
    partly=_sparse_partly,
    infer=_sparse_specs,
    **_ATTRS,
)
def SparseReduceMaxSparse(
    xp: Any, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool
) -> list[Any]:
    lowest = _lowest(input_values, xp)
    return _sparse(xp, xp.maximum, lowest, (input_indices, input_values), input_shape, reduction_axes, keep_dims)


no_gradient(SparseReduceSumSparse)
no_gradient(SparseReduceMaxSparse)


def reduce_sum(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Returns sums of a sparse tensor's stored elements along axes.

    Args:
      sp_input: the sparse tensor.
      axis: an axis or a list of axes, counted from the end if negative; all by default.
      keepdims: whether the axes remain, with length 1; False by default.
      output_is_sparse: whether to return a sparse tensor, through which no gradient flows; False by default.

    Returns:
      A tensor, or a sparse tensor that stores the sums of groups with a stored element.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      InvalidArgumentError: if an axis does not exist.

    >>> tf.sparse.reduce_sum(tf.sparse.from_dense([[1, 0, 2], [0, 0, 0]]), axis=1).numpy()
    array([3, 0], dtype=int32)
    """
    return _reduced(SparseReduceSum, SparseReduceSumSparse, sp_input, axis, keepdims, output_is_sparse, name)


def reduce_max(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Returns maxima of a sparse tensor's stored elements along axes; zeros that are not stored do not count.

    Args:
      sp_input: the sparse tensor, of real numbers.
      axis: an axis or a list of axes, counted from the end if negative; all by default.
      keepdims: whether the axes remain, with length 1; False by default.
      output_is_sparse: whether to return a sparse tensor, through which no gradient flows; False by default.

    Returns:
      A tensor, 0 for groups without a stored element, or a sparse tensor that stores the other groups' maxima.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      InvalidArgumentError: if an axis does not exist.

    >>> tf.sparse.reduce_max(tf.sparse.from_dense([[-1, 0, -2], [0, 0, 0]]), axis=1).numpy()
    array([-1,  0], dtype=int32)
    """
    return _reduced(SparseReduceMax, SparseReduceMaxSparse, sp_input, axis, keepdims, output_is_sparse, name)


def _reduced(
    to_dense: Callable[..., Any],
    to_sparse: Callable[..., Any],
    sp_input: Any,
    axis: Any,
    keepdims: bool | None,
    output_is_sparse: bool,
    name: str | None,
) -> Any:
    sparse = sparse_of(sp_input)
    axes = list(range(sparse.indices.shape[1])) if axis is None else as_axis(axis)
    components = (sparse.indices, sparse.values)
    attrs: Any = {"input_shape": sparse.dense_shape, "reduction_axes": axes, "keep_dims": bool(keepdims)}
    if not output_is_sparse:
        return to_dense(*components, **attrs, name=name)
    indices, values, lengths = to_sparse(*components, **attrs, name=name)
    result = SparseTensor(indices, values, lengths)
    if sparse.shape.rank is not None:
        known_lengths = [-1 if length is None else length for length in sparse.shape.as_list()]
        reduced_lengths = _reduced_shape(known_lengths, as_ints(axes), bool(keepdims))
        result.set_shape([None if length == -1 else length for length in reduced_lengths])
    return result
