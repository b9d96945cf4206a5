"""NumPy's functions along axes, for tensors: sums, means, sorting."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.math import cumulative, ordering
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.reductions import extreme_indices, means_and_extremes, statistics, sums, truth
from nbtf._runtime.tensor import Tensor
from nbtf._types import bool_, int64, uint64
from nbtf.experimental.numpy.elementwise import isclose
from nbtf.experimental.numpy.promotion import asarray, floats


def _prepare_summands(a: Any, dtype: Any) -> Tensor:
    """Returns the values to be added; booleans and short integers become int64, as in NumPy."""
    tensor = asarray(a, dtype)
    tensor_dtype = tensor.dtype
    if dtype is not None or not (tensor_dtype.is_integer or tensor_dtype is bool_):
        return tensor
    return cast(tensor, uint64 if tensor_dtype.name.startswith("uint") else int64)


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the sum along axes; int64 for integers.

    >>> tf.experimental.numpy.sum([[1, 2], [3, 4]], axis=1).numpy()
    array([3, 7])
    """
    return sums.reduce_sum(_prepare_summands(a, dtype), axis, keepdims)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the product along axes; int64 for integers."""
    return means_and_extremes.reduce_prod(_prepare_summands(a, dtype), axis, keepdims)


def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the mean along axes as a float.

    >>> tf.experimental.numpy.mean([1, 2]).numpy()
    np.float64(1.5)
    """
    return means_and_extremes.reduce_mean(floats(a) if dtype is None else asarray(a, dtype), axis, keepdims)


def var(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Returns the variance along axes."""
    values = floats(a) if dtype is None else asarray(a, dtype)
    spread = statistics.reduce_variance(values, axis, keepdims)
    if not ddof:
        return spread
    counted = sums.reduce_sum(cast(values == values, values.dtype), axis, keepdims)
    return multiply(spread, counted / (counted - ddof))


def std(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the standard deviation along axes."""
    return statistics.reduce_std(floats(a), axis, keepdims)


def max(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the largest value along axes."""
    values = asarray(a)
    return (truth.reduce_any if values.dtype is bool_ else means_and_extremes.reduce_max)(values, axis, keepdims)


def min(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns the smallest value along axes."""
    values = asarray(a)
    return (truth.reduce_all if values.dtype is bool_ else means_and_extremes.reduce_min)(values, axis, keepdims)


amax, amin = max, min


def any(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns whether any value along axes is not 0."""
    return truth.reduce_any(cast(asarray(a), bool_), axis, keepdims)


def all(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Returns whether all values along axes are not 0."""
    return truth.reduce_all(cast(asarray(a), bool_), axis, keepdims)


def _flat(a: Any, axis: int | None) -> tuple[Tensor, int]:
    tensor = asarray(a)
    return (reshape(tensor, [-1]), 0) if axis is None else (tensor, axis)


def _extreme(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """Returns the values to search for an extreme; a number counts as a vector of length 1."""
    return _flat(a, None if not len(asarray(a).shape) and axis in (0, -1) else axis)


def argmax(a: Any, axis: int | None = None) -> Tensor:
    """Returns the index of the largest value along an axis; among all values by default."""
    return extreme_indices.argmax(*_extreme(a, axis))


def argmin(a: Any, axis: int | None = None) -> Tensor:
    """Returns the index of the smallest value along an axis; among all values by default."""
    return extreme_indices.argmin(*_extreme(a, axis))


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Returns cumulative sums."""
    return cumulative.cumsum(*_flat(_prepare_summands(a, dtype), axis))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Returns cumulative products."""
    return cumulative.cumprod(*_flat(_prepare_summands(a, dtype), axis))


def count_nonzero(a: Any, axis: Any = None) -> Tensor:
    """Returns the number of values that are not 0."""
    return statistics.count_nonzero(asarray(a), axis)


def sort(a: Any, axis: int | None = -1) -> Tensor:
    """Returns the values sorted along an axis; all values as one vector if the axis is None."""
    return ordering.sort(*_flat(a, axis))


def argsort(a: Any, axis: int | None = -1) -> Tensor:
    """Returns the indices that sort the values along an axis."""
    values, number = _flat(a, axis)
    return cast(ordering.argsort(values, number, stable=True), int64) if len(values.shape) else asarray([0])


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08) -> Tensor:
    """Returns whether all values are equal within a tolerance."""
    return all(isclose(a, b, rtol, atol))


def array_equal(a1: Any, a2: Any) -> Tensor:
    """Returns whether two arrays have the same shape and values."""
    from nbtf.experimental.numpy.elementwise import equal

    first, second = asarray(a1), asarray(a2)
    return all(equal(first, second)) if first.shape == second.shape else asarray(False)
