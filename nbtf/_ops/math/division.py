"""Division: quotients, integer quotients, remainders and reciprocals."""

from __future__ import annotations

from typing import Any

from nbtf._ops.math.arithmetic import cast, conj, multiply, negative, preferring
from nbtf._ops.op import Gradients, no_gradient, op, ufunc, unregistered
from nbtf._ops.reductions.sums import unbroadcast_array, unbroadcast_both
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, REALS, TensorLike, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError

RealDiv = ufunc("RealDiv", "divide", "T T -> T", T=FLOATS | COMPLEXES, node_name="truediv")


@RealDiv.express
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient of two tensors; integers give fractions.

    Args:
      x: a numeric tensor.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      `x / y`, with the inputs' dtype; float64 for integers, float32 for those of 8 and 16 bits. Division by 0 gives inf
      or nan.

    >>> tf.truediv([1, 2], 4).numpy()
    array([0.25, 0.5 ])
    """
    x = as_tensor(x)
    y = preferring(y, x._dtype)
    return RealDiv(*_divisible(x, y, "__truediv__"), name=name)


def _divisible(x: Tensor, y: Tensor, operation: str) -> tuple[Tensor, Tensor]:
    """Returns two tensors, converted to the dtype of their quotient."""
    if x._dtype is not y._dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x._dtype!r} != {y._dtype!r}.")
    if not x._dtype.is_numeric:
        names = (
            "uint8 int8 uint16 int16 uint32 int32 uint64 int64 bfloat16 float16 float32 float64 complex64 complex128"
        )
        expected = ", ".join(f"tf.{dtype_name}" for dtype_name in names.split())
        raise TypeError(f"Invalid dtype {x._dtype!r} in {operation}. Expected one of {{{expected}}}.")
    if not x._dtype.is_integer:
        return x, y
    dtype = float32 if x._dtype.size <= 2 else float64
    return cast(x, dtype), cast(y, dtype)


@RealDiv.express
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient of two tensors, like the operator `/`.

    Returns:
      `x / y`, with the inputs' dtype; float64 for integers, float32 for those of 8 and 16 bits. Division by 0 gives inf
      or nan.

    >>> tf.divide([1.0, -1.0], 0.0).numpy()
    array([ inf, -inf], dtype=float32)
    """
    if not isinstance(x, Tensor):
        x = as_tensor(x, y._dtype if isinstance(y, Tensor) else None)
    return truediv(x, y, name)


@RealDiv.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    x, y = conj(x), conj(y)
    return unbroadcast_both(
        call, lambda: divide(grad, y, "RealDiv"), lambda: grad * divide(divide(-x, y, "RealDiv"), y, "RealDiv")
    )


def _to_dividend(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.divide(grad, y), x)


def _to_divisor(xp: Any, grad: Any, x: Any, y: Any, attrs: object) -> Any:
    return unbroadcast_array(xp, xp.multiply(grad, xp.divide(xp.divide(xp.negative(x), y), y)), y)


RealDiv.backward(_to_dividend, _to_divisor)


@op("T T -> T", T=FLOATS | COMPLEXES, broadcasts=True)
def DivNoNan(xp: Any, x: Any, y: Any) -> Any:
    return xp.where(y == 0, y.dtype.type(0), xp.divide(x, y))


@DivNoNan.express
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient of two tensors, with 0 for division by 0.

    Args:
      x: a numeric tensor.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      A tensor of the inputs' dtype; float64 for integers, float32 for those of 8 and 16 bits.

    >>> tf.math.divide_no_nan([3.0, 4.0], [0.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    dtype = getattr(y, "_dtype", None)
    if dtype is not None and not hasattr(x, "_dtype"):  # `y` is a tensor, perhaps of a graph, and `x` a Python value
        x = as_tensor(x, dtype)
    x = as_tensor(x)
    y = preferring(y, x._dtype)
    return DivNoNan(*_divisible(x, y, "tf.math.divide_no_nan"), name=name)


@DivNoNan.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    x, y = conj(x), conj(y)
    return unbroadcast_both(
        call,
        lambda: divide_no_nan(grad, y, "div_no_nan"),
        lambda: grad * divide_no_nan(divide_no_nan(-x, y, "div_no_nan"), y, "div_no_nan"),
    )


def _refuse_zero(xp: Any, y: Any) -> None:
    """Raises an error for integer division by 0. Only the CPU checks; a GPU would have to wait for the values."""
    if xp.__name__ == "numpy" and not y.all():
        raise InvalidArgumentError("Integer division by zero")


@op("T T -> T", T=REALS, broadcasts=True)
def FloorDiv(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.floor(xp.divide(x, y))  # `floor_divide` corrects the quotient: 1 // 0.1 is 9 instead of 10
    _refuse_zero(xp, y)
    return xp.floor_divide(x, y)


@FloorDiv.express
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient rounded down, like the operator `//`.

    Raises:
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or an integer is divided by 0.

    >>> tf.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    return FloorDiv(x, y, name=name)


@op("T T -> T", T=REALS, broadcasts=True)
def FloorMod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "f":
        _refuse_zero(xp, y)
    return xp.remainder(x, y)


@FloorMod.express
def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the remainder of division, like the operator `%`; it has the sign of `y`.

    Returns:
      `x - floordiv(x, y) * y`, with the inputs' dtype.

    Raises:
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or an integer is divided by 0.

    >>> tf.math.floormod([7, -7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    return FloorMod(x, y, name=name)


@FloorMod.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    x, y = call.inputs
    return unbroadcast_both(call, lambda: grad, lambda: grad * -floordiv(x, y))


@op("T T -> T", T=REALS, broadcasts=True)
def TruncateDiv(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.trunc(xp.divide(x, y))
    _refuse_zero(xp, y)
    quotient = xp.floor_divide(x, y)
    return xp.add(quotient, (quotient < 0) & (quotient * y != x))


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise quotient truncated towards 0, as in C.

    Raises:
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or an integer is divided by 0.

    >>> tf.truncatediv([7, -7], 2).numpy()
    array([ 3, -3], dtype=int32)
    """
    return TruncateDiv(x, y, name=name)


@op("T T -> T", T=FLOATS | {int32, int64}, broadcasts=True)
def TruncateMod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return xp.fmod(x, y)
    _refuse_zero(xp, y)
    remainder = xp.remainder(x, y)
    return xp.where((remainder != 0) & ((remainder ^ x) < 0), remainder - y, remainder)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the remainder of truncated division; it has the sign of `x`.

    Args:
      x: a tensor of floats, int32 or int64.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      `x - truncatediv(x, y) * y`, with the inputs' dtype.

    Raises:
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or an integer is divided by 0.

    >>> tf.truncatemod([7, -7], 3).numpy()
    array([ 1, -1], dtype=int32)
    """
    return TruncateMod(x, y, name=name)


no_gradient(FloorDiv, TruncateDiv)
unregistered(TruncateMod)

Reciprocal = ufunc("Reciprocal", "reciprocal", "T -> T", T=FLOATS | COMPLEXES)


@Reciprocal.express
def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the reciprocal of each element.

    Returns:
      `1 / x`, with `x`'s dtype; inf for 0.

    >>> tf.math.reciprocal([2.0, 0.0]).numpy()
    array([0.5, inf], dtype=float32)
    """
    return Reciprocal(x, name=name)


@Reciprocal.gradient_keeping("outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    y = conj(call.output)
    return [negative(multiply(grad, multiply(y, y)))]


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the reciprocal of each element, and 0 for 0.

    >>> tf.math.reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    tensor = as_tensor(x)
    return DivNoNan(as_tensor(1, tensor._dtype), tensor, name=name)
