"""How random ops read their arguments: shapes, bounds of integers, and what is wrong with them."""

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
    """Returns a bound of integers, which have to be in host memory.

    Raises:
      TypeError: if it is a Python value that is no integer.
    """
    if not isinstance(value, Tensor):
        array = host_array(value, dtype)[0]
        return array if array.ndim else array.item()
    return value


def as_bound_int(value: Any) -> Any:
    """Reads a bound; one that is no scalar is left for the kernel to refuse."""
    return value if getattr(value, "shape", ()) else value.__index__()


def as_vector(value: Any) -> Any:
    """Reads a shape; a mere number is left for the kernel to refuse, as TensorFlow's random ops do."""
    return value if isinstance(value, int) else _as_lengths(value)


_as_lengths = of_integers("T", as_shape)


def drawn_spec(shape: Any, dtype: DType) -> Spec:
    """Returns what a random op will give.

    Raises:
      InvalidArgumentError: if the shape is no vector, or has a negative length.
    """
    if isinstance(shape, int):
        raise InvalidArgumentError("shape must be a vector of {int32,int64}, got shape []")
    negative = next((n for n in shape if n < 0), None)
    if negative is not None:
        raise InvalidArgumentError(f"Dimension {negative} must be >= 0")
    return Spec(shape, dtype)


def check_bounds(shape: Any, minval: Any, maxval: Any) -> None:
    """Raises TensorFlow's errors for bounds of integers."""
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if getattr(bound, "shape", ()):
            raise InvalidArgumentError(f"{name} must be 0-D, got shape [{','.join(map(str, bound.shape))}]")
    if 0 not in shape and minval >= maxval:
        raise InvalidArgumentError(f"Need minval < maxval, got {minval} >= {maxval}")


def bounds_of(minval: int, maxval: int, count: int) -> tuple[int, int]:
    """Returns the bounds of integers.

    Raises:
      ValueError: if nothing is between them, though something is asked for.
    """
    if minval < maxval:
        return minval, maxval
    if count:
        raise ValueError("nothing is between the bounds")
    return 0, 1


def count_of(shape: Any) -> int:
    """Returns how many numbers a shape has room for.

    Raises:
      ValueError: if it is no shape.
    """
    if isinstance(shape, int) or any(n < 0 for n in shape):
        raise ValueError("lengths are not negative")
    return math.prod(shape)
