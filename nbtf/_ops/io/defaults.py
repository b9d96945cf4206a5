"""Reads default values, which ops keep as plain data, even inside functions."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.host_values import host_array
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType


def read_default(value: Any, dtype: DType | None = None) -> tuple[Any, DType]:
    """Returns a default value as an array in host memory, and its dtype.

    Args:
      value: a Python value, an array or a tensor.
      dtype: the required dtype; any by default.

    Raises:
      ValueError: if `value` is a tensor whose value is known only when the function runs, or its dtype differs.
    """
    if hasattr(value, "static_value"):
        array = value.static_value()
        if array is None:
            raise ValueError(f"A default value must be known when the function is traced. Received: {value!r}")
        return array, value.dtype
    if isinstance(value, Tensor) or hasattr(value, "assign_add"):
        if dtype is not None and value.dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value.numpy(), value.dtype
    return host_array(value, dtype)
