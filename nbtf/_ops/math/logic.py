"""Logical and bitwise operations, and shifts."""

from __future__ import annotations

from typing import Any

from nbtf._ops.op import no_gradient, op, ufunc
from nbtf._runtime.tensor import Tensor
from nbtf._types import INTEGERS, TensorLike

LogicalAnd = ufunc("LogicalAnd", "logical_and", "bool bool -> bool")


@LogicalAnd.express
def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise logical and of two tensors.

    Args:
      x: a bool tensor.
      y: a bool tensor, with a shape that broadcasts with `x`'s.

    >>> tf.logical_and([True, False], True).numpy()
    array([ True, False])
    """
    return LogicalAnd(x, y, name=name)


LogicalOr = ufunc("LogicalOr", "logical_or", "bool bool -> bool")


@LogicalOr.express
def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise logical or of two tensors.

    Args:
      x: a bool tensor.
      y: a bool tensor, with a shape that broadcasts with `x`'s.

    >>> tf.logical_or([True, False], False).numpy()
    array([ True, False])
    """
    return LogicalOr(x, y, name=name)


LogicalNot = ufunc("LogicalNot", "logical_not", "bool -> bool")


@LogicalNot.express
def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the elementwise logical not of a tensor.

    Args:
      x: a bool tensor.

    Raises:
      InvalidArgumentError: if `x` is not bool.

    >>> tf.logical_not([True, False]).numpy()
    array([False,  True])
    """
    return LogicalNot(x, name=name)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Returns the elementwise exclusive or of two tensors.

    TensorFlow has no single op for this; the log shows `LogicalOr`, `LogicalAnd`, `LogicalNot` and `LogicalAnd`.

    Args:
      x: a bool tensor.
      y: a bool tensor, with a shape that broadcasts with `x`'s.

    >>> tf.math.logical_xor([True, False], True).numpy()
    array([False,  True])
    """
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


BitwiseAnd = ufunc("BitwiseAnd", "bitwise_and", "T T -> T", T=INTEGERS)


@BitwiseAnd.express
def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bitwise and of two tensors.

    Args:
      x: an integer tensor.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    >>> tf.bitwise.bitwise_and([6, 5], 3).numpy()
    array([2, 1], dtype=int32)
    """
    return BitwiseAnd(x, y, name=name)


BitwiseOr = ufunc("BitwiseOr", "bitwise_or", "T T -> T", T=INTEGERS)


@BitwiseOr.express
def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bitwise or of two tensors.

    Args:
      x: an integer tensor.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    >>> tf.bitwise.bitwise_or([6, 5], 3).numpy()
    array([7, 7], dtype=int32)
    """
    return BitwiseOr(x, y, name=name)


BitwiseXor = ufunc("BitwiseXor", "bitwise_xor", "T T -> T", T=INTEGERS)


@BitwiseXor.express
def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bitwise exclusive or of two tensors.

    Args:
      x: an integer tensor.
      y: a tensor of the same dtype, with a shape that broadcasts with `x`'s.

    >>> tf.bitwise.bitwise_xor([6, 5], 3).numpy()
    array([5, 6], dtype=int32)
    """
    return BitwiseXor(x, y, name=name)


Invert = ufunc("Invert", "invert", "T -> T", T=INTEGERS)


@Invert.express
def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the bitwise inverse of a tensor.

    Returns:
      A tensor of `x`'s dtype.

    >>> tf.bitwise.invert([0, 6]).numpy()
    array([-1, -7], dtype=int32)
    """
    return Invert(x, name=name)


@op("T T -> T", T=INTEGERS, broadcasts=True)
def LeftShift(xp: Any, x: Any, y: Any) -> Any:
    return xp.left_shift(x, _bits_of(xp, x, y))


@LeftShift.express
def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns integers with their bits shifted to the left.

    Args:
      x: an integer tensor.
      y: number of positions, limited to the range from 0 to the number of bits - 1. The same dtype, with a
        shape that broadcasts with `x`'s.

    >>> tf.bitwise.left_shift([1, 3], 2).numpy()
    array([ 4, 12], dtype=int32)
    """
    return LeftShift(x, y, name=name)


@op("T T -> T", T=INTEGERS, broadcasts=True)
def RightShift(xp: Any, x: Any, y: Any) -> Any:
    return xp.right_shift(x, _bits_of(xp, x, y))


@RightShift.express
def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns integers with their bits shifted to the right, keeping the sign.

    Args:
      x: an integer tensor.
      y: number of positions, limited to the range from 0 to the number of bits - 1. The same dtype, with a
        shape that broadcasts with `x`'s.

    >>> tf.bitwise.right_shift([8, -8], 1).numpy()
    array([ 4, -4], dtype=int32)
    """
    return RightShift(x, y, name=name)


def _bits_of(xp: Any, x: Any, positions: Any) -> Any:
    """Limits shifts to the width of the dtype, beyond which C leaves the result undefined."""
    return xp.minimum(xp.maximum(positions, 0), 8 * x.dtype.itemsize - 1)


no_gradient(LogicalAnd, LogicalOr, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift)
