"""Local response normalization: divides values by those of neighbouring channels."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike
from nbtf.errors import InvalidArgumentError


def _exact(xp: Any, values: Any) -> Any:
    """Returns values precise enough for sums of squares: float16 becomes float32."""
    return values.astype(xp.float32) if values.dtype == xp.float16 else values


def _beside(xp: Any, values: Any, depth_radius: int) -> Any:
    """Returns the sum of each value and its neighbours up to `depth_radius` channels away."""
    channels = values.shape[-1]
    reach = min(depth_radius, channels - 1)
    wide = xp.zeros((*values.shape[:-1], channels + 2 * reach), values.dtype)
    wide[..., reach : reach + channels] = values
    total = xp.zeros_like(values)
    for start in range(2 * reach + 1):
        total = total + wide[..., start : start + channels]
    return total


@op("T -> T", T=FLOATS)
def LRN(xp: Any, input: Any, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    if input.ndim != 4:
        raise ValueError("images must have four axes")
    values = _exact(xp, input)
    norm = bias + alpha * _beside(xp, values * values, depth_radius)
    return (values * norm**-beta).astype(input.dtype)


@LRN.express
def lrn(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Returns values divided by a power of the sum of squares of neighbouring channels.

    Args:
      input: floats, shape `[batch, height, width, channels]`; TensorFlow does not support float64.
      depth_radius: number of neighbouring channels on each side; 5 by default.
      bias: a number added to the sum of squares; 1.0 by default.
      alpha: the factor of the sum of squares; 1.0 by default.
      beta: the exponent; 0.5 by default.

    Returns:
      A tensor of `input`'s shape and dtype: `input / (bias + alpha * squares) ** beta`.

    Raises:
      InvalidArgumentError: if `input` does not have four axes, or has another dtype.

    >>> tf.nn.lrn([[[[3.0, 4.0]]]], bias=0.0).numpy().round(3)
    array([[[[0.6, 0.8]]]], dtype=float32)
    """
    return LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


local_response_normalization = lrn


@LRN.infer
def _(input: Spec, depth_radius: int, bias: float, alpha: float, beta: float) -> Spec:
    if len(input.shape) != 4:
        raise InvalidArgumentError("in must be 4-dimensional")
    return input


@LRN.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [LRNGrad(grad, call.inputs[0], call.output, **call.attrs)]


@op("T T T -> T", T=FLOATS)
def LRNGrad(
    xp: Any, grad: Any, input: Any, output: Any, depth_radius: int, bias: float, alpha: float, beta: float
) -> Any:
    if not grad.shape == input.shape == output.shape or input.ndim != 4:
        raise ValueError("the images differ in shape")
    values, change = _exact(xp, input), _exact(xp, grad)
    norm = bias + alpha * _beside(xp, values * values, depth_radius)
    through = _beside(xp, change * values * norm ** (-beta - 1), depth_radius)  # through the neighbours' norms
    return (change * norm**-beta - 2 * alpha * beta * values * through).astype(input.dtype)


@LRNGrad.infer
def _(grad: Spec, input: Spec, output: Spec, **attrs: Any) -> Spec:
    if len(input.shape) != 4:
        raise InvalidArgumentError("inputs must be 4-dimensional")
    return input


unregistered(LRNGrad)
