"""Modified Bessel functions of the first kind, of order 0 and 1, also divided by `exp(abs(x))`."""

from __future__ import annotations

from math import cos, pi
from typing import Any

from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.math.arithmetic import multiply, negative
from nbtf._ops.math.comparison import equal, where
from nbtf._ops.math.division import divide
from nbtf._ops.math.magnitude import sign
from nbtf._ops.op import Gradients, Op, op
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike

# The integral of exp(x cos t) cos(n t) over a period by the trapezoidal rule, whose error is a Bessel function of the
# number of points. Source: NIST Digital Library of Mathematical Functions, equations 10.32.3 and 10.35.2. Up to
# x = 30, a hundred points leave an error below 1e-17. Beyond, the terms of equation 10.40.1.
_POINTS = 100
_FAR = 30.0
_TERMS = 24


def _scaled(xp: Any, x: Any, order: int) -> Any:
    """Returns `I(x) / exp(abs(x))` in double precision."""
    size = xp.absolute(x.astype(xp.float64))
    near = xp.minimum(size, _FAR)
    total = xp.zeros_like(size)
    for point in range(_POINTS // 2 + 1):  # the other half of the period has the same values
        angle, weight = 2 * pi * point / _POINTS, 2 if 0 < point < _POINTS // 2 else 1
        total += xp.exp(near * (cos(angle) - 1)) * (cos(order * angle) * weight / _POINTS)
    far = xp.maximum(size, _FAR)
    series = term = xp.ones_like(size)
    for k in range(1, _TERMS):
        term = term * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * far)
        series = series + term
    beyond = series / xp.sqrt(2 * pi * far)
    scaled = xp.where(size > _FAR, beyond, total)
    return scaled * xp.sign(x) if order else scaled


def _bessel_op(type: str, order: int, scaled: bool) -> Op:
    def kernel(xp: Any, x: Any) -> Any:
        values = _scaled(xp, x, order)
        if not scaled:
            values = values * xp.exp(xp.absolute(x.astype(xp.float64)))
        return values.astype(x.dtype)

    kernel.__name__ = type
    return op("T -> T", T=FLOATS, broadcasts=True)(kernel)


BesselI0 = _bessel_op("BesselI0", 0, False)
BesselI0e = _bessel_op("BesselI0e", 0, True)
BesselI1 = _bessel_op("BesselI1", 1, False)
BesselI1e = _bessel_op("BesselI1e", 1, True)


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the modified Bessel function of the first kind and order 0 of each element.

    Args:
      x: floating-point numbers.

    Returns:
      A tensor of `x`'s dtype, with values of at least 1.

    >>> tf.math.bessel_i0([0.0, 1.0]).numpy()
    array([1.       , 1.2660658], dtype=float32)
    """
    return BesselI0(x, name=name)


def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `bessel_i0(x) / exp(abs(x))`, which is finite for every number.

    Args:
      x: floating-point numbers.

    Returns:
      A tensor of `x`'s dtype, with values from 0 to 1.

    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy()
    array([1.       , 0.4657596], dtype=float32)
    """
    return BesselI0e(x, name=name)


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the modified Bessel function of the first kind and order 1 of each element.

    Args:
      x: floating-point numbers.

    Returns:
      A tensor of `x`'s dtype, with the sign of `x`.

    >>> tf.math.bessel_i1([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.5652], dtype=float32)
    """
    return BesselI1(x, name=name)


def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `bessel_i1(x) / exp(abs(x))`, which is finite for every number.

    Args:
      x: floating-point numbers.

    Returns:
      A tensor of `x`'s dtype, with values from -0.22 to 0.22.

    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy()
    array([0.        , 0.20791042], dtype=float32)
    """
    return BesselI1e(x, name=name)


# The derivatives. Source: NIST Digital Library of Mathematical Functions, equation 10.29.3.


@BesselI0.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [multiply(grad, bessel_i1(call.inputs[0]))]


@BesselI0e.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    return [multiply(grad, bessel_i1e(x) - multiply(sign(x), call.output))]


def _over(y: Tensor, x: Tensor) -> Tensor:
    """Returns `y / x`, with its limit 1/2 at 0."""
    at_zero = equal(x, 0)
    return where(at_zero, multiply(ones_like(x), 0.5), divide(y, where(at_zero, ones_like(x), x)))


@BesselI1.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    return [multiply(grad, bessel_i0(x) - _over(call.output, x))]


@BesselI1e.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    slope = bessel_i0e(x) - _over(call.output, x) + negative(multiply(sign(x), call.output))
    return [multiply(grad, slope)]
