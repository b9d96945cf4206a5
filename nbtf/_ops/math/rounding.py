"""Rounding, and tests for finite numbers."""

from __future__ import annotations

from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.op import Gradients, no_gradient, ufunc
from nbtf._ops.reductions.sums import unbroadcast_both
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike, float32, float64

Round = ufunc("Round", "rint", "T -> T", T=FLOATS)


@Round.express
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns elements rounded to the nearest integer; halves are rounded to even.

    Args:
      x: a tensor of floats; integers are returned unchanged.

    >>> tf.round([0.5, 1.5, 2.4, -0.7]).numpy()
    array([ 0.,  2.,  2., -1.], dtype=float32)
    """
    tensor = as_tensor(x)
    return tensor if tensor._dtype.is_integer else Round(tensor, name=name)


Rint = ufunc("Rint", "rint", "T -> T", T=FLOATS)


@Rint.express
def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns floats rounded to the nearest integer; halves are rounded to even.

    >>> tf.math.rint([0.5, 1.5, -0.7]).numpy()
    array([ 0.,  2., -1.], dtype=float32)
    """
    return Rint(x, name=name)


Floor = ufunc("Floor", "floor", "T -> T", T=FLOATS)


@Floor.express
def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns elements rounded down.

    Returns:
      The largest integers that are not above `x`, with `x`'s dtype.

    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return Floor(x, name=name)


Ceil = ufunc("Ceil", "ceil", "T -> T", T=FLOATS)


@Ceil.express
def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns elements rounded up.

    Returns:
      The smallest integers that are not below `x`, with `x`'s dtype.

    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return Ceil(x, name=name)


IsNan = ufunc("IsNan", "isnan", "T -> bool", T=FLOATS)


@IsNan.express
def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element is nan.

    >>> tf.math.is_nan([1.0, np.nan, np.inf]).numpy()
    array([False,  True, False])
    """
    return IsNan(x, name=name)


IsInf = ufunc("IsInf", "isinf", "T -> bool", T=FLOATS)


@IsInf.express
def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element is infinite.

    >>> tf.math.is_inf([1.0, np.nan, np.inf]).numpy()
    array([False, False,  True])
    """
    return IsInf(x, name=name)


IsFinite = ufunc("IsFinite", "isfinite", "T -> bool", T=FLOATS)


@IsFinite.express
def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element is finite.

    >>> tf.math.is_finite([1.0, np.nan, np.inf]).numpy()
    array([ True, False, False])
    """
    return IsFinite(x, name=name)


no_gradient(Round, Rint, Floor, Ceil, IsNan, IsInf, IsFinite)


NextAfter = ufunc("NextAfter", "nextafter", "T T -> T", ("x1", "x2"), T=frozenset({float32, float64}))


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Returns the next number after `x1` in the direction of `x2` that the dtype can represent.

    Args:
      x1: float32 or float64.
      x2: the same dtype; broadcast against `x1`.
      name: accepted and ignored.

    >>> tf.math.nextafter([1.0], [2.0]).numpy() - 1
    array([1.1920929e-07], dtype=float32)
    """
    return NextAfter(x1, x2, name=name)


@NextAfter.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return unbroadcast_both(call, lambda: identity(grad), lambda: zeros_like(grad))
