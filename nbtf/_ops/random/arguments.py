"""Converts and checks the arguments of random ops: shapes and integer bounds."""

from __future__ import annotations

import math
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_shape, of_integers
from nbtf._runtime.conversion import host_array
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError


def as_bound(value: Any, dtype: DType) -> Any:
    """Returns an integer bound, which must be in host memory.

    Raises:
      TypeError: if `value` is a Python value but not an integer.
    """
    if not isinstance(value, Tensor):
        array = host_array(value, dtype)[0]
        return array if array.ndim else array.item()
    return value


def as_bound_int(value: Any) -> Any:
    """Returns a bound; if it is not a scalar, the kernel raises the error."""
    return value if getattr(value, "shape", ()) else value.__index__()


def as_vector(value: Any) -> Any:
    """Returns a shape; for a single number, the kernel raises the error, as in TensorFlow."""
    return value if isinstance(value, int) else _as_lengths(value)


_as_lengths = of_integers("T", as_shape)


def drawn_spec(shape: Any, dtype: DType) -> Spec:
    """Returns the spec of a random op's result.

    Raises:
      InvalidArgumentError: if the shape is not a vector, or a length is negative.
    """
    if isinstance(shape, int):
        raise InvalidArgumentError("shape must be a vector of {int32,int64}, got shape []")
    negative = next((n for n in shape if n < 0), None)
    if negative is not None:
        raise InvalidArgumentError(f"Dimension {negative} must be >= 0")
    return Spec(shape, dtype)


def check_bounds(shape: Any, minval: Any, maxval: Any) -> None:
    """Raises TensorFlow's errors for invalid integer bounds."""
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if getattr(bound, "shape", ()):
            raise InvalidArgumentError(f"{name} must be 0-D, got shape [{','.join(map(str, bound.shape))}]")
    if 0 not in shape and minval >= maxval:
        raise InvalidArgumentError(f"Need minval < maxval, got {minval} >= {maxval}")


def bounds_of(minval: int, maxval: int, count: int) -> tuple[int, int]:
    """Returns integer bounds as Python integers.

    Raises:
      ValueError: if the range is empty but `count` is not 0.
    """
    if minval < maxval:
        return minval, maxval
    if count:
        raise ValueError("the range between the bounds is empty")
    return 0, 1


def count_of(shape: Any) -> int:
    """Returns the number of elements of a shape.

    Raises:
      ValueError: if `shape` is not a valid shape.
    """
    if isinstance(shape, int) or any(n < 0 for n in shape):
        raise ValueError("lengths must not be negative")
    return math.prod(shape)
