"""How much memory may the weights of a model take that comes from a file? A few times what the file has values for."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from nbtf._types import as_dtype

_TIMES = 4
"""A weight, and the numbers that an optimizer keeps for it: three at most."""

_ALWAYS = 2**26
"""Bytes for weights without values, such as those of a layer that was saved before it was used."""

_LEFT: ContextVar[list[int] | None] = ContextVar("nbtf bytes that weights may take", default=None)


@contextmanager
def allowing(nbytes: int) -> Generator[None]:
    """Lets the weights that are made in a block take only so much memory as values of a file explain.

    Args:
      nbytes: of the values.
    """
    token = _LEFT.set([_TIMES * nbytes + _ALWAYS])
    try:
        yield
    finally:
        _LEFT.reset(token)


def take(shape: Sequence[int], dtype: str) -> None:
    """Counts a weight, before it is made.

    Raises:
      ValueError: weights would take more memory than is allowed.
    """
    allowed = _LEFT.get()
    if allowed is None:
        return
    nbytes = math.prod(shape) * as_dtype(dtype).size
    if nbytes > allowed[0]:
        raise ValueError(f"a weight of shape {tuple(shape)} takes {nbytes} bytes, for which the file has no values.")
    allowed[0] -= nbytes
