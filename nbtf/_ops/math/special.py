"""The error function, and products and quotients that are 0 if a factor is 0."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp as e_to
from math import pi
from math import sqrt as root
from typing import Any

from nbtf._ops.math.arithmetic import add, cast, negative
from nbtf._ops.math.comparison import not_equal
from nbtf._ops.math.exponentials import CONTINUOUS, exp
from nbtf._ops.math.magnitude import square
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.sums import unbroadcast_both
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike


@op("T -> T", T=FLOATS, broadcasts=True)
def Erf(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize == 8:
        beyond = xp.copysign(1 - _erfc_far(xp, xp.absolute(x)), x)
        return xp.where(xp.absolute(x) < 1, _erf_near(xp, x, _TERMS), beyond)
    return _erf_single(xp, x).astype(x.dtype, copy=False)


@Erf.express
def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the error function of each element.

    Returns:
      A tensor of `x`'s dtype, with values from -1 to 1.

    >>> tf.math.erf([0.0, 0.5, 3.0]).numpy().round(3)
    array([0.  , 0.52, 1.  ], dtype=float32)
    """
    return Erf(x, name=name)


@Erf.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [_bell(call.inputs[0], grad)]


def _bell(x: Tensor, grad: Tensor) -> Tensor:
    return grad * (2 / root(pi)) * exp(negative(square(x)))


@op("T -> T", T=FLOATS, broadcasts=True)
def Erfc(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize == 8:
        far = _erfc_far(xp, xp.absolute(x))
        beyond = xp.where(x < 0, 2 - far, far)
        return xp.where(xp.absolute(x) < 0.5, 1 - _erf_near(xp, x, _TERMS), beyond)
    return _erfc_single(xp, x).astype(x.dtype, copy=False)


@Erfc.express
def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns `1 - erf(x)`, precise even for tiny results.

    Returns:
      A tensor of `x`'s dtype, with values from 0 to 2.

    >>> tf.math.erfc([0.0, 0.5, 3.0]).numpy().round(3)
    array([1.  , 0.48, 0.  ], dtype=float32)
    """
    return Erfc(x, name=name)


@Erfc.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [negative(_bell(call.inputs[0], grad))]


# erf(x) = 2/sqrt(pi) * sum of (-1)^n x^(2n+1) / (n! (2n+1)). Source: NIST Digital Library of Mathematical Functions,
# equation 7.6.1. For |x| < 1 twenty terms reach 1e-18, and twelve 1e-10.
_TERMS = 20
_TERMS_OF_SINGLE = 12


def _erf_near(xp: Any, x: Any, terms: int) -> Any:
    coefficients = [2 / root(pi)]
    for n in range(1, terms):
        coefficients.append(-coefficients[-1] * (2 * n - 1) / (n * (2 * n + 1)))
    z = x * x
    return _polynomial(xp, coefficients, z) * x


def _polynomial(xp: Any, coefficients: Sequence[float], x: Any) -> Any:
    """Returns a polynomial's value by Horner's rule; the constant coefficient comes first."""
    total = xp.multiply(x, coefficients[-1])
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= x
    total += coefficients[0]
    return total


# The integral of exp(-t^2) / (t^2 + x^2) by the trapezoidal rule, which converges like exp(-(pi/h)^2), with the term
# that its pole contributes. Source: F. Matta and A. Reichel, "Uniform computation of the error function and other
# related functions", Mathematics of Computation 25 (1971), pages 339-344. h = 1/2 with 13 points reaches 1e-16.
_STEP = 0.5
_POINTS = 13


def _erfc_far(xp: Any, x: Any) -> Any:
    x = xp.minimum(xp.maximum(x, 0.5), 30.0)  # beyond, exp(-x^2) is 0 in every dtype
    z = x * x
    total = 1 / z
    for n in range(1, _POINTS):
        t = (n * _STEP) ** 2
        total = total + 2 * e_to(-t) / (z + t)
    pole = xp.where(x < pi / _STEP, 2 / xp.expm1(2 * pi / _STEP * x), x.dtype.type(0))  # only an enclosed pole counts
    return xp.exp(-z) * x * (_STEP / pi) * total - pole


# exp(x^2) erfc(x) for 0 <= x <= 10.2 as a quotient of polynomials, fitted by reweighted least squares of the relative
# error at 4,000 points, to 6e-9 at most. Beyond, erfc is 0 in single precision.
_NUMERATOR = 1.00000000581347, 1.2392672831611655, 0.7325000590775488, 0.22964516271026422, 0.03288569550962823
_DENOMINATOR = 1.0, 2.3676470367747093, 2.4040941767134396, 1.3270406726904942, 0.40706143697303826, 0.05828769344476354
_END = 10.2


def _erfc_single(xp: Any, x: Any) -> Any:
    x = x.astype(xp.float32, copy=False)
    size = xp.minimum(xp.absolute(x), _END)
    far = _polynomial(xp, _NUMERATOR, size)
    far /= _polynomial(xp, _DENOMINATOR, size)
    far *= xp.exp(-size * size)
    far -= (x < 0) * xp.float32(2)  # erfc(-x) = 2 - erfc(x); without branches, this is faster than `where`
    return xp.absolute(far)


def _erf_single(xp: Any, x: Any) -> Any:
    x = x.astype(xp.float32, copy=False)
    beyond = xp.copysign(1 - _erfc_single(xp, xp.absolute(x)), x)
    return xp.where(xp.absolute(x) < 1, _erf_near(xp, x, _TERMS_OF_SINGLE), beyond)


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def MulNoNan(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(y == 0, y.dtype.type(0), xp.multiply(x, y))


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise product of two tensors, with 0 where `y` is 0, even for inf and nan.

    >>> tf.math.multiply_no_nan([np.nan, 3.0], [0.0, 2.0]).numpy()
    array([0., 6.], dtype=float32)
    """
    tensor = as_tensor(x)
    return MulNoNan(tensor, as_tensor(y, tensor._dtype), name=name)


@MulNoNan.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: multiply_no_nan(grad, y), lambda: multiply_no_nan(x, grad))


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def Xdivy(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x.dtype.type(0), xp.divide(x, y))


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient of two tensors, with 0 where `x` is 0, even if `y` is 0.

    >>> tf.math.xdivy([0.0, 3.0], [0.0, 2.0]).numpy()
    array([0. , 1.5], dtype=float32)
    """
    return Xdivy(x, y, name=name)


@Xdivy.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: xdivy(_present(x), y) * grad, lambda: xdivy(negative(x), square(y)) * grad)


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def Xlogy(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x.dtype.type(0), xp.multiply(x, xp.log(y)))


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns `x * log(y)`, and 0 where `x` is 0.

    >>> tf.math.xlogy([0.0, 2.0], [0.0, 1.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return Xlogy(x, y, name=name)


@Xlogy.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: xlogy(_present(x), y) * grad, lambda: xdivy(x, y) * grad)


@op("T T -> T", T=CONTINUOUS, broadcasts=True)
def Xlog1py(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(x == 0, x.dtype.type(0), xp.multiply(x, xp.log1p(y)))


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns `x * log(1 + y)`, and 0 where `x` is 0.

    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 0.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return Xlog1py(x, y, name=name)


@Xlog1py.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: xlog1py(_present(x), y) * grad, lambda: xdivy(x, add(y, 1)) * grad)


def _present(x: Tensor) -> Tensor:
    """Returns 1 for elements other than 0, and 0 for 0."""
    return cast(not_equal(x, 0), x._dtype)
