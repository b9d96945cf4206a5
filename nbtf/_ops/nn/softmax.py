"""Softmax: turns scores into probabilities that add up to 1."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.math.exponentials import exp
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import like_first
from nbtf._runtime.arguments import check_whole
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike
from nbtf.errors import AbortedError, InvalidArgumentError


def _axis_of(tensor: Tensor, axis: Any) -> int:
    """Returns the axis of a softmax as a non-negative number."""
    if getattr(tensor.shape, "rank", 0) is None:  # unknown rank in a graph; a model's shapes are tuples
        return axis
    rank = len(tensor.shape)
    position = -1 if axis is None else check_whole(axis, "axis")
    if not -rank <= position < rank and rank:
        text = f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
        raise InvalidArgumentError(f"{text}Received: dim={position}")
    return position


def _along(logits: Spec, axis: Any) -> Spec:
    if not logits.shape:
        raise AbortedError("Input dims must be <= 5 and >=1")
    return logits


@op("T -> T", T=FLOATS, partly=like_first, infer=_along)
def Softmax(xp: Any, logits: Any, axis: Any) -> Any:
    if not logits.ndim:
        raise ValueError("a scalar has no axis")
    if not logits.size:
        return logits
    axis = -1 if axis is None else axis
    powers = xp.exp(logits - logits.max(axis, None, True))
    return powers / xp.add.reduce(powers, axis, powers.dtype, None, True)


@Softmax.express
def softmax(logits: TensorLike, axis: Any = None, name: str | None = None) -> Tensor:
    """Returns positive numbers that are proportional to `exp(logits)` and add up to 1.

    Args:
      logits: floats.
      axis: the axis along which they add up to 1; the last by default. Unlike TensorFlow, nbtf needs no transpose for
        another axis.

    Raises:
      InvalidArgumentError: if the axis does not exist, or `logits` are not floats.

    >>> tf.nn.softmax([1000.0, 1000.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    tensor = as_tensor(logits)
    return Softmax(tensor, axis=_axis_of(tensor, axis), name=name)


@Softmax.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    axis = -1 if call.attrs["axis"] is None else call.attrs["axis"]
    shared = reduce_sum(grad * call.output, axis, True)
    return [(grad - shared) * call.output]


@op("T -> T", T=FLOATS, partly=like_first, infer=_along)
def LogSoftmax(xp: Any, logits: Any, axis: Any) -> Any:
    if not logits.ndim:
        raise ValueError("a scalar has no axis")
    if not logits.size:
        return logits
    axis = -1 if axis is None else axis
    shifted = logits - logits.max(axis, None, True)
    return shifted - xp.log(xp.add.reduce(xp.exp(shifted), axis, shifted.dtype, None, True))


@LogSoftmax.express
def log_softmax(logits: TensorLike, axis: Any = None, name: str | None = None) -> Tensor:
    """Returns the logarithm of `softmax`, which is precise even where `softmax` is almost 0.

    Args:
      logits: floats.
      axis: the axis along which the softmax adds up to 1; the last by default.

    Raises:
      InvalidArgumentError: if the axis does not exist, or `logits` are not floats.

    >>> tf.nn.log_softmax([0.0, 1000.0]).numpy()
    array([-1000.,     0.], dtype=float32)
    """
    tensor = as_tensor(logits)
    return LogSoftmax(tensor, axis=_axis_of(tensor, axis), name=name)


@LogSoftmax.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    axis = -1 if call.attrs["axis"] is None else call.attrs["axis"]
    return [grad - exp(call.output) * reduce_sum(grad, axis, True)]
