"""Reverses parts of sequences, each up to its own length."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import like_first, may_be_equal
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike, int32, int64
from nbtf.errors import InvalidArgumentError


@op("T Tlen -> T", T=ALL, Tlen=frozenset({int32, int64}), partly=like_first)
def ReverseSequence(xp: Any, input: Any, seq_lengths: Any, seq_dim: int, batch_dim: int) -> Any:
    seq_axis, batch_axis = seq_dim, batch_dim
    if seq_axis == batch_axis or min(seq_axis, batch_axis) < 0 or seq_lengths.shape != (input.shape[batch_axis],):
        raise ValueError("the lengths do not fit the sequences")
    length = input.shape[seq_axis]
    if xp is CPU.xp:
        _check_lengths(seq_lengths, length)
    steps, ends = xp.arange(length), seq_lengths[:, None].astype(xp.int64)
    order = xp.where(steps < ends, ends - 1 - steps, steps)
    shape = [1] * input.ndim
    shape[batch_axis], shape[seq_axis] = order.shape
    numbers = (order if batch_axis < seq_axis else order.T).reshape(shape)
    return xp.take_along_axis(input, xp.broadcast_to(numbers, input.shape), seq_axis)


def _check_lengths(lengths: Any, longest: int) -> None:
    for number, length in enumerate(lengths.tolist()):
        if length < 0:
            raise InvalidArgumentError(f"seq_lens({number}) < 0")
        if length > longest:
            raise InvalidArgumentError(f"seq_lens({number}) > input.dims(seq_dim)")


@ReverseSequence.infer
def _(input: Spec, seq_lengths: Spec, seq_dim: int, batch_dim: int) -> Spec:
    rank = len(input.shape)
    if len(seq_lengths.shape) != 1:
        raise InvalidArgumentError(f"seq_lens input must be 1-dim, not {len(seq_lengths.shape)}")
    for attr, axis in (("batch_dim", batch_dim), ("seq_dim", seq_dim)):
        if axis < 0:
            raise InvalidArgumentError(f"Invalid {attr} {axis}")
        if axis >= rank:
            raise InvalidArgumentError(f"{attr} must be < input rank ( {axis} vs. {rank})")
    if seq_dim == batch_dim:
        raise InvalidArgumentError(f"batch_dim == seq_dim == {seq_dim}")
    if not may_be_equal(seq_lengths.shape, (input.shape[batch_dim],)):
        text = f"Length of seq_lens != input.dims({batch_dim}), ({seq_lengths.shape[0]} vs. {input.shape[batch_dim]})"
        raise InvalidArgumentError(text)
    return input


@ReverseSequence.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [ReverseSequence(grad, call.inputs[1], **call.attrs), None]


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns sequences with their first elements in reverse order, each up to its own length.

    Args:
      input: the sequences, any dtype.
      seq_lengths: the number of elements to reverse in each sequence, int32 or int64.
      seq_axis: the axis of the elements.
      batch_axis: the axis of the sequences; 0 by default.
      name: accepted and ignored.

    Raises:
      TypeError: if `seq_axis` is missing.
      InvalidArgumentError: if the lengths do not fit the sequences, an axis is negative or does not exist.

    >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
    array([[2, 1, 3],
           [6, 5, 4]], dtype=int32)
    """
    if seq_axis is None:
        raise TypeError("`seq_axis` must be an integer, the axis of the elements. Received: seq_axis=None")
    return ReverseSequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name)
