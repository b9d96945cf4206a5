"""The known part of a tensor's value while a graph is built: all of a constant, and the known lengths of a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from nbtf._graph.tensor import GraphTensor

Lengths = Sequence[int | None]


def constant_value(value: Any) -> Any:
    """Returns the value of a tensor that depends on no feed or variable; None if only a run knows it.

    Args:
      value: a graph tensor, a list that contains such tensors, or a Python value, which is returned as it is.
    """
    if isinstance(value, GraphTensor):
        return value.static_value()
    if isinstance(value, list | tuple):
        values = [constant_value(item) for item in cast("Sequence[Any]", value)]
        return None if any([item is None for item in values]) else values
    return value


def known_lengths(value: Any) -> Lengths | None:
    """Returns the known lengths of a shape given as a tensor or a list; None for a length that only a run knows.

    Returns None instead if even the number of axes is unknown. A length of -1 counts as unknown.
    """
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return [None if (n := constant_value(item)) is None or int(n) < 0 else int(n) for item in items]
    static_value: Any = value.known_part() if isinstance(value, GraphTensor) else value
    if static_value is None:
        dims: Any = value._shape._dims
        return None if dims is None or len(dims) != 1 or dims[0] is None else [None] * dims[0]
    lengths = (
        cast("list[Any]", static_value)
        if isinstance(static_value, list)
        else np.asarray(static_value).reshape(-1).tolist()
    )
    return [None if n is None or n < 0 else int(n) for n in lengths]
