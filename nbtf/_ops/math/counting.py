"""Counts values: bincount, confusion_matrix."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.coordinates import scatter_nd
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.arrays.joining import stack
from nbtf._ops.arrays.shapes import squeeze
from nbtf._ops.attributes import as_int
from nbtf._ops.debugging.values import assert_less, assert_non_negative
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.segments import IDS, folded
from nbtf._ops.op import no_gradient, op
from nbtf._ops.reductions.means_and_extremes import reduce_max
from nbtf._ops.specs import bracketed, last_open, may_be_equal
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTypeLike, TensorLike, as_dtype, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Returns the number of occurrences of each integer.

    Args:
      arr: numbers of at least 0; floats are truncated to integers.
      weights: the weight of each occurrence, with the shape of `arr`; 1 by default.
      minlength: the minimum length of the result.
      maxlength: the maximum length of the result; larger numbers are ignored.
      dtype: the dtype of the counts; int32 by default.
      axis: None or 0 counts all numbers together; -1 counts each row of a matrix.
      binary_output: whether to return 1 or 0 for presence instead of counts; False by default.

    Returns:
      The counts of all numbers up to the largest one.

    Raises:
      InvalidArgumentError: if a number is negative, or the weights have another shape.
      ValueError: if `axis` has another value.

    >>> tf.math.bincount([1, 1, 3]).numpy()
    array([0, 2, 0, 1], dtype=int32)
    """
    values = as_tensor(arr)
    values = values if values.dtype in IDS else cast(values, int32)
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    counted = reshape(values, [-1]) if axis != -1 or len(values.shape) != 2 else values
    count_dtype = as_dtype(dtype)
    weight_tensor = as_tensor([] if weights is None else weights, count_dtype if weights is None else None)
    if weights is not None and weight_tensor.shape == values.shape:
        weight_tensor = reshape(weight_tensor, counted.shape)
    size = 0 if values.shape.num_elements() == 0 else 1 + int(reduce_max(values).numpy())
    size = size if minlength is None else max(size, as_int(minlength))
    size = size if maxlength is None else min(size, as_int(maxlength))
    return DenseBincount(counted, weight_tensor, size=max(size, 0), binary_output=binary_output, name=name)


@op("Tidx T -> T", Tidx=IDS, T=frozenset({int32, int64, float32, float64}), host={"size": as_int}, partly=last_open)
def DenseBincount(xp: Any, input: Any, weights: Any, size: int, binary_output: bool) -> Any:
    if weights.size and weights.shape != input.shape:
        raise ValueError("the shapes of weights and values differ")
    if (input < 0).any():
        raise InvalidArgumentError("Input arr must be non-negative!")
    rows = input if input.ndim == 2 else input[None]
    bins = rows + size * xp.arange(rows.shape[0])[:, None]
    is_counted = xp.flatnonzero(rows < size)
    each = weights.reshape(-1)[is_counted] if weights.size else xp.ones(is_counted.shape, dtype=weights.dtype)
    if binary_output:
        each = xp.ones(is_counted.shape, dtype=weights.dtype)
    join = xp.maximum if binary_output else xp.add
    counts = folded(xp, join, each, bins.reshape(-1)[is_counted], rows.shape[0] * size, 0)
    return counts.reshape(*input.shape[:-1], size)


@DenseBincount.infer
def _(input: Spec, weights: Spec, size: int, binary_output: bool) -> Spec:
    if not may_be_equal(weights.shape, (0,)) and not may_be_equal(weights.shape, input.shape):
        text = "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights "
        raise InvalidArgumentError(f"{text}equal to 1. Received {bracketed(weights.shape)}")
    return Spec((*input.shape[:-1], size), weights.dtype)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: Any = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns the number of predictions for each pair of true and predicted class.

    Args:
      labels: the true class of each example.
      predictions: the predicted class of each example.
      num_classes: number of classes; by default inferred from the largest class.
      weights: the weight of each example; 1 by default.
      dtype: the dtype of the counts; int32 by default.

    Returns:
      A matrix with one row per true class and one column per predicted class.

    Raises:
      InvalidArgumentError: if a class is negative or too large, or the lengths differ.

    >>> tf.math.confusion_matrix([1, 2, 2], [1, 2, 1]).numpy()
    array([[0, 0, 0],
           [0, 1, 0],
           [0, 1, 1]], dtype=int32)
    """
    truth, guessed = _alike(as_tensor(labels), as_tensor(predictions))
    truth, guessed = cast(truth, int64), cast(guessed, int64)
    assert_non_negative(truth, message="`labels` contains negative values")
    assert_non_negative(guessed, message="`predictions` contains negative values")
    if num_classes is None:
        count = 1 + max(int(reduce_max(truth).numpy()), int(reduce_max(guessed).numpy()))
    else:
        count = as_int(num_classes)
        limit = as_tensor(count, int64)
        assert_less(truth, limit, message="`labels` out of bound")
        assert_less(guessed, limit, message="`predictions` out of bound")
    count_dtype = as_dtype(dtype)
    shares = ones_like(guessed, count_dtype) if weights is None else cast(weights, count_dtype)
    return scatter_nd(stack([truth, guessed], axis=1), shares, as_tensor([count, count], int64))


def _alike(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Removes a last axis of length 1 from the tensor that has one more axis."""
    if len(labels.shape) - len(predictions.shape) == 1 and labels.shape[-1] == 1:
        labels = squeeze(labels, [-1])
    elif len(predictions.shape) - len(labels.shape) == 1 and predictions.shape[-1] == 1:
        predictions = squeeze(predictions, [-1])
    return labels, predictions


no_gradient(DenseBincount)
