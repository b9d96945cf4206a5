"""Conversion of NumPy arrays: keeps their dtype, or casts without checks if another dtype is requested."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np

from nbtf._bfloat16 import is_scalar_class
from nbtf._types import DType, as_dtype, bool_, string

Array = np.ndarray[Any, Any]

# TensorFlow does not report values that do not fit a dtype.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"nbtf\._runtime\.host_")


def from_numpy(value: Any, dtype: DType | None) -> tuple[Array, DType]:
    """Returns a new array made from a NumPy array or scalar, and its dtype."""
    natural = _dtype_of_array(value)
    target = natural if dtype is None else dtype
    if target is string:
        return bytes_array(np.asarray(value, object)), string
    if value.dtype.kind == "c" and not target.is_complex and target is not bool_:
        value = value.real
    try:
        return np.array(value, target.np_dtype), target
    except (RuntimeWarning, FloatingPointError):  # the user may have turned warnings into errors
        return quietly(value, target.np_dtype), target


def _dtype_of_array(value: Any) -> DType:
    type_letter = value.dtype.kind
    if type_letter in "OSU":
        return string
    if type_letter == "V" and not is_scalar_class(value.dtype.type):
        raise _refused("numpy data type")
    try:
        return as_dtype(value.dtype)
    except TypeError:
        name = {"M": "NPY_DATETIME", "m": "NPY_TIMEDELTA", "f": "NPY_LONGDOUBLE", "c": "NPY_CLONGDOUBLE"}
        raise _refused(f"numpy type: {name.get(type_letter, value.dtype)}") from None


def bytes_array(array: Array) -> Array:
    """Returns an object array of bytes; strings are encoded as UTF-8."""
    result = np.empty(array.shape, object)
    for index, item in np.ndenumerate(array):
        if isinstance(item, str):
            result[index] = item.encode()
        elif isinstance(item, bytes):
            result[index] = bytes(item)
        else:
            raise _refused(f"object type {type(plain(item)).__name__}")
    return result


def _refused(subject: str) -> ValueError:
    return ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported {subject}).")


def quietly(value: Any, np_dtype: Any) -> Array:
    """Returns an array of a value, ignoring any loss."""
    with np.errstate(all="ignore"):
        return np.array(value, np_dtype)


def plain(leaf: Any) -> Any:
    """Returns the Python scalar for a NumPy scalar."""
    return cast("Any", leaf.item()) if isinstance(leaf, np.generic) else leaf
