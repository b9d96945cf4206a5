"""Rounds floats to the numbers that integers of few bits can represent, as quantized models do.

Source: Jacob et al., "Quantization and training of neural networks for efficient integer-arithmetic-only inference",
arXiv:1712.05877, section 3. The float32 operations come in the order of `fake_quant_ops_functor.h` of TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.reductions.lines import join
from nbtf._ops.specs import may_be_equal
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, float32
from nbtf.errors import InvalidArgumentError


class _Steps(NamedTuple):
    """The evenly spaced numbers that are represented: smallest, largest, distance, and the distance's inverse."""

    low: Any
    high: Any
    width: Any
    per_unit: Any


def _steps(xp: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> _Steps:
    """Returns the represented numbers, moved so that 0 is one of them."""
    _check_bits(num_bits)
    first, last = xp.float32(narrow_range), xp.float32((1 << num_bits) - 1)
    low, high = xp.asarray(low, xp.float32), xp.asarray(high, xp.float32)
    width, per_unit = (high - low) / (last - first), (last - first) / (high - low)
    position = first - low / width
    below = xp.floor(position)
    zero = xp.clip(below + (position - below >= xp.float32(0.5)), first, last)
    return _Steps((first - zero) * width, (last - zero) * width, width, per_unit)


def _fixed_steps(xp: Any, min: float, max: float, num_bits: int, narrow_range: bool) -> _Steps:
    _check_order(min, max)
    return _steps(xp, min, max, num_bits, narrow_range)


def _check_order(min: float, max: float) -> None:
    if not min < max:
        raise InvalidArgumentError(f"min has to be smaller than max, was: {min:g} >= {max:g}")


def _rounded(xp: Any, values: Any, steps: _Steps, divides: bool = False) -> Any:
    zero = xp.floor(-steps.low * steps.per_unit + xp.float32(0.5))
    shifted = xp.maximum(xp.minimum(values, steps.high), steps.low) - steps.low
    numbers = shifted / steps.width if divides else shifted * steps.per_unit
    return xp.floor(numbers - zero + xp.float32(0.5)) * steps.width


def _inside(xp: Any, values: Any, steps: _Steps) -> Any:
    return (values >= steps.low) & (values <= steps.high)


def _check_bits(num_bits: int) -> None:
    if not 2 <= num_bits <= 16:
        raise InvalidArgumentError("num_bits must be between 2 and 16, inclusive")


def _check_equal(gradients: Sequence[int | None], inputs: Sequence[int | None]) -> None:
    if not may_be_equal(gradients, inputs):
        raise InvalidArgumentError("gradient and input must be the same size")


# Bounds that are Python numbers


@op("float32 -> float32", plain={"min": float, "max": float, "num_bits": int})
def FakeQuantWithMinMaxArgs(xp: Any, inputs: Any, min: float, max: float, num_bits: int, narrow_range: bool) -> Any:
    return _rounded(xp, inputs, _fixed_steps(xp, min, max, num_bits, narrow_range))


@op("float32 float32 -> float32", plain={"min": float, "max": float, "num_bits": int})
def FakeQuantWithMinMaxArgsGradient(
    xp: Any, gradients: Any, inputs: Any, min: float, max: float, num_bits: int, narrow_range: bool
) -> Any:
    _check_equal(gradients.shape, inputs.shape)
    return gradients * _inside(xp, inputs, _fixed_steps(xp, min, max, num_bits, narrow_range))


@FakeQuantWithMinMaxArgs.infer
def _(inputs: Spec, min: float, max: float, num_bits: int, narrow_range: bool) -> Spec:
    _check_order(min, max)
    _check_bits(num_bits)
    return inputs


@FakeQuantWithMinMaxArgsGradient.infer
def _(gradients: Spec, inputs: Spec, min: float, max: float, num_bits: int, narrow_range: bool) -> Spec:
    _check_equal(gradients.shape, inputs.shape)
    _check_order(min, max)
    _check_bits(num_bits)
    return inputs


@FakeQuantWithMinMaxArgs.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [FakeQuantWithMinMaxArgsGradient(grad, call.inputs[0], **call.attrs)]


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rounds numbers to those that integers of few bits represent, between two fixed bounds.

    The bounds are moved by up to half a step, so that 0 is represented. The gradient is that of clipping.

    Args:
      inputs: float32 numbers of any shape.
      min: the lower bound, a number; -6.0 by default.
      max: the upper bound, a number; 6.0 by default.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented, so that their count is odd; False by default.

    Returns:
      The rounded numbers, with the shape of `inputs`.

    Raises:
      InvalidArgumentError: if `min` is not below `max`, or `num_bits` is outside its range.

    >>> tf.quantization.fake_quant_with_min_max_args([-9.0, 0.4, 2.0], min=-1.5, max=1.5, num_bits=2).numpy()
    array([-2.,  0.,  1.], dtype=float32)
    """
    return FakeQuantWithMinMaxArgs(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `fake_quant_with_min_max_args`: that of the result where `inputs` are within the bounds.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      gradients: the gradient with respect to the result, float32.
      inputs: the inputs of `fake_quant_with_min_max_args`, of the same shape.
      min: the lower bound, a number; -6.0 by default.
      max: the upper bound, a number; 6.0 by default.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented; False by default.

    >>> tf.quantization.fake_quant_with_min_max_args_gradient([5.0, 5.0], [1.0, 9.0]).numpy()
    array([5., 0.], dtype=float32)
    """
    return FakeQuantWithMinMaxArgsGradient(
        gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


# Bounds that are tensors: one pair, or a pair for each channel


def _between_bounds(
    xp: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool, divides: bool = False
) -> Any:
    empty, high = _without_range(xp, min, max)
    rounded = _rounded(xp, inputs, _steps(xp, min, high, num_bits, narrow_range), divides)
    return xp.where(empty, xp.float32(0), rounded)


def _without_range(xp: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Returns where both bounds are 0, and upper bounds that are 1 there, so that no step has the width 0."""
    empty = (low == 0) & (high == 0)
    return empty, xp.where(empty, xp.float32(1), high)


def _gradients_to_bounds(
    xp: Any, gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool
) -> list[Any]:
    _check_equal(gradients.shape, inputs.shape)
    empty, high = _without_range(xp, min, max)
    steps = _steps(xp, min, high, num_bits, narrow_range)
    axes = tuple(range(inputs.ndim - min.ndim))

    def total(chosen: Any) -> Any:
        return join(xp, xp.add, gradients * (chosen & ~empty), axes, xp.float32, False)

    within = gradients * (_inside(xp, inputs, steps) | empty)
    return [within, total(inputs < steps.low), total(inputs > steps.high)]


@op("float32 float32 float32 -> float32", plain={"num_bits": int})
def FakeQuantWithMinMaxVars(xp: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool) -> Any:
    if min.ndim or max.ndim:
        raise ValueError("bounds must be scalars")
    return _between_bounds(xp, inputs, min, max, num_bits, narrow_range, divides=True)


@op("float32 float32 float32 float32 -> float32 float32 float32", plain={"num_bits": int})
def FakeQuantWithMinMaxVarsGradient(
    xp: Any, gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool
) -> Any:
    if min.ndim or max.ndim:
        raise ValueError("bounds must be scalars")
    return _gradients_to_bounds(xp, gradients, inputs, min, max, num_bits, narrow_range)


@FakeQuantWithMinMaxVars.infer
def _(inputs: Spec, min: Spec, max: Spec, num_bits: int, narrow_range: bool) -> Spec:
    _check_bits(num_bits)
    _check_ranks(min, max, 0)
    return inputs


def _check_ranks(min: Spec, max: Spec, rank: int) -> None:
    for name, bound in (("min", min), ("max", max)):
        if len(bound.shape) != rank:
            raise InvalidArgumentError(f"`{name}` must be rank {rank} but is rank {len(bound.shape)}")


@FakeQuantWithMinMaxVarsGradient.infer
def _(gradients: Spec, inputs: Spec, min: Spec, max: Spec, num_bits: int, narrow_range: bool) -> list[Spec]:
    _check_bits(num_bits)
    _check_equal(gradients.shape, inputs.shape)
    _check_ranks(min, max, 0)
    return [inputs, Spec((), float32), Spec((), float32)]


@FakeQuantWithMinMaxVars.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return FakeQuantWithMinMaxVarsGradient(grad, *call.inputs, **call.attrs)


def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rounds numbers to those that integers of few bits represent, between two bounds that can be trained.

    The bounds are moved by up to half a step, so that 0 is represented. The gradient is that of clipping; the bounds
    get the gradients of the numbers beyond them.

    Args:
      inputs: float32 numbers of any shape.
      min: the lower bound, a float32 scalar.
      max: the upper bound, a float32 scalar.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented, so that their count is odd; False by default.

    Returns:
      The rounded numbers, with the shape of `inputs`; zeros if both bounds are 0.

    Raises:
      InvalidArgumentError: if a bound is not a scalar, or `num_bits` is outside its range.

    >>> tf.quantization.fake_quant_with_min_max_vars([-9.0, 0.4, 2.0], min=-1.5, max=1.5, num_bits=2).numpy()
    array([-2.,  0.,  1.], dtype=float32)
    """
    return FakeQuantWithMinMaxVars(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


class BoundGradients(NamedTuple):
    """The gradients of numbers and of the bounds between which they are rounded."""

    backprops_wrt_input: Tensor
    backprop_wrt_min: Tensor
    backprop_wrt_max: Tensor


def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> BoundGradients:
    """Returns the gradients of `fake_quant_with_min_max_vars` with respect to numbers and bounds.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      gradients: the gradient with respect to the result, float32.
      inputs: the inputs of `fake_quant_with_min_max_vars`, of the same shape.
      min: the lower bound, a float32 scalar.
      max: the upper bound, a float32 scalar.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented; False by default.

    Returns:
      A named tuple of the gradients of `inputs`, `min` and `max`.

    >>> found = tf.quantization.fake_quant_with_min_max_vars_gradient([5.0, 7.0], [1.0, 9.0], -6.0, 6.0)
    >>> found.backprops_wrt_input.numpy(), found.backprop_wrt_max.numpy()
    (array([5., 0.], dtype=float32), np.float32(7.0))
    """
    return BoundGradients(
        *FakeQuantWithMinMaxVarsGradient(
            gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
        )
    )


@op("float32 float32 float32 -> float32", plain={"num_bits": int})
def FakeQuantWithMinMaxVarsPerChannel(
    xp: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool
) -> Any:
    if not inputs.ndim or min.shape != inputs.shape[-1:] or max.shape != inputs.shape[-1:]:
        raise ValueError("each channel needs a pair of bounds")
    return _between_bounds(xp, inputs, min, max, num_bits, narrow_range)


@op("float32 float32 float32 float32 -> float32 float32 float32", plain={"num_bits": int})
def FakeQuantWithMinMaxVarsPerChannelGradient(
    xp: Any, gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool
) -> Any:
    if not inputs.ndim or min.shape != inputs.shape[-1:] or max.shape != inputs.shape[-1:]:
        raise ValueError("each channel needs a pair of bounds")
    return _gradients_to_bounds(xp, gradients, inputs, min, max, num_bits, narrow_range)


@FakeQuantWithMinMaxVarsPerChannel.infer
def _(inputs: Spec, min: Spec, max: Spec, num_bits: int, narrow_range: bool) -> Spec:
    _check_bits(num_bits)
    _check_channels(inputs, min, max)
    return inputs


def _check_channels(inputs: Spec, min: Spec, max: Spec) -> None:
    if not inputs.shape:
        raise InvalidArgumentError("inputs must have at least one axis, the channels")
    _check_ranks(min, max, 1)
    for name, bound in (("min", min), ("max", max)):
        if not may_be_equal(bound.shape, inputs.shape[-1:]):
            raise InvalidArgumentError(f"{name} has incorrect size, expected {inputs.shape[-1]} was {bound.shape[0]}")


@FakeQuantWithMinMaxVarsPerChannelGradient.infer
def _(gradients: Spec, inputs: Spec, min: Spec, max: Spec, num_bits: int, narrow_range: bool) -> list[Spec]:
    _check_bits(num_bits)
    _check_equal(gradients.shape, inputs.shape)
    _check_channels(inputs, min, max)
    return [inputs, Spec(inputs.shape[-1:], float32), Spec(inputs.shape[-1:], float32)]


@FakeQuantWithMinMaxVarsPerChannel.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return FakeQuantWithMinMaxVarsPerChannelGradient(grad, *call.inputs, **call.attrs)


def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Rounds numbers to those that integers of few bits represent, with bounds for each channel.

    See `tf.quantization.fake_quant_with_min_max_vars`.

    Args:
      inputs: float32 numbers, shape `[..., channels]`.
      min: the lower bounds, float32, shape `[channels]`.
      max: the upper bounds, of the same shape.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented, so that their count is odd; False by default.

    Returns:
      The rounded numbers, with the shape of `inputs`; zeros in channels of which both bounds are 0.

    Raises:
      InvalidArgumentError: if the bounds do not have one number per channel, or `num_bits` is outside its range.

    >>> tf.quantization.fake_quant_with_min_max_vars_per_channel([[2.0, 2.0]], [-1.5, 0.0], [1.5, 3.0], 2).numpy()
    array([[1., 2.]], dtype=float32)
    """
    return FakeQuantWithMinMaxVarsPerChannel(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> BoundGradients:
    """Returns the gradients of `fake_quant_with_min_max_vars_per_channel` with respect to numbers and bounds.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      gradients: the gradient with respect to the result, float32.
      inputs: the inputs of `fake_quant_with_min_max_vars_per_channel`, of the same shape.
      min: the lower bounds, float32, shape `[channels]`.
      max: the upper bounds, of the same shape.
      num_bits: number of bits, from 2 to 16; 8 by default.
      narrow_range: whether one number less is represented; False by default.

    Returns:
      A named tuple of the gradients of `inputs`, `min` and `max`.

    >>> gradient = tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient
    >>> found = gradient([[5.0, 7.0]], [[1.0, 9.0]], [-6.0, -6.0], [6.0, 6.0])
    >>> found.backprop_wrt_max.numpy()
    array([0., 7.], dtype=float32)
    """
    return BoundGradients(
        *FakeQuantWithMinMaxVarsPerChannelGradient(
            gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
        )
    )


unregistered(
    FakeQuantWithMinMaxArgsGradient, FakeQuantWithMinMaxVarsGradient, FakeQuantWithMinMaxVarsPerChannelGradient
)
