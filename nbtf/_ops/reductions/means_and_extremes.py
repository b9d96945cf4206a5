"""Reductions along axes: means, extremes, products and Euclidean norms.

`reduce_sum` is in `sums.py`, since gradients need it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.attributes import Axis, as_axes, as_axis, positive_axes
from nbtf._ops.math.arithmetic import cast, conj, multiply
from nbtf._ops.math.comparison import equal
from nbtf._ops.math.cumulative import cumprod
from nbtf._ops.math.division import divide
from nbtf._ops.op import Gradients
from nbtf._ops.reductions.lines import join
from nbtf._ops.reductions.sums import reduce_sum, reduced_shape, reduction, spread, spread_array
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import NUMBERS, REALS, TensorLike, as_dtype


@reduction("T -> T", T=NUMBERS)
def Mean(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    dtype = input_tensor.dtype
    if dtype.kind in "iu":
        return _mean_of_integers(xp, input_tensor, axis, keepdims)
    if dtype.itemsize == 2:  # float16 sums overflow early
        return Mean.kernel(xp, input_tensor.astype(xp.float32), axis, keepdims).astype(dtype)
    total = join(xp, xp.add, input_tensor, axis, dtype, keepdims)
    return total / (input_tensor.size // total.size) if total.size else total


def _mean_of_integers(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    """Returns means rounded towards zero, as in C; 0 for an empty tensor."""
    wide = xp.int64 if input_tensor.dtype.kind == "i" else xp.uint64
    total = join(xp, xp.add, input_tensor, axis, wide, keepdims)
    if not input_tensor.size:
        return total.astype(input_tensor.dtype)
    count = input_tensor.size // total.size
    below = (total < 0) & (total % count != 0)  # `//` rounds these down; CuPy has no `fmod` of integers
    return (total // count + below).astype(input_tensor.dtype)


@Mean.express
def reduce_mean(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the mean of a tensor over some of its axes.

    Args:
      input_tensor: a numeric tensor, shape `[d0, ..., dn]`. Integers are divided as integers, rounding towards zero.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.
      keepdims: whether to keep the averaged axes with length 1; False by default.

    Returns:
      The mean, with `input_tensor`'s dtype; nan for an empty tensor.

    >>> tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([2., 3.], dtype=float32)
    >>> tf.reduce_mean([1, 2]).numpy()
    np.int32(1)
    """
    return Mean(input_tensor, axis=axis, keepdims=keepdims, name=name)


@Mean.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [divide(spread(grad, call), _count(call.inputs[0].shape, call.attrs["axis"]))]


def _count(shape: Sequence[int], axis: Any) -> int:
    """Returns the number of elements of a mean; 1 if there are none."""
    axes = positive_axes(as_axis(axis), len(shape))
    return max(math.prod(shape[i] for i in axes), 1)


@Mean.backward
def _(xp: Any, grad: Any, array: Any, attrs: Mapping[str, Any]) -> Any:
    if grad.dtype.itemsize < 4:
        raise ValueError("float16 cannot represent large counts")
    count, axis = array.size, attrs["axis"]
    if axis is not None or not count:
        count = _count(array.shape, axis)
    return xp.divide(spread_array(xp, grad, array, attrs), grad.dtype.type(count))


@reduction("T -> T", T=REALS)
def Max(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    if not input_tensor.size:
        return _of_nothing(xp, input_tensor, axis, keepdims, as_dtype(input_tensor.dtype).min)
    if xp is not CPU.xp:  # CuPy's ufunc has no `reduce`
        return input_tensor.max(axis, None, keepdims)
    return join(xp, xp.maximum, input_tensor, axis, None, keepdims)


def _of_nothing(xp: Any, input_tensor: Any, axis: Any, keepdims: bool, bound: Any) -> Any:
    """Returns TensorFlow's start value, the dtype's worst value, for reductions without elements."""
    shape = xp.add.reduce(input_tensor, axis, None, None, keepdims).shape
    if input_tensor.dtype.kind == "f":
        bound = math.copysign(math.inf, bound)
    return xp.full(shape, bound, input_tensor.dtype)


@Max.express
def reduce_max(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the largest elements along some axes.

    Args:
      input_tensor: a tensor of real numbers, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The largest elements; the dtype's smallest value if there are none.

    >>> tf.reduce_max([[1, 4], [3, 2]], axis=1).numpy()
    array([4, 3], dtype=int32)
    """
    return Max(input_tensor, axis=axis, keepdims=keepdims, name=name)


@reduction("T -> T", T=REALS)
def Min(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    if not input_tensor.size:
        return _of_nothing(xp, input_tensor, axis, keepdims, as_dtype(input_tensor.dtype).max)
    if xp is not CPU.xp:
        return input_tensor.min(axis, None, keepdims)
    return join(xp, xp.minimum, input_tensor, axis, None, keepdims)


@Min.express
def reduce_min(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the smallest elements along some axes.

    Args:
      input_tensor: a tensor of real numbers, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The smallest elements; the dtype's largest value if there are none.

    >>> tf.reduce_min([[1, 4], [3, 2]], axis=1).numpy()
    array([1, 2], dtype=int32)
    """
    return Min(input_tensor, axis=axis, keepdims=keepdims, name=name)


def _to_the_extremes(call: Call, grad: Tensor) -> Gradients:
    """Distributes the gradient among all elements that equal the extreme."""
    x, axis = call.inputs[0], call.attrs["axis"]
    shape = reduced_shape(tuple(x.shape), as_axis(axis), True)
    chosen = cast(equal(x, reshape(call.output, shape)), grad.dtype)
    return [chosen / reduce_sum(chosen, axis, True) * reshape(grad, shape)]


Max.gradient_keeping("inputs", "outputs")(_to_the_extremes)
Min.gradient_keeping("inputs", "outputs")(_to_the_extremes)


@reduction("T -> T", T=NUMBERS, static=True)
def Prod(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    return join(xp, xp.multiply, input_tensor, axis, input_tensor.dtype, keepdims)


@Prod.express
def reduce_prod(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns the product of the elements along some axes.

    Args:
      input_tensor: a numeric tensor, shape `[d0, ..., dn]`. Integers wrap around on overflow.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The products, with `input_tensor`'s dtype; 1 for an empty tensor.

    >>> tf.reduce_prod([[1.0, 2.0], [3.0, 4.0]]).numpy()
    np.float32(24.0)
    """
    return Prod(input_tensor, axis=axis, keepdims=keepdims, name=name)


@Prod.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    # The product of all other elements, axis by axis; dividing by the element would fail at 0.
    x = call.inputs[0]
    grad = reshape(grad, reduced_shape(tuple(x.shape), as_axis(call.attrs["axis"]), True))
    stages = [x]
    axes = positive_axes(as_axis(call.attrs["axis"]), len(x.shape))
    for axis in axes[:-1]:
        stages.append(reduce_prod(stages[-1], axis, True))
    for axis, stage in zip(reversed(axes), reversed(stages), strict=True):
        product_of_others = multiply(cumprod(stage, axis, True), cumprod(stage, axis, True, True))
        grad = multiply(grad, conj(product_of_others))
    return [grad]


@reduction("T -> T", T=NUMBERS)
def EuclideanNorm(xp: Any, input_tensor: Any, axis: Any, keepdims: bool) -> Any:
    if axis is not None:
        axis = as_axes(axis)
    dtype = input_tensor.dtype
    wide = abs(input_tensor) if dtype.kind == "c" else input_tensor
    wide = wide.astype(xp.float64 if dtype.kind in "iu" else xp.promote_types(wide.dtype, xp.float32), copy=False)
    return xp.sqrt(join(xp, xp.add, wide * wide, axis, wide.dtype, keepdims)).astype(dtype)


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the Euclidean norm along some axes, the square root of the sum of squares.

    Args:
      input_tensor: a numeric tensor, shape `[d0, ..., dn]`. For integers, the norm is truncated.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The norms, with `input_tensor`'s dtype.

    >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    return EuclideanNorm(input_tensor, axis=axis, keepdims=keepdims, name=name)


@EuclideanNorm.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    x = call.inputs[0]
    shape = reduced_shape(tuple(x.shape), as_axis(call.attrs["axis"]), True)
    return [multiply(x, divide(reshape(grad, shape), reshape(call.output, shape)))]
