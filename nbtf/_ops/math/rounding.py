"""Floats made whole, and which of them are finite."""

from __future__ import annotations

from nbtf._ops.op import no_gradient, ufunc
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike

Round = ufunc("Round", "rint", "T -> T", T=FLOATS)


@Round.express
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds to the nearest whole number; halves go to the even one.

    Args:
      x: floats; integers come back as they are.

    >>> tf.round([0.5, 1.5, 2.4, -0.7]).numpy()
    array([ 0.,  2.,  2., -1.], dtype=float32)
    """
    tensor = as_tensor(x)
    return tensor if tensor._dtype.is_integer else Round(tensor, name=name)


Rint = ufunc("Rint", "rint", "T -> T", T=FLOATS)


@Rint.express
def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds floats to the nearest whole number; halves go to the even one.

    >>> tf.math.rint([0.5, 1.5, -0.7]).numpy()
    array([ 0.,  2., -1.], dtype=float32)
    """
    return Rint(x, name=name)


Floor = ufunc("Floor", "floor", "T -> T", T=FLOATS)


@Floor.express
def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds down.

    Returns:
      The largest whole numbers that are not above `x`, of its dtype.

    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return Floor(x, name=name)


Ceil = ufunc("Ceil", "ceil", "T -> T", T=FLOATS)


@Ceil.express
def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds up.

    Returns:
      The smallest whole numbers that are not below `x`, of its dtype.

    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return Ceil(x, name=name)


IsNan = ufunc("IsNan", "isnan", "T -> bool", T=FLOATS)


@IsNan.express
def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Tells which elements are nan.

    >>> tf.math.is_nan([1.0, np.nan, np.inf]).numpy()
    array([False,  True, False])
    """
    return IsNan(x, name=name)


IsInf = ufunc("IsInf", "isinf", "T -> bool", T=FLOATS)


@IsInf.express
def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Tells which elements are infinite.

    >>> tf.math.is_inf([1.0, np.nan, np.inf]).numpy()
    array([False, False,  True])
    """
    return IsInf(x, name=name)


IsFinite = ufunc("IsFinite", "isfinite", "T -> bool", T=FLOATS)


@IsFinite.express
def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Tells which elements are finite.

    >>> tf.math.is_finite([1.0, np.nan, np.inf]).numpy()
    array([ True, False, False])
    """
    return IsFinite(x, name=name)


no_gradient(Round, Rint, Floor, Ceil, IsNan, IsInf, IsFinite)
