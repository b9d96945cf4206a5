"""The inverse of the error function, and the quantiles of the normal distribution."""

from __future__ import annotations

from math import pi
from math import sqrt as root
from typing import Any

from nbtf._ops.math.arithmetic import multiply, negative
from nbtf._ops.math.exponentials import exp
from nbtf._ops.math.magnitude import square
from nbtf._ops.math.special import Erf, Erfc
from nbtf._ops.op import Gradients, op
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike

_SHARPNESS = 0.147
"""The parameter of the first approximation. Source: S. Winitzki, "A handy approximation for the error function"."""

_ROUNDS = 4
"""Number of Halley steps: the first approximation has three digits, and each step triples them."""


def _inverse(xp: Any, small: Any, complement: Any) -> Any:
    """Returns x of at least 0 with `erf(x) = small` and `erfc(x) = rest`, which add up to 1; float64."""
    tail = xp.maximum(complement, 1e-320)
    logarithm = xp.log(tail * (2 - tail))
    middle = 2 / (pi * _SHARPNESS) + logarithm / 2
    x = xp.sqrt(xp.maximum(xp.sqrt(middle * middle - logarithm / _SHARPNESS) - middle, 0))
    is_near = small < 0.5
    for _ in range(_ROUNDS):
        error = xp.where(is_near, Erf.kernel(xp, x) - small, tail - Erfc.kernel(xp, x))
        step = error * xp.exp(xp.minimum(x * x, 740.0)) * (root(pi) / 2)
        x = x - step / (1 + x * step)
    return xp.where(complement <= 0, xp.inf, x)


@op("T -> T", T=FLOATS, broadcasts=True)
def Erfinv(xp: Any, x: Any) -> Any:
    size = xp.absolute(x.astype(xp.float64))
    result = _inverse(xp, xp.minimum(size, 1), 1 - xp.minimum(size, 1))
    return xp.where(size <= 1, xp.copysign(result, x), xp.nan).astype(x.dtype)


@Erfinv.express
def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of the error function: the number whose `erf` is `x`.

    Args:
      x: floats from -1 to 1; the result is infinite for -1 and 1, and nan beyond.
      name: accepted and ignored.

    >>> tf.math.erfinv([0.0, 0.5, 1.0]).numpy().round(3)
    array([0.   , 0.477,   inf], dtype=float32)
    """
    return Erfinv(x, name=name)


@Erfinv.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * (root(pi) / 2) * exp(square(call.output))]


@op("T -> T", T=FLOATS, broadcasts=True)
def Ndtri(xp: Any, x: Any) -> Any:
    share = x.astype(xp.float64)
    tail = 2 * xp.clip(xp.minimum(share, 1 - share), 0, 0.5)
    result = root(2) * xp.copysign(_inverse(xp, 1 - tail, tail), share - 0.5)
    return xp.where((share >= 0) & (share <= 1), result, xp.nan).astype(x.dtype)


@Ndtri.express
def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the quantiles of the standard normal distribution: the number below which the share `x` lies.

    Args:
      x: floats from 0 to 1; the result is infinite for 0 and 1, and nan beyond.
      name: accepted and ignored.

    >>> tf.math.ndtri([0.5, 0.975]).numpy().round(2)
    array([0.  , 1.96], dtype=float32)
    """
    return Ndtri(x, name=name)


@Ndtri.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [grad * root(2 * pi) * exp(square(call.output) / 2)]


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the inverse of the complementary error function: the number whose `erfc` is `x`.

    Args:
      x: floats from 0 to 2; the result is infinite for 0 and 2, and nan beyond.
      name: accepted and ignored.

    >>> tf.math.erfcinv([0.5, 1.0]).numpy().round(3)
    array([ 0.477, -0.   ], dtype=float32)
    """
    return multiply(negative(ndtri(multiply(as_tensor(x), 0.5))), root(0.5), name)
