"""Division that leaves whole numbers: quotients rounded down or cut off, and their remainders; and reciprocals."""

from __future__ import annotations

from typing import Any

from nbtf._ops.broadcasting import unbroadcast
from nbtf._ops.elementwise import DivNoNan, conj, multiply, negative
from nbtf._ops.op import Gradients, broadcast, no_gradient, op, ufunc
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, REALS, TensorLike, int32, int64
from nbtf.errors import InvalidArgumentError


def _refuse_zero(xp: Any, y: Any) -> None:
    """Only where the values are at hand: on a GPU the question would wait for them, and TensorFlow does not ask."""
    if xp.__name__ == "numpy" and not y.all():
        raise InvalidArgumentError(None, None, "Integer division by zero")


@op("T T -> T", T=REALS)
def FloorDiv(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.floor(xp.divide(x, y))  # floor_divide corrects the quotient: 9 for 1 // 0.1 instead of 10
    _refuse_zero(xp, y)
    return xp.floor_divide(x, y)


@FloorDiv.express
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides one tensor by another and rounds down, as the operator `//` does.

    Args:
      x: real numbers.
      y: numbers of the same dtype, of a shape that broadcasts with `x`'s.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of their dtype.

    Raises:
      InvalidArgumentError: dtypes differ, shapes do not fit, or an integer is divided by 0.

    >>> tf.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    return FloorDiv(x, y, name=name)


@op("T T -> T", T=REALS)
def FloorMod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        _refuse_zero(xp, y)
    return xp.remainder(x, y)


@FloorMod.express
def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns what division leaves, as the operator `%` does; it has the sign of `y`.

    Args:
      x: real numbers.
      y: numbers of the same dtype, of a shape that broadcasts with `x`'s.
      name: accepted and ignored; eager ops have no names.

    Returns:
      `x - floordiv(x, y) * y`, of their dtype.

    Raises:
      InvalidArgumentError: dtypes differ, shapes do not fit, or an integer is divided by 0.

    >>> tf.math.floormod([7, -7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    return FloorMod(x, y, name=name)


@FloorMod.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return [
        unbroadcast(grad, x) if call.needs(0) else None,
        unbroadcast(negative(multiply(grad, floordiv(x, y))), y) if call.needs(1) else None,
    ]


@op("T T -> T", T=REALS)
def TruncateDiv(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.trunc(xp.divide(x, y))
    _refuse_zero(xp, y)
    quotient = xp.floor_divide(x, y)
    return xp.add(quotient, (quotient < 0) & (quotient * y != x))


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides one tensor by another and cuts off towards 0, as C does.

    Args:
      x: real numbers.
      y: numbers of the same dtype, of a shape that broadcasts with `x`'s.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of their dtype.

    Raises:
      InvalidArgumentError: dtypes differ, shapes do not fit, or an integer is divided by 0.

    >>> tf.truncatediv([7, -7], 2).numpy()
    array([ 3, -3], dtype=int32)
    """
    return TruncateDiv(x, y, name=name)


@op("T T -> T", T=FLOATS | {int32, int64})
def TruncateMod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.fmod(x, y)
    _refuse_zero(xp, y)
    remainder = xp.remainder(x, y)
    return xp.where((remainder != 0) & ((remainder ^ x) < 0), remainder - y, remainder)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns what division that cuts off leaves; it has the sign of `x`.

    Args:
      x: floats, int32 or int64.
      y: numbers of the same dtype, of a shape that broadcasts with `x`'s.
      name: accepted and ignored; eager ops have no names.

    Returns:
      `x - truncatediv(x, y) * y`, of their dtype.

    Raises:
      InvalidArgumentError: dtypes differ, shapes do not fit, or an integer is divided by 0.

    >>> tf.truncatemod([7, -7], 3).numpy()
    array([ 1, -1], dtype=int32)
    """
    return TruncateMod(x, y, name=name)


FloorDiv.infer(broadcast(FloorDiv))
FloorMod.infer(broadcast(FloorMod))
TruncateDiv.infer(broadcast(TruncateDiv))
TruncateMod.infer(broadcast(TruncateMod))
no_gradient(FloorDiv, TruncateDiv, TruncateMod)

Reciprocal = ufunc("Reciprocal", "reciprocal", "T -> T", T=FLOATS | COMPLEXES)


@Reciprocal.express
def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 divided by every element.

    Args:
      x: floats or complex numbers.
      name: accepted and ignored; eager ops have no names.

    Returns:
      `1 / x`, of its dtype; inf for 0.

    Raises:
      InvalidArgumentError: `x` is of another dtype.

    >>> tf.math.reciprocal([2.0, 0.0]).numpy()
    array([0.5, inf], dtype=float32)
    """
    return Reciprocal(x, name=name)


@Reciprocal.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    y = conj(call.output)
    return [negative(multiply(grad, multiply(y, y)))]


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 divided by every element, and 0 for 0.

    Args:
      x: floats or complex numbers.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of `x`'s dtype.

    Raises:
      InvalidArgumentError: `x` is of another dtype.

    >>> tf.math.reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    tensor = as_tensor(x)
    return DivNoNan(as_tensor(1, tensor._dtype), tensor, name=name)
