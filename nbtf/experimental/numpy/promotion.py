"""Which dtype comes of several, by NumPy's rules: int32 and float32 make float64, Python's numbers give way."""

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
    """What `experimental_enable_numpy_behavior` said."""

    prefer_float32 = False


def prefer_float32(enabled: bool) -> None:
    """Says whether Python's floats are float32."""
    _Settings.prefer_float32 = enabled


def python_float() -> DType:
    """Returns the dtype of Python's floats; floats made of integers are float64 in any case, as in TensorFlow."""
    return float32 if _Settings.prefer_float32 else float64


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Returns the dtype that comes of several tensors, arrays, dtypes and Python numbers.

    >>> tf.experimental.numpy.result_type(tf.constant([1]), tf.constant([1.5]))
    tf.float64
    >>> tf.experimental.numpy.result_type(tf.constant([1.5]), 1)
    tf.float32
    """
    operands = [_promotion_operand(array_or_dtype) for array_or_dtype in arrays_and_dtypes]
    numpy_operands = [operand.as_numpy_dtype if isinstance(operand, DType) else operand for operand in operands]
    try:
        return as_dtype(np.result_type(*numpy_operands))
    except (TypeError, ValueError) as error:  # NumPy's own classes among them
        raise TypeError(str(error)) from None


def dtype_of(dtype: Any) -> DType:
    """Returns a dtype in any spelling; Python's `int` and `float` are the long ones, as in NumPy."""
    return int64 if dtype is int else float64 if dtype is float else as_dtype(dtype)


def _promotion_operand(value: Any) -> Any:
    """Returns the dtype of a tensor or an array; a Python number stays, and is float32 or complex64 if so wished."""
    if isinstance(value, Tensor | Variable):
        return value.dtype
    if _Settings.prefer_float32 and isinstance(value, float | complex):  # NumPy's float64 is one of them
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
    """Returns the dtype that comes of two.

    >>> tf.experimental.numpy.promote_types("int32", "float32")
    tf.float64
    """
    return result_type(as_dtype(type1), as_dtype(type2))


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of a value: of Python's integers int64, of its floats float64.

    Args:
      a: a number, a nested list, an array, a tensor.
      dtype: of the result.

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
    """Returns a tensor of a value as `asarray` does, with one axis at least.

    >>> tf.experimental.numpy.ascontiguousarray(5).shape
    TensorShape([1])
    """
    values = asarray(a, dtype)
    return values if len(values.shape) else expand_dims(values, 0)


def _of_numbers(a: Any) -> Tensor:
    """Returns numbers of Python or NumPy, with NumPy's dtypes."""
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
    """Returns values as tensors of the one dtype that comes of all of them."""
    dtype = result_type(*values)
    return [_cast(value, dtype) for value in values]


def _cast(value: Any, dtype: DType) -> Tensor:
    if isinstance(value, Tensor) and value.dtype is dtype:
        return value
    return as_tensor(value, dtype) if type(value) in (int, float, complex, bool) else cast(asarray(value), dtype)


def floats(a: Any) -> Tensor:
    """Returns a value as floats: those of integers and bools are float64."""
    tensor = asarray(a)
    tensor_dtype = tensor.dtype
    return tensor if tensor_dtype.is_floating or tensor_dtype.is_complex else cast(tensor, float64)
