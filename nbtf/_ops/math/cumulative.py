"""Cumulative sums and products."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_axis
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import like_first
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, TensorLike, int32
from nbtf.errors import InvalidArgumentError


def _scanned(x: Spec, axis: Any, exclusive: bool, reverse: bool) -> Spec:
    if not isinstance(axis, int):
        raise InvalidArgumentError(f"ScanOp: axis must be a scalar, not [{len(axis)}]")
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return x


_scan = op(
    "T -> T",
    T=NUMBERS,
    host={"axis": as_axis},
    asked={"axis": int32},
    infer=_scanned,
    partly=like_first,
    index_type="Tidx",
)


@_scan
def Cumsum(xp: Any, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    return _running(xp, xp.add, x, axis, exclusive, reverse)


@Cumsum.express
def cumsum(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns cumulative sums along an axis.

    Args:
      x: a numeric tensor, shape `[d0, ..., dn]`.
      axis: the axis, counted from the end if negative; 0 by default.
      exclusive: whether to exclude each element from its own sum, so that the first sum is 0; False by default.
      reverse: whether to add from the end; False by default.

    Returns:
      The partial sums, of `x`'s shape and dtype.

    >>> tf.cumsum([1, 2, 3]).numpy()
    array([1, 3, 6], dtype=int32)
    >>> tf.cumsum([1, 2, 3], exclusive=True, reverse=True).numpy()
    array([5, 3, 0], dtype=int32)
    """
    return Cumsum(x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


@Cumsum.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    axis, exclusive, reverse = (call.attrs[name] for name in ("axis", "exclusive", "reverse"))
    return [cumsum(grad, axis, exclusive, not reverse)]


@_scan
def Cumprod(xp: Any, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    return _running(xp, xp.multiply, x, axis, exclusive, reverse)


@Cumprod.express
def cumprod(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns cumulative products along an axis.

    Args:
      x: a numeric tensor, shape `[d0, ..., dn]`.
      axis: the axis, counted from the end if negative; 0 by default.
      exclusive: whether to exclude each element from its own product, so that the first product is 1; False by default.
      reverse: whether to multiply from the end; False by default.

    Returns:
      The partial products, of `x`'s shape and dtype.

    >>> tf.math.cumprod([2.0, 3.0, 4.0]).numpy()
    array([ 2.,  6., 24.], dtype=float32)
    """
    return Cumprod(x, axis=axis, exclusive=exclusive, reverse=reverse, name=name)


@Cumprod.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    # As in TensorFlow, zeros in `x` get a gradient of 0, which is not always correct.
    axis, exclusive, reverse = (call.attrs[name] for name in ("axis", "exclusive", "reverse"))
    products = cumprod(call.inputs[0], axis, exclusive, reverse)
    return [divide_no_nan(cumsum(multiply(products, grad), axis, exclusive, not reverse), call.inputs[0])]


def _running(xp: Any, function: Any, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    if axis.__class__ is not int:
        raise TypeError("expected a single axis")
    lead = (slice(None),) * (axis % x.ndim if x.ndim else 0)
    if reverse:
        x = x[(*lead, slice(None, None, -1))]
    result = function.accumulate(x, axis, x.dtype)
    if exclusive:
        shifted = xp.empty_like(result)
        shifted[(*lead, slice(None, 1))] = 0 if function is xp.add else 1
        shifted[(*lead, slice(1, None))] = result[(*lead, slice(None, -1))]
        result = shifted
    return result[(*lead, slice(None, None, -1))] if reverse else result
