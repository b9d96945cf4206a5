"""Selects and reorders elements along axes: slice, reverse, roll.

The gradient of a slice is padding; it is defined next to `pad` in padding.py.
"""

from __future__ import annotations

import builtins
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_axis, as_ints, of_integers
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import Dims, known_lengths, like_first, same_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike
from nbtf.errors import InvalidArgumentError


def _sliced_partly(input_: Any, begin: Any, size: Any) -> Dims:
    lengths = known_lengths(size)
    return same_rank(input_) if lengths is None else lengths


@op(
    "T -> T",
    T=ALL,
    host={"begin": of_integers("Index", as_axis), "size": of_integers("Index", as_axis)},
    partly=_sliced_partly,
    index_type="Index",
)
def Slice(xp: Any, input_: Any, begin: Any, size: Any) -> Any:
    if isinstance(begin, Tensor) or isinstance(size, Tensor) or not len(begin) == len(size) == input_.ndim:
        raise ValueError("expected one number per axis")
    ranges: list[builtins.slice] = []
    for length, start, count in zip(input_.shape, begin, size, strict=True):
        if not 0 <= start <= length or not -1 <= count <= length - start:
            raise ValueError("out of range")
        ranges.append(builtins.slice(start, None if count == -1 else start + count))
    return input_[tuple(ranges)]


@Slice.express
def slice(input_: TensorLike, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Returns a block of a tensor.

    Args:
      input_: any tensor.
      begin: the block's first index along each axis.
      size: the block's length along each axis; -1 means up to the end.

    Returns:
      The block, of the same rank.

    Raises:
      InvalidArgumentError: if the block exceeds the tensor, or `begin` or `size` does not have one number per axis.

    >>> tf.slice([[1, 2, 3], [4, 5, 6]], [1, 0], [1, -1]).numpy()
    array([[4, 5, 6]], dtype=int32)
    """
    return Slice(input_, begin=begin, size=size, name=name)


@Slice.infer
def _(input_: Spec, begin: tuple[int, ...] | int, size: tuple[int, ...] | int) -> Spec:
    n = len(input_.shape)
    if isinstance(begin, int) or isinstance(size, int) or not len(begin) == len(size) == n:
        difference = f"got shapes {_shape_of(begin)} and {_shape_of(size)} instead."
        raise InvalidArgumentError(f"Expected begin and size arguments to be 1-D tensors of size {n}, but {difference}")
    lengths: list[int | None] = []
    for axis, (length, start, count) in enumerate(zip(input_.shape, begin, size, strict=True)):
        if length is None:
            lengths.append(None if count == -1 else count)
            continue
        if not 0 <= start <= length:
            raise InvalidArgumentError(f"Expected begin[{axis}] in [0, {length}], but got {start}")
        if not -1 <= count <= length - start:
            raise InvalidArgumentError(f"Expected size[{axis}] in [0, {length - start}], but got {count}")
        lengths.append(length - start if count == -1 else count)
    return Spec(tuple(lengths), input_.dtype)


def _shape_of(numbers: tuple[int, ...] | int) -> str:
    return "[]" if isinstance(numbers, int) else f"[{len(numbers)}]"


@op("T -> T", T=ALL, host={"axis": of_integers("Tidx", as_axis)}, partly=like_first, index_type="Tidx")
def ReverseV2(xp: Any, tensor: Any, axis: Any) -> Any:
    turned = [False] * tensor.ndim
    for axis_number in axis:
        if turned[axis_number] or axis_number < -tensor.ndim:
            raise ValueError("repeated axis")
        turned[axis_number] = True
    return tensor[tuple(builtins.slice(None, None, -1 if yes else 1) for yes in turned)]


@ReverseV2.express
def reverse(tensor: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with its elements in reverse order along some axes.

    Args:
      tensor: any tensor.
      axis: a list of axes, counted from the end if negative.

    Raises:
      InvalidArgumentError: if `axis` is not a list, repeats an axis, or names one that does not exist.

    >>> tf.reverse([1, 2, 3], [0]).numpy()
    array([3, 2, 1], dtype=int32)
    """
    return ReverseV2(tensor, axis=axis, name=name)


@ReverseV2.infer
def _(tensor: Spec, axis: tuple[int, ...] | int) -> Spec:
    n = len(tensor.shape)
    if isinstance(axis, int):
        raise InvalidArgumentError("'dims' must be 1-dimension, not 0")
    earlier_axes: set[int] = set()
    for number, axis_number in enumerate(axis):
        if not -n <= axis_number < n:  # TensorFlow's text lacks the closing bracket too
            raise InvalidArgumentError(f"'axis'[{number}] = {axis_number} is out of valid range [0, {n - 1}")
        if axis_number % n in earlier_axes:
            raise InvalidArgumentError(f"axis {axis_number % n} specified more than once.")
        earlier_axes.add(axis_number % n)
    return tensor


@ReverseV2.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [reverse(grad, call.attrs["axis"])]


@op(
    "T -> T",
    T=ALL,
    host={"shift": of_integers("Tshift", as_axis), "axis": of_integers("Taxis", as_axis)},
    asked={"shift": None, "axis": None},
    partly=like_first,
)
def Roll(xp: Any, input: Any, shift: Any, axis: Any) -> Any:
    is_sequence = bool(isinstance(shift, list | tuple))
    if (
        input.ndim == 0
        or is_sequence is not isinstance(axis, list | tuple)
        or (is_sequence and len(shift) != len(axis))
    ):
        raise ValueError("shift and axis differ")  # NumPy would broadcast them
    return xp.roll(input, shift, axis)


@Roll.express
def roll(input: TensorLike, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with its elements moved along an axis; those moved past one end reappear at the other.

    Args:
      input: a tensor with at least one axis.
      shift: number of positions to move by, a number or a list.
      axis: the axis to move along; a list if `shift` is a list.

    Raises:
      InvalidArgumentError: if `shift` and `axis` differ in length, or the axis does not exist.

    >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    return Roll(input, shift=shift, axis=axis, name=name)


@Roll.infer
def _(input: Spec, shift: Any, axis: Any) -> Spec:
    n = len(input.shape)
    if n == 0:
        raise InvalidArgumentError("input must be 1-D or higher")
    if _shape_of(shift) != _shape_of(axis):
        raise InvalidArgumentError("shift and axis must have the same size")
    for axis_number in as_ints(axis):
        if not -n <= axis_number < n:
            raise InvalidArgumentError(f"axis {axis_number} is out of range")
    return input


@Roll.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    shift = as_axis(call.attrs["shift"])
    back = -shift if isinstance(shift, int) else [-by for by in shift or ()]
    return [roll(grad, back, call.attrs["axis"])]
