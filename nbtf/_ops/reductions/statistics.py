"""Statistics: variance, standard deviation, logsumexp, counts and moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.identity import stop_gradient
from nbtf._ops.arrays.shapes import squeeze
from nbtf._ops.attributes import Axis, as_axis
from nbtf._ops.math.arithmetic import add, add_n, cast, conj, multiply, subtract
from nbtf._ops.math.comparison import not_equal, where
from nbtf._ops.math.complex_numbers import real
from nbtf._ops.math.exponentials import exp, log, sqrt
from nbtf._ops.math.magnitude import square, squared_difference
from nbtf._ops.math.rounding import is_finite
from nbtf._ops.reductions.means_and_extremes import reduce_max, reduce_mean
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DTypeLike, TensorLike, as_dtype, bool_, float16, float32, int64


def reduce_variance(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns variances along axes, the mean squared distance from the mean.

    Args:
      input_tensor: a tensor of floats or complex numbers, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The variances, as real numbers.

    >>> tf.math.reduce_variance([1.0, 4.0]).numpy()
    np.float32(2.25)
    """
    tensor = as_tensor(input_tensor)
    means = reduce_mean(tensor, axis, True)
    if means.dtype.is_integer:
        raise TypeError(f"Input must be either real or complex. Received integer type {means.dtype!s}.")
    apart = subtract(tensor, means)
    squares = real(multiply(conj(apart), apart)) if apart.dtype.is_complex else square(apart)
    return reduce_mean(squares, axis, keepdims, name)


def reduce_std(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Returns standard deviations along axes, the square roots of the variances.

    Args:
      input_tensor: a tensor of floats or complex numbers, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      The standard deviations, as real numbers.

    >>> tf.math.reduce_std([1.0, 4.0]).numpy()
    np.float32(1.5)
    """
    return sqrt(reduce_variance(input_tensor, axis, keepdims), name)


def reduce_logsumexp(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns `log(sum(exp(x)))` along axes, computed without overflow.

    Args:
      input_tensor: floats, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.

    Returns:
      A tensor of `input_tensor`'s dtype.

    >>> tf.reduce_logsumexp([1000.0, 1000.0]).numpy()
    np.float32(1000.6932)
    """
    tensor = as_tensor(input_tensor)
    largest = reduce_max(tensor, axis, True)
    largest = stop_gradient(where(is_finite(largest), largest, as_tensor(0, tensor.dtype)))
    result = log(reduce_sum(exp(subtract(tensor, largest)), axis, keepdims))
    if not keepdims:
        largest = reshape(largest, result.shape)
    return add(result, largest, name)


def count_nonzero(
    input: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Returns the number of elements along axes that are not 0, False or empty.

    Args:
      input: a tensor of any dtype, shape `[d0, ..., dn]`.
      axis: an axis or a list of axes, counted from the end if negative; all axes by default.
      dtype: the dtype of the counts; int64 by default.

    Returns:
      The counts.

    >>> tf.math.count_nonzero([[0, 1], [2, 3]], axis=1).numpy()
    array([1, 2])
    """
    tensor = as_tensor(input)
    is_nonzero = tensor if tensor.dtype is bool_ else not_equal(tensor, zeros([], tensor.dtype))
    counts = reduce_sum(cast(is_nonzero, int64), axis, bool(keepdims), name)
    return cast(counts, as_dtype(dtype))


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns the fraction of elements that are 0.

    Args:
      value: a numeric tensor.

    Returns:
      A float32 scalar; nan for an empty tensor.

    >>> tf.math.zero_fraction([0.0, 1.0, 0.0, 3.0]).numpy()
    np.float32(0.5)
    """
    tensor = as_tensor(value)
    zero = cast(not_equal(tensor, zeros([], tensor.dtype)), float32)
    return subtract(as_tensor(1.0), reduce_mean(zero), name)


def moments(
    x: TensorLike, axes: Axis, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns means and variances along axes.

    Args:
      x: floats, shape `[d0, ..., dn]`; float16 is computed in float32.
      axes: an axis or a list of axes.
      shift: accepted and ignored.

    Returns:
      The means and the variances.

    >>> mean, variance = tf.nn.moments([1.0, 4.0], axes=[0])
    >>> mean.numpy(), variance.numpy()
    (np.float32(2.5), np.float32(2.25))
    """
    tensor = as_tensor(x)
    wide = cast(tensor, float32) if tensor.dtype is float16 else tensor
    mean = reduce_mean(wide, axes, True)
    variance = reduce_mean(squared_difference(wide, stop_gradient(mean)), axes, True)
    if not keepdims:
        gone = as_axis(axes)
        mean, variance = squeeze(mean, gone), squeeze(variance, gone)
    return cast(mean, tensor.dtype), cast(variance, tensor.dtype)


def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the sum of a list of tensors; an older name of `tf.add_n`.

    Args:
      inputs: a list of tensors.
      shape: the required shape; not checked by default.
      tensor_dtype: the required dtype; not checked by default.

    Returns:
      Their sum.

    Raises:
      ValueError: if `inputs` is empty, or shapes or dtypes differ.

    >>> tf.math.accumulate_n([[1, 2], [3, 4]]).numpy()
    array([4, 6], dtype=int32)
    """
    tensors = [as_tensor(summand) for summand in inputs]
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) != 1 or (tensor_dtype is not None and as_dtype(tensor_dtype) not in kinds):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    common = TensorShape(shape)
    for tensor in tensors:
        common = common.merge_with(tensor.shape)
    return add_n(tensors, name=name)
