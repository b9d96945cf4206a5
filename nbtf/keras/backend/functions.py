"""Functions of `tf` with the names and arguments of Keras 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtf import math, nn
from nbtf._ops.arrays import broadcasting, creation, joining
from nbtf._ops.linalg import products
from nbtf._ops.math import arithmetic, exponentials
from nbtf._ops.math.magnitude import clip_by_value
from nbtf._ops.random import streams
from nbtf._ops.reductions import extreme_indices, means_and_extremes, sums, truth
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.arguments import check_has
from nbtf.keras.dtypes import floatx
from nbtf.keras.losses import functions as losses


def _numbers(x: Any) -> Any:
    """Returns numbers that have a mean: booleans as floats, other values unchanged."""
    tensor = creation.convert_to_tensor(x)
    return arithmetic.cast(tensor, floatx()) if tensor.dtype.is_bool else tensor


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the sum along axes.

    >>> tf.keras.backend.sum([1.0, 2.0]).numpy()
    np.float32(3.0)
    """
    return sums.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the product along axes."""
    return means_and_extremes.reduce_prod(x, axis, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the mean along axes; booleans count as 0 and 1."""
    return means_and_extremes.reduce_mean(_numbers(x), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the standard deviation along axes.

    >>> tf.keras.backend.std([1.0, 3.0]).numpy()
    np.float32(1.0)
    """
    return math.reduce_std(_numbers(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the variance along axes."""
    return math.reduce_variance(_numbers(x), axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the largest value along axes."""
    return means_and_extremes.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the smallest value along axes."""
    return means_and_extremes.reduce_min(x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns whether any value along axes is true."""
    return truth.reduce_any(arithmetic.cast(x, "bool"), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns whether all values along axes are true."""
    return truth.reduce_all(arithmetic.cast(x, "bool"), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    """Returns the index of the largest value along an axis."""
    return extreme_indices.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """Returns the index of the smallest value along an axis."""
    return extreme_indices.argmin(x, axis)


def sqrt(x: Any) -> Any:
    """Returns the square root; 0 for negative numbers."""
    return exponentials.sqrt(clip_by_value(x, 0.0, float("inf")))


def cast(x: Any, dtype: Any) -> Any:
    """Returns the values in another dtype."""
    return arithmetic.cast(x, dtype)


def cast_to_floatx(x: Any) -> Any:
    """Returns a tensor or an array with the dtype `floatx()`."""
    return arithmetic.cast(x, floatx()) if hasattr(x, "device") else np.asarray(x, dtype=floatx())


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Returns a tensor of `floatx()` or another dtype."""
    return creation.constant(value, dtype or floatx(), shape, name)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a variable of zeros."""
    return Variable(creation.zeros(shape, dtype or floatx()), name=name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Returns a variable of ones."""
    return Variable(creation.ones(shape, dtype or floatx()), name=name)


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """Returns a variable of `floatx()` or another dtype."""
    return Variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


def get_value(x: Any) -> Any:
    """Returns the value as a NumPy array."""
    return x.numpy() if hasattr(x, "numpy") else x


def set_value(x: Any, value: Any) -> None:
    """Sets the value of a variable."""
    check_has(x, "assign", "x", "a variable").assign(value)


def eval(x: Any) -> Any:
    """Returns the value as a NumPy array."""
    return get_value(creation.convert_to_tensor(x))


def int_shape(x: Any) -> tuple[int | None, ...]:
    """Returns the shape as a tuple."""
    shape: Any = check_has(x, "shape", "x", "a tensor").shape
    return tuple(shape)


def ndim(x: Any) -> int:
    """Returns the number of axes."""
    return len(check_has(x, "shape", "x", "a tensor").shape)


def dtype(x: Any) -> str:
    """Returns the name of the dtype."""
    tensor_dtype: Any = check_has(x, "dtype", "x", "a tensor").dtype
    return getattr(tensor_dtype, "name", tensor_dtype)


def flatten(x: Any) -> Any:
    """Returns all values along a single axis."""
    return broadcasting.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """Returns the values of each example along a single axis."""
    return broadcasting.reshape(x, [-1, -1])


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """Returns tensors joined along an axis."""
    return joining.concat(tensors, axis)


def dot(x: Any, y: Any) -> Any:
    """Returns the product of matrices."""
    return products.matmul(x, y)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """Returns the values divided by their length along an axis."""
    return nn.l2_normalize(x, axis)


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """Returns `tf.keras.activations.relu` with the negative slope `alpha`."""
    from nbtf.keras.activations import relu as relu_of_keras

    return relu_of_keras(x, negative_slope=alpha, max_value=max_value, threshold=threshold)


def softmax(x: Any, axis: int = -1) -> Any:
    """Returns positive numbers that sum to 1 along an axis."""
    return nn.softmax(x, axis)


def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Returns normally distributed numbers."""
    return streams.normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Returns uniformly distributed numbers between two limits."""
    return streams.uniform(shape, minval, maxval, dtype or floatx(), seed)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Returns the cross entropy of each value."""
    output = output if hasattr(output, "shape") else creation.convert_to_tensor(output)
    shape = (*output.shape, 1)  # the loss computes the mean over the last axis
    columns = (broadcasting.reshape(arithmetic.cast(values, output.dtype), shape) for values in (target, output))
    return losses.binary_crossentropy(*columns, from_logits=from_logits)


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Returns the cross entropy of each example."""
    return losses.categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Returns the cross entropy of each example; `target` contains class numbers."""
    output = output if hasattr(output, "shape") else creation.convert_to_tensor(output)
    if not len(output.shape):
        raise ValueError("`output` must have at least one axis.")
    return losses.sparse_categorical_crossentropy(target, output, from_logits=from_logits, axis=axis)
