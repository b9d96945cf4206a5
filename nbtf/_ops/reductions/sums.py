"""Sums along axes: reduce_sum, and the gradient of broadcasting, which is a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import BroadcastTo, broadcast_to, reshape
from nbtf._ops.attributes import AXES, Axis, as_axes, as_axis, as_reduced, positive_axes
from nbtf._ops.op import Gradients, op
from nbtf._ops.reductions.lines import join
from nbtf._ops.specs import Lengths, reduced
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, TensorLike


def reduced_shape(
    shape: tuple[int | None, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> tuple[int | None, ...]:
    """Returns the shape that remains after a reduction of axes."""
    axes = positive_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def _reduced_spec(input_tensor: Spec, axis: int | tuple[int, ...] | None, keepdims: bool) -> Spec:
    return Spec(reduced_shape(input_tensor.shape, axis, keepdims), input_tensor.dtype)


def _misfit_of_axes(input_tensor: Lengths, axis: Any, keepdims: bool) -> str | None:
    rank = len(input_tensor)
    axes: Sequence[int] = [axis] if isinstance(axis, int) else axis or ()
    outside = [axis for axis in axes if not -rank <= axis < rank]
    return f"Invalid reduction dimension {outside[0]} for input with {rank} dimensions." if outside else None


reduction = partial(
    op,
    host={"axis": as_reduced},
    infer=_reduced_spec,
    partly=reduced,
    inputs=AXES,
    index_type="Tidx",
    misfit=_misfit_of_axes,
)
"""Returns a decorator that makes a reduction op; see `op`."""


@reduction("T -> T", T=NUMBERS)
def Sum(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    return join(xp, xp.add, input_tensor, axis, input_tensor.dtype, keepdims)


@Sum.express
def reduce_sum(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the sum of a tensor over some of its axes.

    Args:
      input_tensor: a numeric tensor, shape `[d0, ..., dn]`, or a ragged tensor. Integers wrap around on overflow.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.
      keepdims: whether to keep the summed axes with length 1; False by default.

    Returns:
      The sum, with `input_tensor`'s dtype.

    >>> tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([4., 6.], dtype=float32)
    """
    of_ragged: Any = getattr(input_tensor, "_sum", None)
    if of_ragged is not None:
        return of_ragged(axis, keepdims)
    return Sum(input_tensor, axis=axis, keepdims=keepdims, name=name)


@Sum.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [spread(grad, call)]


def spread(grad: Tensor, call: Call) -> Tensor:
    """Returns the gradient of a reduction, broadcast to the shape of its input."""
    attrs, shape = call.attrs, call.inputs[0]._array.shape
    axis = attrs["axis"]
    if axis is None or attrs["keepdims"]:
        return broadcast_to(grad, shape)
    return broadcast_to(reshape(grad, reduced_shape(shape, as_axis(axis), True)), shape)


def spread_array(xp: Any, grad: Any, array: Any, attrs: Mapping[str, Any]) -> Any:
    """Returns the same as `spread`, for arrays."""
    axis, result = attrs["axis"], xp.empty(array.shape, grad.dtype)
    if axis is not None and not attrs["keepdims"]:
        grad = grad.reshape(reduced_shape(array.shape, as_axis(axis), True))
    result[...] = grad
    return result


Sum.backward(spread_array)


@BroadcastTo.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [unbroadcast(grad, call.inputs[0])]


def unbroadcast(grad: Tensor, like: Any) -> Tensor:
    """Returns a gradient summed to the shape of an operand that was broadcast."""
    shape: tuple[int, ...] = like._array.shape
    if grad._array.shape == shape:
        return grad
    return reshape(reduce_sum(grad, _broadcast_axes(grad._array.shape, shape)), shape)


def unbroadcast_both(call: Call, towards_x: Callable[[], Tensor], towards_y: Callable[[], Tensor]) -> Gradients:
    """Returns the gradients of two operands that were broadcast, each computed only if it is needed."""
    x, y = call.inputs
    return [
        unbroadcast(towards_x(), x) if call.needs(0) else None,
        unbroadcast(towards_y(), y) if call.needs(1) else None,
    ]


def unbroadcast_array(xp: Any, grad: Any, like: Any) -> Any:
    """Returns the same as `unbroadcast`, for arrays."""
    shape = like.shape
    if grad.shape == shape:
        return grad
    return Sum.kernel(xp, grad, _broadcast_axes(grad.shape, shape), False).reshape(shape)


def _broadcast_axes(shape: tuple[int, ...], original: tuple[int, ...]) -> list[int]:
    """Returns the axes along which broadcasting repeated the original shape."""
    extra = len(shape) - len(original)
    return [*range(extra), *[i + extra for i, n in enumerate(original) if n == 1 and shape[i + extra] != 1]]
