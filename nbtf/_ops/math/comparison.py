"""Comparisons, and the selection of values by a condition."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.express import constant_like
from nbtf._ops.op import Gradients, no_gradient, op, ufunc
from nbtf._ops.reductions.sums import unbroadcast
from nbtf._ops.specs import bracketed, broadcast_shapes, of_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, NUMBERS, REALS, TensorLike, bool_, int64, string
from nbtf.errors import InvalidArgumentError

TEXT = frozenset({string})


@op("T T -> bool", T=ALL, plain={"incompatible_shape_error": bool}, cpu_only=TEXT)
def Equal(xp: Any, x: Any, y: Any, incompatible_shape_error: bool) -> Any:
    try:
        return xp.equal(x, y)
    except ValueError:
        if incompatible_shape_error:
            raise
        return xp.asarray(False)


@Equal.express
def equals(x: Any, y: Any, incompatible_shape_error: bool = False, name: str | None = None) -> Any:
    """Compares like `==`: None equals no tensor, and incompatible shapes give a single False instead of an error."""
    if y is None and not incompatible_shape_error:
        return False
    return Equal(x, y, incompatible_shape_error=incompatible_shape_error, name=name)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether two tensors are equal, elementwise.

    Args:
      x: a tensor of any dtype.
      y: the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      A bool tensor; False for nan.

    Raises:
      InvalidArgumentError: if the dtypes differ or the shapes do not fit; for such shapes, the operator `==` returns
        False.

    >>> tf.equal([1, 2], [1, 3]).numpy()
    array([ True, False])
    """
    return equals(x, y, True, name)


@op("T T -> bool", T=ALL, plain={"incompatible_shape_error": bool}, cpu_only=TEXT)
def NotEqual(xp: Any, x: Any, y: Any, incompatible_shape_error: bool) -> Any:
    try:
        return xp.not_equal(x, y)
    except ValueError:
        if incompatible_shape_error:
            raise
        return xp.asarray(True)


@NotEqual.express
def differs(x: Any, y: Any, incompatible_shape_error: bool = False, name: str | None = None) -> Any:
    """Compares like `!=`: None differs from every tensor, and incompatible shapes give a single True."""
    if y is None and not incompatible_shape_error:
        return True
    return NotEqual(x, y, incompatible_shape_error=incompatible_shape_error, name=name)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether two tensors differ, elementwise.

    Args:
      x: a tensor of any dtype.
      y: the same dtype, with a shape that broadcasts with `x`'s.

    Returns:
      A bool tensor; True for nan.

    Raises:
      InvalidArgumentError: if the dtypes differ or the shapes do not fit; for such shapes, the operator `!=` returns
        True.

    >>> tf.not_equal([1, 2], [1, 3]).numpy()
    array([False,  True])
    """
    return differs(x, y, True, name)


@Equal.infer
@NotEqual.infer
def _(x: Spec, y: Spec, incompatible_shape_error: bool) -> Spec | None:
    if not incompatible_shape_error and None in (*x.shape, *y.shape):
        return None  # incompatible lengths give a scalar
    try:
        return Spec(broadcast_shapes(x.shape, y.shape), bool_)
    except InvalidArgumentError:
        if incompatible_shape_error:
            raise
        return Spec((), bool_)


Less = ufunc("Less", "less", "T T -> bool", T=REALS)


@Less.express
def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether `x` is less than `y`, elementwise; False if one of them is nan.

    >>> tf.less([1, 2, 3], 2).numpy()
    array([ True, False, False])
    """
    return Less(x, y, name=name)


LessEqual = ufunc("LessEqual", "less_equal", "T T -> bool", T=REALS)


@LessEqual.express
def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether `x` is at most `y`, elementwise; False if one of them is nan.

    >>> tf.less_equal([1, 2, 3], 2).numpy()
    array([ True,  True, False])
    """
    return LessEqual(x, y, name=name)


Greater = ufunc("Greater", "greater", "T T -> bool", T=REALS)


@Greater.express
def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether `x` is greater than `y`, elementwise; False if one of them is nan.

    >>> tf.greater([1, 2, 3], 2).numpy()
    array([False, False,  True])
    """
    return Greater(x, y, name=name)


GreaterEqual = ufunc("GreaterEqual", "greater_equal", "T T -> bool", T=REALS)


@GreaterEqual.express
def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether `x` is at least `y`, elementwise; False if one of them is nan.

    >>> tf.greater_equal([1, 2, 3], 2).numpy()
    array([False,  True,  True])
    """
    return GreaterEqual(x, y, name=name)


no_gradient(Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual)


@op("T -> int64", T=NUMBERS | {bool_}, data_dependent=True, partly=of_rank(2))
def Where(xp: Any, condition: Any) -> Any:
    if not condition.ndim:
        raise ValueError("WhereOp : Unhandled input dimensions: 0")
    return xp.argwhere(condition).astype(int64.np_dtype)


@Where.infer
def _(condition: Spec) -> Spec:
    return Spec((None, len(condition.shape)), int64)


no_gradient(Where)


@op("bool T T -> T", T=ALL, cpu_only=TEXT)
def SelectV2(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    return xp.where(condition, x, y)


@SelectV2.express
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns elements of one of two tensors, chosen by a condition, or the positions where the condition is true.

    Args:
      condition: a bool tensor; without `x` and `y`, also numbers, which are true unless they are 0.
      x: the values where `condition` is true.
      y: the values elsewhere, of `x`'s dtype. The three shapes are broadcast against each other.

    Returns:
      A tensor of `x`'s dtype. Without `x` and `y`, the int64 positions where the condition is true, of shape
      `[count, rank]`; the count depends on the values.

    Raises:
      ValueError: if only one of `x` and `y` is given.
      InvalidArgumentError: if the dtypes differ, the shapes do not fit, or `condition` is a scalar without `x` and `y`.

    >>> tf.where([True, False], [1, 2], 0).numpy()
    array([1, 0], dtype=int32)
    >>> tf.where([[True, False], [False, True]]).numpy()
    array([[0, 0],
           [1, 1]])
    """
    if x is None and y is None:
        return Where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return SelectV2(condition, x, y, name=name)


@SelectV2.infer
def _(condition: Spec, x: Spec, y: Spec) -> Spec:
    try:
        return Spec(broadcast_shapes(broadcast_shapes(condition.shape, x.shape), y.shape), x.dtype)
    except InvalidArgumentError:
        shapes = [bracketed(spec.shape) for spec in (condition, x, y)]
        raise InvalidArgumentError("condition {}, then {}, and else {} must be broadcastable".format(*shapes)) from None


@SelectV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    condition, x, y = call.inputs
    return [
        None,
        unbroadcast(chosen(condition, grad, True), x) if call.needs(1) else None,
        unbroadcast(chosen(condition, grad, False), y) if call.needs(2) else None,
    ]


def chosen(condition: Tensor, grad: Tensor, holds: bool) -> Tensor:
    """Returns a gradient where a condition equals `holds`, and 0 elsewhere."""
    zero: Any = constant_like(grad, 0)
    if zero.__class__ is int:
        zero = as_tensor(0, grad._dtype)
    return where(condition, grad, zero) if holds else where(condition, zero, grad)
