"""Histograms: how many values are in each of equally wide bins."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_int, not_allowed
from nbtf._ops.debugging.values import Assert
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.comparison import greater
from nbtf._ops.math.division import truediv
from nbtf._ops.math.magnitude import clip_by_value
from nbtf._ops.math.rounding import floor
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import UNKNOWN, Dims
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError


def _as_count_dtype(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype is not int32 and dtype is not int64:
        raise not_allowed("dtype", dtype)
    return dtype


def _counts_partly(values: Any, value_range: Any, nbins: Any, dtype: Any) -> Dims:
    return (None if nbins is UNKNOWN else nbins,)


@op(
    "T T -> dtype",
    T=frozenset({int32, int64, float32, float64}),
    host={"nbins": as_int},
    plain={"dtype": _as_count_dtype},
    cpu_only=frozenset({int32, int64}),
    partly=_counts_partly,
)
def HistogramFixedWidth(xp: Any, values: Any, value_range: Any, nbins: int, dtype: DType) -> Any:
    if value_range.shape != (2,) or nbins <= 0:
        raise ValueError("a histogram needs a range of two numbers, and bins")
    low, high = value_range.tolist()
    if not low < high:
        text = "value_range should satisfy value_range[0] < value_range[1], but got "
        raise InvalidArgumentError(f"{text}'[{low:g}, {high:g}]'")
    offsets = (xp.maximum(values.reshape(-1), low) - value_range[0]).astype(xp.float64)
    bins = xp.minimum(offsets / ((high - low) / nbins), nbins - 1)
    return xp.bincount(bins.astype(xp.int64), minlength=nbins).astype(dtype.np_dtype)


@HistogramFixedWidth.infer
def _(values: Spec, value_range: Spec, nbins: int, dtype: DType) -> Spec:
    if len(value_range.shape) != 1:
        raise InvalidArgumentError("value_range should be a vector.")
    if value_range.shape[0] not in (2, None):
        raise InvalidArgumentError("value_range should be a vector of 2 elements.")
    if nbins <= 0:
        raise InvalidArgumentError(f"nbins should be a positive number, but got '{nbins}'")
    return Spec((nbins,), dtype)


no_gradient(HistogramFixedWidth)


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: Any = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns how many values are in each of equally wide bins.

    Args:
      values: float32, float64, int32 or int64 numbers of any shape.
      value_range: the lower end of the first bin and the upper end of the last, two numbers of the same dtype. Values
        beyond are counted in the first or last bin.
      nbins: the number of bins; 100 by default.
      dtype: the dtype of the counts, `tf.int32` (default) or `tf.int64`.

    Returns:
      The counts, shape `[nbins]`. On GPUs, only floats have a kernel.

    Raises:
      InvalidArgumentError: if `value_range` is not two ascending numbers, or `nbins` is not positive.

    >>> tf.histogram_fixed_width([-1.0, 0.5, 1.5, 2.0, 9.0], [0.0, 4.0], nbins=4).numpy()
    array([2, 1, 1, 1], dtype=int32)
    """
    return HistogramFixedWidth(values, value_range, nbins=nbins, dtype=dtype, name=name)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: Any = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns the number of the bin of each value: see `tf.histogram_fixed_width`.

    Args:
      values: floats of any shape.
      value_range: the lower end of the first bin and the upper end of the last, two numbers of the same dtype.
      nbins: the number of bins; 100 by default.
      dtype: accepted and ignored, as in TensorFlow.
      name: accepted and ignored.

    Returns:
      Numbers from 0 to `nbins - 1`, int32, of the shape of `values`.

    Raises:
      InvalidArgumentError: if `nbins` is not positive, or `value_range` is a tensor of another dtype.

    >>> tf.histogram_fixed_width_bins([-1.0, 0.5, 1.5, 2.0, 9.0], [0.0, 4.0], nbins=4).numpy()
    array([0, 0, 1, 2, 3], dtype=int32)
    """
    numbers, ends, count = as_tensor(values), as_tensor(value_range), as_tensor(nbins, int32)
    Assert(greater(count, 0), [f"nbins {count} must > 0"])
    scaled = truediv(numbers - ends[0], ends[1] - ends[0])
    bins = cast(count, numbers.dtype)
    return cast(clip_by_value(floor(bins * scaled), 0, bins - 1), int32)
