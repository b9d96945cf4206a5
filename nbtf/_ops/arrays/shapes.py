"""Ops that return a tensor's shape or rearrange its axes without changing elements."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.attributes import HostInput, KnownInput, as_axis, as_index_dtype, as_ints, of_integers
from nbtf._ops.op import Gradients, no_gradient, op
from nbtf._ops.specs import Lengths, broadcast_shapes, longer, of_rank, same_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import ALL, COMPLEXES, DTypeLike, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def _known_shape(input: KnownInput, out_type: Any) -> Any:
    return None if input.shape is None else list(input.shape)


@op(
    "T -> out_type",
    T=ALL,
    plain={"out_type": as_index_dtype},
    host_outputs=True,
    partly=of_rank(1),
    static=_known_shape,
)
def Shape(xp: Any, input: Any, out_type: Any) -> Any:
    return xp.array(input.shape, out_type.np_dtype)


def shape(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the shape of a tensor as a tensor.

    Args:
      input: any tensor, or a sparse tensor; a ragged tensor has a `tf.experimental.DynamicRaggedShape`.
      out_type: the dtype, `tf.int32` (default) or `tf.int64`.

    Returns:
      A vector with the length of each axis, in host memory. `input.shape` has the same lengths as Python numbers.

    >>> tf.shape([[1, 2, 3], [4, 5, 6]]).numpy()
    array([2, 3], dtype=int32)
    """
    of_sparse: Any = getattr(input, "_shape_as_tensor", None)
    if of_sparse is not None:
        return of_sparse(as_index_dtype(out_type))
    return Shape(input, out_type=out_type, name=name)


def lengths_of(tensor: Tensor) -> Any:
    """Returns a tensor's lengths; for a graph tensor, unknown lengths are scalar tensors.

    If the rank is unknown, a single tensor holds all lengths.
    """
    if tensor.shape.rank is None:
        return shape(tensor)
    lengths: list[Any] = tensor.shape.as_list()
    if None not in lengths:
        return lengths
    all_lengths: Any = shape(tensor)
    return [all_lengths[axis] if n is None else n for axis, n in enumerate(lengths)]


def joint_length(lengths: Iterable[Any]) -> int:
    """Returns the length of several axes merged into one; -1, to be inferred, if a length is unknown."""
    numbers = list(lengths)
    return -1 if None in numbers else math.prod(numbers)


@Shape.infer
def _(input: Spec, out_type: Any) -> Spec:
    return Spec((len(input.shape),), out_type)


def _known_size(input: KnownInput, out_type: Any) -> Any:
    return None if input.shape is None or None in input.shape else math.prod(input.shape)


@op(
    "T -> out_type",
    T=ALL,
    plain={"out_type": as_index_dtype},
    host_outputs=True,
    partly=of_rank(0),
    static=_known_size,
)
def Size(xp: Any, input: Any, out_type: Any) -> Any:
    return xp.array(input.size, out_type.np_dtype)


def size(input: TensorLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the number of elements of a tensor.

    Args:
      input: any tensor, or a sparse tensor, whose zeros count as well.
      out_type: the dtype, `tf.int32` (default) or `tf.int64`.

    Returns:
      A scalar. If the shape is known, the result is a constant and no op runs.

    >>> tf.size([[1, 2, 3], [4, 5, 6]]).numpy()
    np.int32(6)
    """
    of_sparse: Any = getattr(input, "_size_as_tensor", None)
    if of_sparse is not None:
        return of_sparse(as_index_dtype(out_type))
    tensor = as_tensor(input)
    number = tensor.shape.num_elements()
    if number is None:
        return Size(tensor, out_type=out_type, name=name)
    return as_tensor(number, as_index_dtype(out_type))


@Size.infer
def _(input: Spec, out_type: Any) -> Spec:
    return Spec((), out_type)


def _known_rank(input: KnownInput) -> Any:
    return None if input.shape is None else len(input.shape)


@op("T -> int32", T=ALL, host_outputs=True, partly=of_rank(0), static=_known_rank)
def Rank(xp: Any, input: Any) -> Any:
    return xp.array(input.ndim, int32.np_dtype)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the number of axes of a tensor.

    Args:
      input: any tensor, or a sparse tensor.

    Returns:
      An int32 scalar. If the rank is known, the result is a constant and no op runs.

    >>> tf.rank([[1, 2, 3], [4, 5, 6]]).numpy()
    np.int32(2)
    """
    tensor: Any = input if hasattr(input, "_shape_as_tensor") else as_tensor(input)
    number = tensor.shape.rank
    if number is None:
        return Rank(tensor, name=name)
    return as_tensor(number, int32)


@Rank.infer
def _(input: Spec) -> Spec:
    return Spec((), int32)


no_gradient(Shape, Size, Rank)


def _reversed(rank: int) -> range:
    return range(rank)[::-1]


def _misfit_of_order(a: Lengths, perm: Any) -> str | None:
    return f"Dimension must be {len(a)} but is {len(perm)}" if len(a) != len(perm) else None


@op(
    "T -> T",
    T=ALL,
    host={"perm": of_integers("Tperm", as_axis)},
    partly=same_rank,
    inputs={"perm": HostInput("perm", default=_reversed)},
    index_type="Tperm",
    misfit=_misfit_of_order,
)
def Transpose(xp: Any, a: Any, perm: Any) -> Any:
    if perm.__class__ is int:
        raise TypeError("expected a list of axes")
    return a.transpose(perm)


@Transpose.express
def transpose(a: TensorLike, perm: Any = None, conjugate: bool = False, name: str | None = "transpose") -> Tensor:
    """Returns a tensor with its axes in another order.

    Args:
      a: any tensor.
      perm: the old index of each new axis; by default the reverse order.
      conjugate: whether to conjugate complex numbers as well; False by default.

    Returns:
      The tensor with its axes in the new order.

    Raises:
      InvalidArgumentError: if `perm` does not name every axis once.

    >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    a = as_tensor(a)
    if conjugate and a._dtype in COMPLEXES:
        return ConjugateTranspose(a, perm=perm, name=name)
    return Transpose(a, perm=perm, name=name)


def permuted(shape: tuple[int | None, ...], perm: tuple[int, ...] | int | None) -> tuple[int | None, ...]:
    """Returns a shape with its axes in another order.

    Raises:
      InvalidArgumentError: if `perm` does not name every axis once, with TensorFlow's text.
    """
    if perm is None:
        return shape[::-1]
    if isinstance(perm, int):
        raise InvalidArgumentError("perm must be rank 1, got shape []")
    n = len(shape)
    if len(perm) != n:
        text = f"transpose expects a vector of size {n}. But input(1) is a vector of size {len(perm)}"
        raise InvalidArgumentError(text)
    positive = [axis + n if axis < 0 else axis for axis in perm]
    for axis in positive:
        if not 0 <= axis < n:
            raise InvalidArgumentError(f"{axis} is out of range [0 .. {n})")
    for axis in range(n):
        if axis not in positive:
            listed = ",".join(map(str, perm))
            raise InvalidArgumentError(f"{axis} is missing from {{{listed}}}.")
    return tuple(shape[axis] for axis in positive)


@Transpose.infer
def _(a: Spec, perm: Any) -> Spec:
    return Spec(permuted(a.shape, perm), a.dtype)


@Transpose.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [transpose(grad, inverse(call.attrs["perm"]))]


def inverse(perm: Any) -> list[int] | None:
    """Returns the inverse order of axes; None, the reverse order, is its own inverse."""
    if perm is None:
        return None
    axes = as_ints(perm)
    positive = [axis % len(axes) for axis in axes]
    return sorted(range(len(axes)), key=positive.__getitem__)


@op(
    "T -> T",
    T=COMPLEXES,
    host={"perm": of_integers("Tperm", as_axis)},
    partly=same_rank,
    inputs={"perm": HostInput("perm", default=_reversed)},
)
def ConjugateTranspose(xp: Any, a: Any, perm: Any) -> Any:
    if perm.__class__ is int:
        raise TypeError("expected a list of axes")
    return a.transpose(perm).conj()


@ConjugateTranspose.infer
def _(a: Spec, perm: Any) -> Spec:
    return Spec(permuted(a.shape, perm), a.dtype)


@ConjugateTranspose.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [transpose(grad, inverse(call.attrs["perm"]), conjugate=True)]


def _misfit_of_new_axis(input: Lengths, axis: Any) -> str:
    return f"dim {axis[0]} not in the interval [{-len(input) - 1}, {len(input)}]."


@op(
    "T -> T",
    T=ALL,
    host={"axis": of_integers("Tdim", as_ints)},
    shares_memory=True,
    partly=longer,
    inputs={"axis": HostInput("dim")},
    index_type="Tdim",
    misfit=_misfit_of_new_axis,
)
def ExpandDims(xp: Any, input: Any, axis: Any) -> Any:
    if axis.__class__ is tuple:
        (axis,) = axis
    if not -input.ndim <= axis + 1 <= input.ndim + 1:
        raise IndexError("no such axis")
    return input[(slice(None),) * axis + (None,)] if axis >= 0 else input[(..., None) + (slice(None),) * (-1 - axis)]


@ExpandDims.express
def expand_dims(input: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with an additional axis of length 1.

    Args:
      input: any tensor.
      axis: the index of the new axis, in `[-rank - 1, rank]`.

    Returns:
      The same values with one more axis; they share memory with `input` if both are on the same device.

    Raises:
      InvalidArgumentError: if `axis` is out of range.

    >>> tf.expand_dims([1, 2], -1).shape
    TensorShape([2, 1])
    """
    return ExpandDims(input, axis=axis, name=name)


@ExpandDims.infer
def _(input: Spec, axis: tuple[int, ...]) -> Spec:
    if len(axis) != 1:
        raise InvalidArgumentError("'dim' must be a tensor with a single value")
    position, n = axis[0], len(input.shape)
    if not -n - 1 <= position <= n:
        raise InvalidArgumentError(f"Tried to expand dim index {position} for tensor with {n} dimensions.")
    position += n + 1 if position < 0 else 0
    return Spec((*input.shape[:position], 1, *input.shape[position:]), input.dtype)


@ExpandDims.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [reshape(grad, call.inputs[0].shape)]


def as_squeezed(value: Any) -> int | tuple[int, ...] | None:
    """Returns the axes to remove; None, which means all of length 1, also for an empty list."""
    if isinstance(value, Tensor):
        raise TypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {value!r}.")
    axis = as_axis(value)
    return axis if isinstance(axis, int) else tuple(dict.fromkeys(axis or ())) or None


@op("T -> T", T=ALL, plain={"axis": as_squeezed}, shares_memory=True, fields={"axis": "squeeze_dims"})
def Squeeze(xp: Any, input: Any, axis: Any) -> Any:
    if axis.__class__ is Tensor or axis == ():
        raise TypeError("expected a list")
    return input.squeeze(axis)


@Squeeze.express
def squeeze(input: TensorLike, axis: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor without axes of length 1.

    Args:
      input: any tensor.
      axis: an axis or a list of axes, counted from the end if negative; by default all of length 1.

    Returns:
      The same values with fewer axes; they share memory with `input` if both are on the same device.

    Raises:
      InvalidArgumentError: if an axis does not exist or its length is not 1.

    >>> tf.squeeze([[[1], [2]]]).numpy()
    array([1, 2], dtype=int32)
    """
    return Squeeze(input, axis=axis, name=name)


@Squeeze.infer
def _(input: Spec, axis: int | tuple[int, ...] | None) -> Spec | None:
    lengths, n = input.shape, len(input.shape)
    if axis is None:
        return None if None in lengths else Spec(tuple(length for length in lengths if length != 1), input.dtype)
    axes = axis if isinstance(axis, tuple) else (axis,)
    for axis_number in axes:
        if not -n <= axis_number < n:
            raise InvalidArgumentError(f"Tried to squeeze dim index {axis_number} for tensor with {n} dimensions.")
        if lengths[axis_number] not in (1, None):
            text = f"Can not squeeze dim[{axis_number % n}], expected a dimension of 1, got {lengths[axis_number]}"
            raise InvalidArgumentError(text)
    gone = {axis_number % n for axis_number in axes}
    return Spec(tuple(length for i, length in enumerate(lengths) if i not in gone), input.dtype)


@Squeeze.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [reshape(grad, call.inputs[0].shape)]


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """Returns the shape that two shapes broadcast to.

    Args:
      shape_x: a shape; unknown lengths are None.
      shape_y: another shape.

    Returns:
      The common shape.

    Raises:
      ValueError: if the shapes are incompatible.

    >>> tf.broadcast_static_shape(tf.TensorShape([1, 2]), tf.TensorShape([3, 2]))
    TensorShape([3, 2])
    """
    shape_x, shape_y = TensorShape(shape_x), TensorShape(shape_y)
    if shape_x.rank is None or shape_y.rank is None:
        return TensorShape(None)
    try:
        return TensorShape(broadcast_shapes(tuple(shape_x.as_list()), tuple(shape_y.as_list())))
    except InvalidArgumentError:
        raise ValueError(
            "Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they are "
            f"either equal or one of them is 1. Received: {shape_x} and {shape_y}."
        ) from None


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Returns the shape that two shapes broadcast to, as a tensor.

    Args:
      shape_x: a shape, as a vector of lengths.
      shape_y: another shape.

    Returns:
      An int32 vector with the common shape.

    Raises:
      InvalidArgumentError: if the shapes are incompatible.

    >>> tf.broadcast_dynamic_shape([1, 2], [3, 1]).numpy()
    array([3, 2], dtype=int32)
    """
    return as_tensor(list(broadcast_shapes(as_ints(shape_x), as_ints(shape_y))), int32)
