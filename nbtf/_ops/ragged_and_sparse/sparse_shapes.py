"""Reshapes, transposes and joins sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import get_static_value, zeros
from nbtf._ops.arrays.gathering import gather
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import concat as concat_dense
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.shapes import transpose as transpose_dense
from nbtf._ops.attributes import as_int, as_ints
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, reorder, sparse_of
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.specs import Dims, bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, int64
from nbtf.errors import InvalidArgumentError


def _reshaped_partly(input_indices: Any, **attrs: Any) -> list[Dims]:
    count = None if input_indices.shape is None else input_indices.shape[0]
    return [(count, None), (None,)]


@op(
    "int64 -> int64 int64",
    host={"input_shape": as_ints, "new_shape": as_ints},
    asked={"input_shape": int64, "new_shape": int64},
    cpu_only=True,
    data_dependent=True,
    partly=_reshaped_partly,
)
def SparseReshape(xp: Any, input_indices: Any, input_shape: Any, new_shape: Any) -> list[Any]:
    lengths = _lengths(input_shape, new_shape)
    flat = input_indices @ _strides(xp, input_shape)
    steps = _strides(xp, lengths)
    indices = flat[:, None] // steps % xp.maximum(xp.array(lengths, xp.int64), 1)
    return [indices.reshape(len(input_indices), len(lengths)), xp.array(lengths, xp.int64)]


def _strides(xp: Any, lengths: Sequence[int]) -> Any:
    """Returns how many elements lie between two neighbours along each axis."""
    return xp.array([math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))], xp.int64)


def _lengths(old: Sequence[int], new: Sequence[int]) -> tuple[int, ...]:
    """Returns the new lengths, with the one that is -1 computed."""
    size, element_count = math.prod(old), math.prod([length for length in new if length != -1])
    if list(new).count(-1) > 1:
        first = new.index(-1)
        second = new.index(-1, first + 1)
        raise InvalidArgumentError(f"only one output dimension may be -1, not both {first} and {second}")
    if -1 in new:
        if not element_count:
            raise InvalidArgumentError("reshape cannot infer the missing input size for an empty tensor")
        if size % element_count:
            text = f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape requires a "
            raise InvalidArgumentError(f"{text}multiple of {element_count}. input_shape={bracketed(old)}")
        return tuple([size // element_count if length == -1 else length for length in new])
    if size != element_count:
        text = f"Input to reshape is a tensor with {size} dense values, but the requested shape has {element_count}. "
        raise InvalidArgumentError(f"{text}input_shape={bracketed(old)} output_shape={bracketed(new)}")
    return tuple(new)


@SparseReshape.infer
def _(input_indices: Spec, input_shape: Any, new_shape: Any) -> list[Spec]:
    return [Spec((input_indices.shape[0], len(new_shape)), int64), Spec((len(new_shape),), int64)]


no_gradient(SparseReshape)


def reshape(sp_input: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its elements in another shape.

    Args:
      sp_input: the sparse tensor.
      shape: the lengths of the new axes, a list or an integer vector; one may be -1 and is then computed.

    Returns:
      A sparse tensor with the same values in row-major order.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      ValueError: if the number of elements differs, or more than one length is -1.
      InvalidArgumentError: if one of these is known only when a traced function runs.

    >>> tf.sparse.reshape(tf.sparse.from_dense([[0, 7], [8, 0]]), [-1]).indices.numpy().tolist()
    [[1], [2]]
    """
    sparse = sparse_of(sp_input)
    lengths = as_tensor(shape, int64)
    old: Any = sparse.shape.as_list() if sparse.shape.rank is not None else [None]
    new: Any = _static_lengths(lengths)
    indices, result_shape = SparseReshape(sparse.indices, input_shape=sparse.dense_shape, new_shape=lengths, name=name)
    if new is not None and None not in old:
        new = _checked_lengths(old, new)
    result = SparseTensor(indices, identity(sparse.values), result_shape)
    if new is not None:
        result.set_shape([None if length == -1 else length for length in new])
    return result


def _static_lengths(lengths: Any) -> list[int] | None:
    """Returns the elements of a vector; None while a function is traced that will compute them."""
    value = get_static_value(lengths)
    return None if value is None else value.tolist()


def _checked_lengths(old: Sequence[int], new: Sequence[int]) -> Sequence[int]:
    if list(new).count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {list(new)}")
    size, element_count = math.prod(old), math.prod([length for length in new if length != -1])
    lengths = [size // element_count if length == -1 and element_count else length for length in new]
    if -1 not in lengths and math.prod(lengths) != size:
        requested = [None if length == -1 else length for length in new]
        text = f"Cannot reshape a tensor with {size} elements to shape {requested} ({math.prod(lengths)} elements)."
        raise ValueError(text)
    return lengths


def expand_dims(sp_input: SparseTensor, axis: Any = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with one more axis, of length 1.

    Args:
      sp_input: the sparse tensor.
      axis: the position of the new axis, counted from the end if negative; the end by default.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor, or `axis` is not an integer.
      InvalidArgumentError: if the position does not exist.

    >>> tf.sparse.expand_dims(tf.sparse.from_dense([0, 7]), 0).shape
    TensorShape([1, 2])
    """
    sparse = sparse_of(sp_input)
    rank = sparse.indices.shape[1]
    try:
        position = -1 if axis is None else as_int(axis)
    except TypeError:
        text = f"axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]. Received: {axis!r}"
        raise TypeError(text) from None
    position += 0 if position >= 0 else rank + 1
    if not 0 <= position <= rank:
        raise InvalidArgumentError(f"Expected begin and size arguments to be within [0, {rank}], but got {position}")
    column = zeros([shape_of(sparse.indices)[0], 1], int64)
    indices = concat_dense([sparse.indices[:, :position], column, sparse.indices[:, position:]], 1)
    lengths = concat_dense([sparse.dense_shape[:position], as_tensor([1], int64), sparse.dense_shape[position:]], 0)
    result = SparseTensor(indices, sparse.values, lengths)
    if sparse.shape.rank is not None:
        old_lengths = sparse.shape.as_list()
        result.set_shape([*old_lengths[:position], 1, *old_lengths[position:]])
    return result


def transpose(sp_input: SparseTensor, perm: TensorLike | None = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its axes in another order.

    Args:
      sp_input: the sparse tensor.
      perm: the old axis for each new one; by default the axes are reversed.

    Returns:
      A sparse tensor with its positions in row-major order.

    Raises:
      TypeError: if `sp_input` is not a sparse tensor.
      InvalidArgumentError: if an axis of `perm` does not exist.

    >>> tf.sparse.to_dense(tf.sparse.transpose(tf.sparse.from_dense([[0, 7]]))).numpy().tolist()
    [[0], [7]]
    """
    sparse = sparse_of(sp_input)
    order = list(range(sparse.indices.shape[1]))[::-1] if perm is None else perm
    indices = transpose_dense(gather(transpose_dense(sparse.indices), order))
    result = SparseTensor(indices, sparse.values, gather(sparse.dense_shape, order))
    ordered = reorder(result, name=name)
    axes = _static_lengths(as_tensor(order))
    if axes is not None and sparse.shape.rank is not None:
        ordered.set_shape([sparse.shape.as_list()[axis] for axis in axes])
    return ordered


def _joined_partly(values: Any, indices: Any, shapes: Any, **attrs: Any) -> list[Dims]:
    rank = next((spec.shape[1] for spec in indices if spec.shape is not None), None)
    return [(None,), (None, rank), (rank,)]


@op("T* int64* int64* -> T int64 int64", T=ALL, cpu_only=True, data_dependent=True, partly=_joined_partly)
def SparseConcat(xp: Any, values: list[Any], indices: list[Any], shapes: list[Any], concat_dim: int) -> list[Any]:
    axis = _axis_of_joined([tuple(shape.tolist()) for shape in shapes], concat_dim)
    start, all_positions = 0, list[Any]()
    for positions, shape in zip(indices, shapes, strict=True):
        moved = positions.copy()
        moved[:, axis] += start
        all_positions.append(moved)
        start += int(shape[axis])
    joined, lengths = xp.concatenate(all_positions), shapes[0].copy()
    lengths[axis] = start
    order = xp.lexsort(joined.T[::-1])
    return [xp.concatenate(values)[order], joined[order], lengths]


def _axis_of_joined(shapes: Sequence[tuple[int, ...]], axis: int) -> int:
    """Returns the axis along which tensors are joined, after checking that the other lengths agree."""
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"Concat dimension must be in range [{-rank}, {rank}), got {axis}")
    for number, shape in enumerate(shapes):
        if len(shape) != rank:
            text = f"Ranks of all input tensors must match: expected {rank} but got {len(shape)} at position {number}"
            raise InvalidArgumentError(text)
        for position, (length, first) in enumerate(zip(shape, shapes[0], strict=True)):
            if length != first and position != axis % rank:
                text = f"Input shapes must match: expected {first} for dimension {position} but got {length} at "
                raise InvalidArgumentError(f"{text}position {number}")
    return axis % rank


@SparseConcat.infer
def _(values: Sequence[Spec], indices: Sequence[Spec], shapes: Sequence[Spec], concat_dim: int) -> list[Spec]:
    counts = [spec.shape[0] for spec in values]
    known_counts = [count for count in counts if count is not None]
    count, rank = sum(known_counts) if len(known_counts) == len(counts) else None, indices[0].shape[1]
    return [Spec((count,), values[0].dtype), Spec((count, rank), int64), Spec((rank,), int64)]


no_gradient(SparseConcat)


def concat(
    axis: int, sp_inputs: Sequence[SparseTensor], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Joins sparse tensors along an axis.

    As in TensorFlow, gradients do not flow through this function.

    Args:
      axis: the axis, counted from the end if negative.
      sp_inputs: a list of sparse tensors of the same dtype and rank.
      expand_nonconcat_dims: whether other lengths may differ; the result then has the largest. False by default.

    Returns:
      A sparse tensor with its positions in row-major order.

    Raises:
      TypeError: if an element of `sp_inputs` is not a sparse tensor.
      InvalidArgumentError: if dtypes, ranks or lengths do not fit, or the axis does not exist.

    >>> s = tf.sparse.from_dense([[0, 7]])
    >>> tf.sparse.to_dense(tf.sparse.concat(1, [s, s])).numpy().tolist()
    [[0, 7, 0, 7]]
    """
    listed = [sparse_of(value) for value in ([sp_inputs] if isinstance(sp_inputs, SparseTensor) else sp_inputs)]
    if len(listed) == 1:
        return listed[0]
    shapes = [sparse.dense_shape for sparse in listed]
    input_shapes = [sparse.shape for sparse in listed]
    number = as_int(axis)
    if expand_nonconcat_dims:
        shapes = _widened(shapes, number)
    indices = [sparse.indices for sparse in listed]
    values, joined, lengths = SparseConcat(
        [each.values for each in listed], indices, shapes, concat_dim=number, name=name
    )
    result = SparseTensor(joined, values, lengths)
    if not expand_nonconcat_dims and all(shape.rank is not None for shape in input_shapes):
        static = input_shapes[0].as_list()
        ends = [shape[number] for shape in input_shapes]
        static[number] = None if None in ends else sum(ends)
        result.set_shape(static)
    return result


def _widened(shapes: Sequence[Tensor], axis: int) -> list[Tensor]:
    """Returns shapes with the largest of all lengths, except along an axis."""
    largest = reduce_max(stack(shapes), 0)
    position = axis % largest.shape[0]
    return [
        concat_dense([largest[:position], shape[position : position + 1], largest[position + 1 :]], 0)
        for shape in shapes
    ]
