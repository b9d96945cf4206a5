"""How a tensor gets another extent or order along its axes: slice and pad, tile, reverse, roll.

A slice is the gradient of padding, and padding that of a slice.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput, as_axis, as_ints, of_integers
from nbtf._ops.broadcasting import reduce_sum, reshape
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import Dims, bracketed, known_lengths, like_first, same_rank
from nbtf._runtime.arguments import check_text
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, NUMBERS, TensorLike
from nbtf.errors import InvalidArgumentError

Pairs = tuple[tuple[int, int], ...]
"""How many elements stand before and after, for each axis."""


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
        raise ValueError("one number for each axis")
    parts: list[builtins.slice] = []
    for length, start, count in zip(input_.shape, begin, size, strict=True):
        if not 0 <= start <= length or not -1 <= count <= length - start:
            raise ValueError("outside")
        parts.append(builtins.slice(start, None if count == -1 else start + count))
    return input_[tuple(parts)]


@Slice.express
def slice(input_: TensorLike, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Cuts a block out of a tensor.

    Args:
      input_: any tensor.
      begin: where the block begins along each axis.
      size: how long it is along each axis; -1: to the end.
      name: accepted and ignored; eager ops have no names.

    Returns:
      The block, of the same rank.

    Raises:
      InvalidArgumentError: the block reaches outside, or there is not one number for each axis.

    >>> tf.slice([[1, 2, 3], [4, 5, 6]], [1, 0], [1, -1]).numpy()
    array([[4, 5, 6]], dtype=int32)
    """
    return Slice(input_, begin=begin, size=size, name=name)


@Slice.infer
def _(input_: Spec, begin: tuple[int, ...] | int, size: tuple[int, ...] | int) -> Spec:
    n = len(input_.shape)
    if isinstance(begin, int) or isinstance(size, int) or not len(begin) == len(size) == n:
        given = f"got shapes {_shape_of(begin)} and {_shape_of(size)} instead."
        text = f"Expected begin and size arguments to be 1-D tensors of size {n}, but {given}"
        raise InvalidArgumentError(None, None, text)
    lengths: list[int | None] = []
    for axis, (length, start, count) in enumerate(zip(input_.shape, begin, size, strict=True)):
        if length is None:
            lengths.append(None if count == -1 else count)
            continue
        if not 0 <= start <= length:
            raise InvalidArgumentError(None, None, f"Expected begin[{axis}] in [0, {length}], but got {start}")
        if not -1 <= count <= length - start:
            text = f"Expected size[{axis}] in [0, {length - start}], but got {count}"
            raise InvalidArgumentError(None, None, text)
        lengths.append(length - start if count == -1 else count)
    return Spec(tuple(lengths), input_.dtype)


def _shape_of(numbers: tuple[int, ...] | int) -> str:
    return "[]" if isinstance(numbers, int) else f"[{len(numbers)}]"


@Slice.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    begin, size = as_ints(call.attrs["begin"]), grad.shape.as_list()
    lengths = call.inputs[0].shape.as_list()
    pairs = [(start, n - start - count) for n, start, count in zip(lengths, begin, size, strict=True)]
    return [pad(grad, pairs)]


def as_pairs(value: Any) -> Pairs:
    """Returns the paddings of every axis.

    Raises:
      InvalidArgumentError: they are not pairs, in TensorFlow's words.
    """
    rows = value.numpy().tolist() if isinstance(value, Tensor) else [list(row) if _many(row) else row for row in value]
    if not rows or any(not _many(row) or len(row) != 2 for row in rows):
        shape = ([len(rows)] if not rows or not _many(rows[0]) else [len(rows), len(rows[0])]) if _many(value) else []
        raise InvalidArgumentError(None, None, f"paddings must be a matrix with 2 columns: {bracketed(shape)}")
    return tuple((before.__index__(), after.__index__()) for before, after in rows)


def _many(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _block(pairs: Pairs, shape: Sequence[int]) -> tuple[builtins.slice, ...]:
    """Returns where the tensor stands in the padded one."""
    return tuple(builtins.slice(before, before + n) for (before, _), n in zip(pairs, shape, strict=True))


def _filled(xp: Any, tensor: Any, pairs: Pairs, value: Any) -> Any:
    if any(before < 0 or after < 0 for before, after in pairs) or len(pairs) != tensor.ndim:
        raise ValueError("paddings do not fit")
    shape = [before + n + after for (before, after), n in zip(pairs, tensor.shape, strict=True)]
    result = xp.empty(shape, tensor.dtype)
    result[...] = value
    result[_block(pairs, tensor.shape)] = tensor
    return result


def _padded(tensor: Spec, paddings: Pairs, word: str) -> Spec:
    if len(paddings) != len(tensor.shape):
        shape = bracketed(tensor.shape)
        text = f"The first dimension of paddings must be the rank of inputs[{len(paddings)},2] {shape}"
        raise InvalidArgumentError(None, None, text)
    for before, after in paddings:
        if before < 0 or after < 0:
            raise InvalidArgumentError(None, None, f"{word} must be non-negative: {before} {after}")
    lengths = [None if n is None else n + sum(pair) for n, pair in zip(tensor.shape, paddings, strict=True)]
    return Spec(tuple(lengths), tensor.dtype)


@op("T -> T", T=ALL, host={"paddings": of_integers("Tpaddings", as_pairs)}, partly=same_rank, index_type="Tpaddings")
def Pad(xp: Any, tensor: Any, paddings: Pairs) -> Any:
    return _filled(xp, tensor, paddings, b"" if tensor.dtype.kind == "O" else 0)


@Pad.infer
def _(tensor: Spec, paddings: Pairs) -> Spec:
    return _padded(tensor, paddings, "Paddings")


@Pad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_middle(call, grad)]


def _middle(call: Call, grad: Tensor) -> Tensor:
    """Returns the part of a gradient that belongs to what was padded."""
    starts = [before for before, _ in as_pairs(call.attrs["paddings"])]
    return slice(grad, starts, call.inputs[0].shape.as_list())


@op(
    "T T -> T",
    T=ALL,
    host={"paddings": of_integers("Tpaddings", as_pairs)},
    partly=same_rank,
    inputs={"paddings": HostInput("paddings", 1)},
    index_type="Tpaddings",
)
def PadV2(xp: Any, tensor: Any, constant_values: Any, paddings: Pairs) -> Any:
    if constant_values.ndim:
        raise ValueError("one value fills")
    return _filled(xp, tensor, paddings, constant_values)


@PadV2.infer
def _(tensor: Spec, constant_values: Spec, paddings: Pairs) -> Spec:
    if constant_values.shape:
        text = f"Constant values must be a scalar. Found: {bracketed(constant_values.shape)}"
        raise InvalidArgumentError(None, None, text)
    return _padded(tensor, paddings, "Paddings")


@PadV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_middle(call, grad), None]  # TensorFlow has none for the constant either


def pad(
    tensor: TensorLike, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """Adds elements before and after those of a tensor.

    Args:
      tensor: any tensor.
      paddings: for each axis, how many elements go before and how many after.
      mode: `"CONSTANT"`; `"REFLECT"`, a mirror at the first and last element; `"SYMMETRIC"`, one beyond them.
      constant_values: what the new elements are with `"CONSTANT"`.
      name: accepted and ignored; eager ops have no names.

    Returns:
      The larger tensor.

    Raises:
      InvalidArgumentError: `paddings` do not fit the tensor, or a mirror would have to show more than there is.
      ValueError: there is no such mode.

    >>> tf.pad([1, 2, 3], [[2, 1]], mode="REFLECT").numpy()
    array([3, 2, 1, 2, 3, 2], dtype=int32)
    """
    mode = check_text(mode, "mode").upper()
    if mode in ("REFLECT", "SYMMETRIC"):
        return MirrorPad(tensor, paddings=paddings, mode=mode, name=name)
    if mode != "CONSTANT":
        text = 'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
        raise ValueError(text + f"Received `mode` = {mode}")
    if isinstance(constant_values, int | float) and constant_values == 0:
        return Pad(tensor, paddings=paddings, name=name)
    return PadV2(tensor, constant_values, paddings=paddings, name=name)


@op("T -> T", T=ALL, host={"paddings": of_integers("Tpaddings", as_pairs)}, partly=same_rank, index_type="Tpaddings")
def MirrorPad(xp: Any, tensor: Any, paddings: Pairs, mode: str) -> Any:
    if any(max(pair) > n - (mode == "REFLECT") for pair, n in zip(paddings, tensor.shape, strict=True)):
        raise ValueError("a mirror shows what is there")
    return xp.pad(tensor, paddings, mode=mode.lower())


@MirrorPad.infer
def _(tensor: Spec, paddings: Pairs, mode: str) -> Spec:
    padded = _padded(tensor, paddings, "paddings")
    for (before, after), n in zip(paddings, tensor.shape, strict=True):
        if n is None or max(before, after) <= n - (mode == "REFLECT"):
            continue
        if mode == "REFLECT":
            text = f"paddings must be less than the dimension size: {before}, {after} not less than {n}"
        else:
            text = f"paddings must be no greater than the dimension size: {before}, {after} greater than {n}"
        raise InvalidArgumentError(None, None, text)
    return padded


@MirrorPad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [MirrorPadGrad(grad, paddings=call.attrs["paddings"], mode=call.attrs["mode"])]


@op("T -> T", T=NUMBERS, host={"paddings": of_integers("Tpaddings", as_pairs)}, partly=same_rank)
def MirrorPadGrad(xp: Any, input: Any, paddings: Pairs, mode: str) -> Any:
    for axis, (before, after) in enumerate(paddings):
        turned = xp.moveaxis(input, axis, 0)
        n = turned.shape[0] - before - after
        middle = turned[before : before + n].copy()
        edge = 1 if mode == "REFLECT" else 0
        middle[edge : edge + before] += turned[:before][::-1]
        middle[n - edge - after : n - edge] += turned[before + n :][::-1]
        input = xp.moveaxis(middle, 0, axis)
    return input


@MirrorPadGrad.infer
def _(input: Spec, paddings: Pairs, mode: str) -> Spec:
    lengths = [None if n is None else n - sum(pair) for n, pair in zip(input.shape, paddings, strict=True)]
    return Spec(tuple(lengths), input.dtype)


@MirrorPadGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [MirrorPad(grad, paddings=call.attrs["paddings"], mode=call.attrs["mode"])]


@op("T -> T", T=ALL, host={"multiples": of_integers("Tmultiples", as_axis)}, partly=same_rank, index_type="Tmultiples")
def Tile(xp: Any, input: Any, multiples: Any) -> Any:
    if len(multiples) != input.ndim:
        raise ValueError("one number for each axis")
    return xp.tile(input, multiples)


@Tile.express
def tile(input: TensorLike, multiples: Any, name: str | None = None) -> Tensor:
    """Repeats a tensor as a whole along its axes.

    Args:
      input: any tensor.
      multiples: how often, for each axis.
      name: accepted and ignored; eager ops have no names.

    Returns:
      The larger tensor.

    Raises:
      InvalidArgumentError: there is not one number for each axis, or one is negative.

    >>> tf.tile([[1, 2]], [2, 2]).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    return Tile(input, multiples=multiples, name=name)


@Tile.infer
def _(input: Spec, multiples: tuple[int, ...] | int) -> Spec:
    n = len(input.shape)
    if isinstance(multiples, int):
        raise InvalidArgumentError(None, None, "Expected multiples to be 1-D, but got shape []")
    if len(multiples) != n:
        text = f"Expected multiples argument to be a vector of length {n} but got length {len(multiples)}"
        raise InvalidArgumentError(None, None, text)
    for axis, times in enumerate(multiples):
        if times < 0:
            raise InvalidArgumentError(None, None, f"Expected multiples[{axis}] >= 0, but got {times}")
    return Spec(tuple(None if m is None else m * t for m, t in zip(input.shape, multiples, strict=True)), input.dtype)


@Tile.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    lengths, multiples = call.inputs[0].shape.as_list(), as_ints(call.attrs["multiples"])
    taken_apart = [n for pair in zip(multiples, lengths, strict=True) for n in pair]
    return [reduce_sum(reshape(grad, taken_apart), list(range(0, len(taken_apart), 2)))]


@op("T -> T", T=ALL, host={"axis": of_integers("Tidx", as_axis)}, partly=like_first, index_type="Tidx")
def ReverseV2(xp: Any, tensor: Any, axis: Any) -> Any:
    turned = [False] * tensor.ndim
    for one in axis:
        if turned[one] or one < -tensor.ndim:
            raise ValueError("twice")
        turned[one] = True
    return tensor[tuple(builtins.slice(None, None, -1 if yes else 1) for yes in turned)]


@ReverseV2.express
def reverse(tensor: TensorLike, axis: Any, name: str | None = None) -> Tensor:
    """Turns the order of elements round along some axes.

    Args:
      tensor: any tensor.
      axis: a list of axes, counted from the end if negative.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of the same shape.

    Raises:
      InvalidArgumentError: `axis` is no list, names an axis twice, or one that there is not.

    >>> tf.reverse([1, 2, 3], [0]).numpy()
    array([3, 2, 1], dtype=int32)
    """
    return ReverseV2(tensor, axis=axis, name=name)


@ReverseV2.infer
def _(tensor: Spec, axis: tuple[int, ...] | int) -> Spec:
    n = len(tensor.shape)
    if isinstance(axis, int):
        raise InvalidArgumentError(None, None, "'dims' must be 1-dimension, not 0")
    seen: set[int] = set()
    for number, one in enumerate(axis):
        if not -n <= one < n:  # TensorFlow's text lacks the bracket at the end as well
            raise InvalidArgumentError(None, None, f"'axis'[{number}] = {one} is out of valid range [0, {n - 1}")
        if one % n in seen:
            raise InvalidArgumentError(None, None, f"axis {one % n} specified more than once.")
        seen.add(one % n)
    return tensor


@ReverseV2.gradient
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
    many = bool(isinstance(shift, list | tuple))
    if input.ndim == 0 or many is not isinstance(axis, list | tuple) or (many and len(shift) != len(axis)):
        raise ValueError("shift and axis differ")  # NumPy would broadcast them
    return xp.roll(input, shift, axis)


@Roll.express
def roll(input: TensorLike, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Moves elements along an axis; what leaves at one end enters at the other.

    Args:
      input: a tensor with at least one axis.
      shift: by how many places, a number or a list.
      axis: along which axis; a list if `shift` is one.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of the same shape.

    Raises:
      InvalidArgumentError: `shift` and `axis` are not equally many, or there is no such axis.

    >>> tf.roll([1, 2, 3, 4], shift=1, axis=0).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    return Roll(input, shift=shift, axis=axis, name=name)


@Roll.infer
def _(input: Spec, shift: Any, axis: Any) -> Spec:
    n = len(input.shape)
    if n == 0:
        raise InvalidArgumentError(None, None, "input must be 1-D or higher")
    if _shape_of(shift) != _shape_of(axis):
        raise InvalidArgumentError(None, None, "shift and axis must have the same size")
    for one in as_ints(axis):
        if not -n <= one < n:
            raise InvalidArgumentError(None, None, f"axis {one} is out of range")
    return input


@Roll.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    shift = as_axis(call.attrs["shift"])
    back = -shift if isinstance(shift, int) else [-by for by in shift or ()]
    return [roll(grad, back, call.attrs["axis"])]
