"""Extends a tensor along its axes: pad and tile; also the gradient of a slice, which is padding."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.slicing import Slice, slice
from nbtf._ops.attributes import HostInput, as_axis, as_ints, of_integers
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import Lengths, bracketed, same_rank
from nbtf._runtime.arguments import check_text
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, NUMBERS, TensorLike
from nbtf.errors import InvalidArgumentError

Pairs = tuple[tuple[int, int], ...]
"""Number of elements before and after, for each axis."""


def as_pairs(value: Any) -> Pairs:
    """Returns the paddings of every axis.

    Raises:
      InvalidArgumentError: if the paddings are not pairs, with TensorFlow's text.
    """
    rows = (
        value.numpy().tolist()
        if isinstance(value, Tensor)
        else [list(row) if _is_sequence(row) else row for row in value]
    )
    if not rows or any(not _is_sequence(row) or len(row) != 2 for row in rows):
        shape = (
            ([len(rows)] if not rows or not _is_sequence(rows[0]) else [len(rows), len(rows[0])])
            if _is_sequence(value)
            else []
        )
        raise InvalidArgumentError(f"paddings must be a matrix with 2 columns: {bracketed(shape)}")
    return tuple((front.__index__(), back.__index__()) for front, back in rows)


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _block(pairs: Pairs, shape: Sequence[int]) -> tuple[builtins.slice, ...]:
    """Returns the tensor's position in the padded tensor."""
    return tuple(builtins.slice(front, front + n) for (front, _), n in zip(pairs, shape, strict=True))


def _filled(xp: Any, tensor: Any, pairs: Pairs, value: Any) -> Any:
    if any(front < 0 or back < 0 for front, back in pairs) or len(pairs) != tensor.ndim:
        raise ValueError("paddings do not fit")
    shape = [front + n + back for (front, back), n in zip(pairs, tensor.shape, strict=True)]
    result = xp.empty(shape, tensor.dtype)
    result[...] = value
    result[_block(pairs, tensor.shape)] = tensor
    return result


def _padded(tensor: Spec, paddings: Pairs, word: str) -> Spec:
    if len(paddings) != len(tensor.shape):
        shape = bracketed(tensor.shape)
        text = f"The first dimension of paddings must be the rank of inputs[{len(paddings)},2] {shape}"
        raise InvalidArgumentError(text)
    for front, back in paddings:
        if front < 0 or back < 0:
            raise InvalidArgumentError(f"{word} must be non-negative: {front} {back}")
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
    """Returns the part of a gradient that belongs to the original tensor."""
    starts = [front for front, _ in as_pairs(call.attrs["paddings"])]
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
        raise ValueError("the value must be a scalar")
    return _filled(xp, tensor, paddings, constant_values)


@PadV2.infer
def _(tensor: Spec, constant_values: Spec, paddings: Pairs) -> Spec:
    if constant_values.shape:
        raise InvalidArgumentError(f"Constant values must be a scalar. Found: {bracketed(constant_values.shape)}")
    return _padded(tensor, paddings, "Paddings")


@PadV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_middle(call, grad), None]  # TensorFlow has no gradient for the constant either


def pad(
    tensor: TensorLike, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
) -> Tensor:
    """Returns a tensor with elements added before and after its own.

    Args:
      tensor: any tensor.
      paddings: for each axis, the number of elements to add before and after.
      mode: `"CONSTANT"` (default); `"REFLECT"`, which mirrors without repeating the edge elements; or `"SYMMETRIC"`,
        which repeats them.
      constant_values: the value of new elements with `"CONSTANT"`; 0 by default.

    Returns:
      The extended tensor.

    Raises:
      InvalidArgumentError: if `paddings` do not fit the tensor, or are too large for a mirror.
      ValueError: if `mode` is unknown.

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


@Slice.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    begin, size = as_ints(call.attrs["begin"]), grad.shape.as_list()
    lengths = call.inputs[0].shape.as_list()
    pairs = [(start, n - start - count) for n, start, count in zip(lengths, begin, size, strict=True)]
    return [pad(grad, pairs)]


@op("T -> T", T=ALL, host={"paddings": of_integers("Tpaddings", as_pairs)}, partly=same_rank, index_type="Tpaddings")
def MirrorPad(xp: Any, tensor: Any, paddings: Pairs, mode: str) -> Any:
    if any(max(pair) > n - (mode == "REFLECT") for pair, n in zip(paddings, tensor.shape, strict=True)):
        raise ValueError("the paddings are too large for a mirror")
    return xp.pad(tensor, paddings, mode=mode.lower())


@MirrorPad.infer
def _(tensor: Spec, paddings: Pairs, mode: str) -> Spec:
    padded = _padded(tensor, paddings, "paddings")
    for (front, back), n in zip(paddings, tensor.shape, strict=True):
        if n is None or max(front, back) <= n - (mode == "REFLECT"):
            continue
        if mode == "REFLECT":
            text = f"paddings must be less than the dimension size: {front}, {back} not less than {n}"
        else:
            text = f"paddings must be no greater than the dimension size: {front}, {back} greater than {n}"
        raise InvalidArgumentError(text)
    return padded


@MirrorPad.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [MirrorPadGrad(grad, paddings=call.attrs["paddings"], mode=call.attrs["mode"])]


@op("T -> T", T=NUMBERS, host={"paddings": of_integers("Tpaddings", as_pairs)}, partly=same_rank)
def MirrorPadGrad(xp: Any, input: Any, paddings: Pairs, mode: str) -> Any:
    for axis, (front, back) in enumerate(paddings):
        turned = xp.moveaxis(input, axis, 0)
        n = turned.shape[0] - front - back
        middle = turned[front : front + n].copy()
        edge = 1 if mode == "REFLECT" else 0
        middle[edge : edge + front] += turned[:front][::-1]
        middle[n - edge - back : n - edge] += turned[front + n :][::-1]
        input = xp.moveaxis(middle, 0, axis)
    return input


@MirrorPadGrad.infer
def _(input: Spec, paddings: Pairs, mode: str) -> Spec:
    lengths = [None if n is None else n - sum(pair) for n, pair in zip(input.shape, paddings, strict=True)]
    return Spec(tuple(lengths), input.dtype)


@MirrorPadGrad.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [MirrorPad(grad, paddings=call.attrs["paddings"], mode=call.attrs["mode"])]


def _misfit_of_multiples(input: Lengths, multiples: Any) -> str:
    return f"Shape must be rank {len(input)} but is rank {len(multiples)}"


@op(
    "T -> T",
    T=ALL,
    host={"multiples": of_integers("Tmultiples", as_axis)},
    partly=same_rank,
    index_type="Tmultiples",
    misfit=_misfit_of_multiples,
)
def Tile(xp: Any, input: Any, multiples: Any) -> Any:
    if len(multiples) != input.ndim:
        raise ValueError("expected one number per axis")
    return xp.tile(input, multiples)


@Tile.express
def tile(input: TensorLike, multiples: Any, name: str | None = None) -> Tensor:
    """Returns a tensor repeated as a whole along its axes.

    Args:
      input: any tensor.
      multiples: number of repetitions for each axis.

    Returns:
      The extended tensor.

    Raises:
      InvalidArgumentError: if a number is negative, or `multiples` does not have one number per axis.

    >>> tf.tile([[1, 2]], [2, 2]).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    return Tile(input, multiples=multiples, name=name)


@Tile.infer
def _(input: Spec, multiples: tuple[int, ...] | int) -> Spec:
    n = len(input.shape)
    if isinstance(multiples, int):
        raise InvalidArgumentError("Expected multiples to be 1-D, but got shape []")
    if len(multiples) != n:
        text = f"Expected multiples argument to be a vector of length {n} but got length {len(multiples)}"
        raise InvalidArgumentError(text)
    for axis, times in enumerate(multiples):
        if times < 0:
            raise InvalidArgumentError(f"Expected multiples[{axis}] >= 0, but got {times}")
    return Spec(tuple(None if m is None else m * t for m, t in zip(input.shape, multiples, strict=True)), input.dtype)


@Tile.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    lengths, multiples = call.inputs[0].shape.as_list(), as_ints(call.attrs["multiples"])
    taken_apart = [n for pair in zip(multiples, lengths, strict=True) for n in pair]
    return [reduce_sum(reshape(grad, taken_apart), list(range(0, len(taken_apart), 2)))]
