"""How the arguments of samples are made into what ops are called with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from tests.ops.samples import Made


def tensors(value: Any, known: dict[int, Tensor] | None = None) -> Any:
    """Returns arguments with tensors in the place of arrays."""
    if isinstance(value, Made):
        return value.make()
    if isinstance(value, np.ndarray):
        return known[id(value)] if known is not None and id(value) in known else as_tensor(value)
    if type(value) in (list, tuple):
        return type(value)([tensors(item, known) for item in value])
    return value


def plain(args: Any) -> list[Any]:
    """Returns the arguments, in which values that are made anew for each run have been made."""

    def made(value: Any) -> Any:
        if isinstance(value, Made):
            return value.make()
        return [made(item) for item in value] if type(value) is list else value

    return [made(arg) for arg in args]


def as_double(value: Any) -> Any:
    """Returns arguments whose floats are float64 and complex numbers complex128."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return np.array(value, np.complex128 if value.dtype.kind == "c" else np.float64)
    if isinstance(value, list | tuple):
        return type(value)([as_double(item) for item in value])
    return value


def arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yields the arrays in an argument."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)
    else:
        assert isinstance(value, np.ndarray), "what is differentiable is written as an array"
        yield value


def noise(random: np.random.Generator, like: np.ndarray[Any, Any]) -> Any:
    """Returns random numbers of an array's shape and dtype."""
    numbers = random.uniform(0.5, 1.5, like.shape)
    return (numbers + 1j * random.uniform(0.5, 1.5, like.shape) if like.dtype.kind == "c" else numbers).astype(
        like.dtype
    )
