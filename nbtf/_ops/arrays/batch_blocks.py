"""Moves blocks of axes into the batch axis and back, with which windows without dilations compute dilated ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import get_static_value
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.padding import Pairs, as_pairs
from nbtf._ops.attributes import as_ints, of_integers
from nbtf._ops.math.arithmetic import subtract
from nbtf._ops.math.division import floormod
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import same_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def _check(shape: Sequence[int | None], block: Sequence[int], pairs: Pairs, word: str) -> None:
    """Raises InvalidArgumentError unless blocks and paddings or crops fit a shape."""
    if len(shape) < len(block) + 1:
        raise InvalidArgumentError(f"input rank should be >= {len(block) + 1} instead of {len(shape)}")
    if len(pairs) != len(block):
        raise InvalidArgumentError(f"{word} should have shape [{len(block)}, 2] instead of [{len(pairs)},2]")
    for axis_index, size in enumerate(block):
        if size < 1:
            text = f"All values in block_shape must be positive, got value, {size} at index {axis_index}."
            raise InvalidArgumentError(text)
    if any(front < 0 or back < 0 for front, back in pairs):
        raise InvalidArgumentError(f"{word.capitalize()} must be non-negative")


_HOST = {
    "space_to_batch": {
        "block_shape": of_integers("Tblock_shape", as_ints),
        "paddings": of_integers("Tpaddings", as_pairs),
    },
    "batch_to_space": {"block_shape": of_integers("Tblock_shape", as_ints), "crops": of_integers("Tcrops", as_pairs)},
}


@op("T -> T", T=ALL, host=_HOST["space_to_batch"], partly=same_rank)
def SpaceToBatchND(xp: Any, input: Any, block_shape: Any, paddings: Pairs) -> Any:
    _check(input.shape, block_shape, paddings, "paddings")
    axes, trailing = len(block_shape), input.shape[1 + len(block_shape) :]
    lengths = [n + sum(pair) for n, pair in zip(input.shape[1 : axes + 1], paddings, strict=True)]
    wide = xp.empty((len(input), *lengths, *trailing), input.dtype)
    wide[...] = b"" if input.dtype.kind == "O" else 0
    inner = [slice(front, front + n) for (front, _), n in zip(paddings, input.shape[1 : axes + 1], strict=True)]
    wide[(slice(None), *inner)] = input
    split = [number for n, size in zip(lengths, block_shape, strict=True) for number in (n // size, size)]
    apart = wide.reshape(len(input), *split, *trailing)
    block_axes, positions = range(2, 2 * axes + 1, 2), range(1, 2 * axes, 2)
    turned = xp.transpose(apart, (*block_axes, 0, *positions, *range(2 * axes + 1, apart.ndim)))
    count = 1
    for size in block_shape:
        count *= size
    return turned.reshape(len(input) * count, *split[::2], *trailing)


@SpaceToBatchND.infer
def _(input: Spec, block_shape: Any, paddings: Pairs) -> Spec:
    _check(input.shape, block_shape, paddings, "paddings")
    batch, axes = input.shape[0], len(block_shape)
    lengths: list[int | None] = []
    for axis_index, (n, size, pair) in enumerate(zip(input.shape[1 : axes + 1], block_shape, paddings, strict=True)):
        wide = None if n is None else n + sum(pair)
        if wide is not None and wide % size:
            text = f"padded_shape[{axis_index}]={wide} is not divisible by block_shape[{axis_index}]={size}"
            raise InvalidArgumentError(text)
        lengths.append(None if wide is None else wide // size)
        batch = None if batch is None else batch * size
    return Spec((batch, *lengths, *input.shape[axes + 1 :]), input.dtype)


def space_to_batch(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with blocks of axes split into more examples, after padding with zeros.

    Args:
      input: a tensor, shape `[batch, *lengths, ...]`.
      block_shape: the block's length along each axis of `lengths`, at least 1.
      paddings: the number of zeros before and after each of these axes, a pair per axis.
      name: accepted and ignored.

    Returns:
      A tensor with `prod(block_shape)` times the examples. The first `batch` of them hold the first element of each
      block.

    Raises:
      InvalidArgumentError: if the block does not divide the padded lengths, or the arguments do not fit each other.

    >>> tf.space_to_batch([[[1], [2], [3], [4]]], [2], [[0, 0]]).numpy()[..., 0]
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return SpaceToBatchND(input, block_shape=block_shape, paddings=paddings, name=name)


space_to_batch_nd = space_to_batch


@SpaceToBatchND.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [BatchToSpaceND(grad, block_shape=call.attrs["block_shape"], crops=call.attrs["paddings"])]


@op("T -> T", T=ALL, host=_HOST["batch_to_space"], partly=same_rank)
def BatchToSpaceND(xp: Any, input: Any, block_shape: Any, crops: Pairs) -> Any:
    _check(input.shape, block_shape, crops, "crops")
    axes, count = len(block_shape), 1
    for size in block_shape:
        count *= size
    batch, lengths, trailing = len(input) // count, input.shape[1 : axes + 1], input.shape[axes + 1 :]
    apart = input.reshape(*block_shape, batch, *lengths, *trailing)
    order = [axis for axis_index in range(axes) for axis in (axes + 1 + axis_index, axis_index)]
    turned = xp.transpose(apart, (axes, *order, *range(2 * axes + 1, apart.ndim)))
    merged = turned.reshape(batch, *[n * size for n, size in zip(lengths, block_shape, strict=True)], *trailing)
    inner = [slice(front, n - back) for (front, back), n in zip(crops, merged.shape[1 : axes + 1], strict=True)]
    if any(kept_slice.start > kept_slice.stop for kept_slice in inner):
        raise ValueError("the crops are longer than the axes")
    return xp.ascontiguousarray(merged[(slice(None), *inner)])


@BatchToSpaceND.infer
def _(input: Spec, block_shape: Any, crops: Pairs) -> Spec:
    _check(input.shape, block_shape, crops, "crops")
    batch, axes, count = input.shape[0], len(block_shape), 1
    for size in block_shape:
        count *= size
    if batch is not None and batch % count:
        text = f"Input batch dimension ({batch}) is not divisible by product of block sizes ({count})"
        raise InvalidArgumentError(text)
    lengths: list[int | None] = []
    for axis_index, (n, size, pair) in enumerate(zip(input.shape[1 : axes + 1], block_shape, crops, strict=True)):
        length = None if n is None else n * size - sum(pair)
        if length is not None and length < 0:
            raise InvalidArgumentError(f"cropped_shape[{axis_index}]={length} must be non-negative")
        lengths.append(length)
    return Spec((None if batch is None else batch // count, *lengths, *input.shape[axes + 1 :]), input.dtype)


def batch_to_space(input: TensorLike, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with examples joined into blocks of axes, then cropped: the inverse of `space_to_batch`.

    Args:
      input: a tensor, shape `[batch, *lengths, ...]`; the block's size divides `batch`.
      block_shape: the block's length along each axis of `lengths`, at least 1.
      crops: the number of elements to remove before and after each of these axes, a pair per axis.
      name: accepted and ignored.

    Raises:
      InvalidArgumentError: if the block's size does not divide `batch`, or the arguments do not fit each other.

    >>> tf.batch_to_space([[[1], [3]], [[2], [4]]], [2], [[0, 0]]).numpy().ravel()
    array([1, 2, 3, 4], dtype=int32)
    """
    return BatchToSpaceND(input, block_shape=block_shape, crops=crops, name=name)


@BatchToSpaceND.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [SpaceToBatchND(grad, block_shape=call.attrs["block_shape"], paddings=call.attrs["crops"])]


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the paddings with which a block divides the lengths, and the crops that remove them again.

    Args:
      input_shape: the lengths of the axes, a vector.
      block_shape: the block's length along each axis.
      base_paddings: paddings that are needed anyway, a pair per axis; none by default.
      name: accepted and ignored.

    Returns:
      A pair: the paddings for `space_to_batch` and the crops for `batch_to_space`, both int32, shape `[axes, 2]`.

    >>> paddings, crops = tf.required_space_to_batch_paddings([5], [2])
    >>> paddings.numpy().tolist(), crops.numpy().tolist()
    ([[0, 1]], [[0, 1]])
    """
    lengths, block = as_tensor(input_shape, int32), as_tensor(block_shape, int32)
    if base_paddings is None:
        base_paddings = [[0, 0]] * (block.shape[0] or 0)
    base = as_tensor(base_paddings, int32)
    values = [get_static_value(tensor) for tensor in (lengths, block, base)]
    if all(value is not None and None not in value for value in values):
        n, size, (front, back) = values[0], values[1], values[2].reshape(-1, 2).T
        extra = (size - (n + front + back) % size) % size
        pairs = [[front.tolist(), (back + extra).tolist()], [[0] * len(extra), extra.tolist()]]
        paddings, crops = (as_tensor([*zip(*pair, strict=True)] or base_paddings, int32) for pair in pairs)
        return paddings, crops
    front, back = base[:, 0], base[:, 1]
    extra = floormod(subtract(block, floormod(lengths + front + back, block)), block)
    return stack([front, back + extra], 1), stack([extra * 0, extra], 1)
