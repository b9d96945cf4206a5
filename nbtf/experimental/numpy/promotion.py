"""Promotes dtypes by NumPy's rules: int32 and float32 give float64, and Python numbers adapt to the other operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, as_dtype, float32, float64, int64


class _Settings:
    """The settings of `experimental_enable_numpy_behavior`."""

    prefer_float32 = False


def prefer_float32(enabled: bool) -> None:
    """Sets whether Python floats are float32."""
    _Settings.prefer_float32 = enabled


def python_float() -> DType:
    """Returns the dtype of Python floats; floats converted from integers are always float64, as in TensorFlow."""
    return float32 if _Settings.prefer_float32 else float64


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Returns the common dtype of tensors, arrays, dtypes and Python numbers.

    >>> tf.experimental.numpy.result_type(tf.constant([1]), tf.constant([1.5]))
    tf.float64
    >>> tf.experimental.numpy.result_type(tf.constant([1.5]), 1)
    tf.float32
    """
    operands = [_promotion_operand(array_or_dtype) for array_or_dtype in arrays_and_dtypes]
    numpy_operands = [operand.as_numpy_dtype if isinstance(operand, DType) else operand for operand in operands]
    try:
        return as_dtype(np.result_type(*numpy_operands))
    except (TypeError, ValueError) as error:  # includes NumPy's own error classes
        raise TypeError(str(error)) from None


def dtype_of(dtype: Any) -> DType:
    """Returns a dtype given in any form; Python's `int` and `float` are 64 bits wide, as in NumPy."""
    return int64 if dtype is int else float64 if dtype is float else as_dtype(dtype)


def _promotion_operand(value: Any) -> Any:
    """Returns the dtype of a tensor or an array, and a Python number itself, as float32 or complex64 if preferred."""
    if isinstance(value, Tensor | Variable):
        return value.dtype
    if _Settings.prefer_float32 and isinstance(value, float | complex):  # NumPy's float64 is a subclass of float
        return np.float32(value) if isinstance(value, float) else np.complex64(value)
    if type(value) in (bool, int, float, complex):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array: Any = value  # pyright: ignore[reportUnknownVariableType]
        return array.dtype
    if isinstance(value, list | tuple):
        return asarray(value).dtype
    return as_dtype(value)


def promote_types(type1: Any, type2: Any) -> DType:
    """Returns the common dtype of two dtypes.

    >>> tf.experimental.numpy.promote_types("int32", "float32")
    tf.float64
    """
    return result_type(as_dtype(type1), as_dtype(type2))


def finfo(dtype: Any) -> Any:
    """Returns NumPy's limits of a floating-point dtype, such as `eps`, the distance from 1 to the next number.

    Args:
      dtype: a dtype of nbtf or NumPy, or an array.

    Raises:
      ValueError: if the dtype is not floating-point.

    >>> tf.experimental.numpy.finfo(tf.float32).bits
    32
    """
    return np.finfo(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """Returns a value as a tensor; Python integers become int64, Python floats float64.

    Args:
      a: a number, a nested list, an array or a tensor.
      dtype: dtype of the result; by default that of the value.

    >>> tf.experimental.numpy.asarray([1, 2]).dtype
    tf.int64
    """
    if isinstance(a, Tensor):
        return a if dtype is None or a.dtype is dtype_of(dtype) else cast(a, dtype_of(dtype))
    if isinstance(a, Variable):
        return asarray(a.value(), dtype)
    tensor = as_tensor(a) if _holds_tensors(a) else _of_numbers(a)
    return tensor if dtype is None else cast(tensor, dtype_of(dtype))


def ascontiguousarray(a: Any, dtype: Any = None) -> Tensor:
    """Returns a value as a tensor like `asarray`, but with at least one axis.

    >>> tf.experimental.numpy.ascontiguousarray(5).shape
    TensorShape([1])
    """
    values = asarray(a, dtype)
    return values if len(values.shape) else expand_dims(values, 0)


def _of_numbers(a: Any) -> Tensor:
    """Returns Python or NumPy numbers as a tensor with NumPy's dtypes."""
    array = np.asarray(a)
    strong = isinstance(a, np.ndarray | np.generic) and not isinstance(a, float)
    if strong or array.dtype.kind in "USO":
        return as_tensor(array)
    if array.dtype.kind == "f":
        return as_tensor(array.astype(python_float().as_numpy_dtype))
    if array.dtype.kind == "c" and _Settings.prefer_float32:
        return as_tensor(array.astype(np.complex64))
    return as_tensor(array.astype(int64.as_numpy_dtype) if array.dtype.kind == "i" else array)


def _holds_tensors(a: Any) -> bool:
    if isinstance(a, list | tuple):
        items: Any = a  # pyright: ignore[reportUnknownVariableType]
        return any(_holds_tensors(element) for element in items)
    return isinstance(a, Tensor | Variable)


def alike(*values: Any) -> list[Any]:
    """Returns values as tensors of their common dtype."""
    dtype = result_type(*values)
    return [_cast(value, dtype) for value in values]


def _cast(value: Any, dtype: DType) -> Tensor:
    if isinstance(value, Tensor) and value.dtype is dtype:
        return value
    return as_tensor(value, dtype) if type(value) in (int, float, complex, bool) else cast(asarray(value), dtype)


def floats(a: Any) -> Tensor:
    """Returns a value as floats; integers and booleans become float64."""
    tensor = asarray(a)
    tensor_dtype = tensor.dtype
    return tensor if tensor_dtype.is_floating or tensor_dtype.is_complex else cast(tensor, float64)
