"""Limits the memory for the weights of a model loaded from a file to a few times the size of the file's values."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from nbtf._types import as_dtype

_TIMES = 4
"""The weight itself and at most three optimizer values for each of its elements."""

_ALWAYS = 2**26
"""Bytes allowed for weights without stored values, such as those of a layer saved before its first use."""

_LEFT: ContextVar[list[int] | None] = ContextVar("nbtf bytes that weights may take", default=None)


@contextmanager
def allowing(nbytes: int) -> Generator[None]:
    """Limits the memory of weights created in the block to what the values of a file account for.

    Args:
      nbytes: size of the file's values, in bytes.
    """
    token = _LEFT.set([_TIMES * nbytes + _ALWAYS])
    try:
        yield
    finally:
        _LEFT.reset(token)


def take(shape: Sequence[int], dtype: str) -> None:
    """Counts the memory of a weight before the weight is created.

    Raises:
      ValueError: if the weights would need more memory than is allowed.
    """
    allowed = _LEFT.get()
    if allowed is None:
        return
    nbytes = math.prod(shape) * as_dtype(dtype).size
    if nbytes > allowed[0]:
        raise ValueError(f"a weight of shape {tuple(shape)} needs {nbytes} bytes, but the file has no values for it.")
    allowed[0] -= nbytes
