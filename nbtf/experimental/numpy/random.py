"""`tf.experimental.numpy.random`: random tensors, with the function names of `numpy.random`."""

from __future__ import annotations

from typing import Any

from nbtf._ops.random import streams as ops
from nbtf._runtime.tensor import Tensor
from nbtf._types import float64, int64
from nbtf.experimental.numpy.promotion import dtype_of


def seed(s: int) -> None:
    """Seeds the generator of `tf.random`."""
    ops.set_seed(s)


def _shape(size: Any) -> list[int]:
    return [] if size is None else [size] if isinstance(size, int) else list(size)


def randn(*args: int) -> Tensor:
    """Returns normally distributed numbers in the given shape.

    >>> tf.experimental.numpy.random.randn(2, 3).shape
    TensorShape([2, 3])
    """
    return standard_normal(args)


def standard_normal(size: Any = None) -> Tensor:
    """Returns normally distributed numbers."""
    return ops.normal(_shape(size), dtype=float64)


def rand(*size: int) -> Tensor:
    """Returns uniformly distributed numbers from 0 to 1, in the given shape."""
    return uniform(size=size)


def random(size: Any = None) -> Tensor:
    """Returns uniformly distributed numbers from 0 to 1."""
    return uniform(size=size)


def uniform(low: float = 0.0, high: float = 1.0, size: Any = None) -> Tensor:
    """Returns uniformly distributed numbers between two limits."""
    return ops.uniform(_shape(size), low, high, float64)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = None) -> Tensor:
    """Returns uniformly distributed integers from `low` up to but excluding `high`."""
    first, last = (0, low) if high is None else (low, high)
    integer_dtype = int64 if dtype is None else dtype_of(dtype)
    return ops.uniform(_shape(size), first, last, integer_dtype)
