"""One call for every op that gives a variable another value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbtf as tf

THREADS, TIMES = 8, 60
ROWS = [0.0] * THREADS

Update = Callable[[Any, int, int], object]
"""Takes the variable, the number of the thread, and how often it has done so."""


def _rows(number: int, value: float = 1.0) -> Any:
    return tf.IndexedSlices([value], [number])


# Each thread adds 1 to a row of its own, or 1 to all; where a value is written, it is the count. So in the end every
# row has either TIMES, or TIMES of each thread, and any update that was lost or done twice shows.
UPDATES: dict[str, tuple[Update, float]] = {
    "AssignAddVariableOp": (lambda v, number, i: v.assign_add([1.0] * THREADS), THREADS * TIMES),
    "AssignSubVariableOp": (lambda v, number, i: v.assign_sub([-1.0] * THREADS), THREADS * TIMES),
    "ResourceStridedSliceAssign": (lambda v, number, i: v[number].assign(i + 1.0), TIMES),
    "ResourceScatterNdUpdate": (lambda v, number, i: v.scatter_nd_update([[number]], [i + 1.0]), TIMES),
    "ResourceScatterNdAdd": (lambda v, number, i: v.scatter_nd_add([[number]], [1.0]), TIMES),
    "ResourceScatterNdSub": (lambda v, number, i: v.scatter_nd_sub([[number]], [-1.0]), TIMES),
    "ResourceScatterUpdate": (lambda v, number, i: v.scatter_update(_rows(number, i + 1.0)), TIMES),
    "ResourceScatterAdd": (lambda v, number, i: v.scatter_add(_rows(number)), TIMES),
    "ResourceScatterMax": (lambda v, number, i: v.scatter_max(_rows(number, i + 1.0)), TIMES),
    "ResourceScatterMin": (lambda v, number, i: v.scatter_min(_rows(number, -i - 1.0)), -TIMES),
    "ResourceScatterMul": (
        lambda v, number, i: (v[number].assign(TIMES / 2), v.scatter_mul(_rows(number, 2.0))),
        TIMES,
    ),
    "ResourceScatterDiv": (
        lambda v, number, i: (v[number].assign(TIMES * 2), v.scatter_div(_rows(number, 2.0))),
        TIMES,
    ),
    "ResourceScatterNdMax": (lambda v, number, i: v.scatter_nd_max([[number]], [i + 1.0]), TIMES),
    "ResourceScatterNdMin": (lambda v, number, i: v.scatter_nd_min([[number]], [-i - 1.0]), -TIMES),
    "ResourceScatterSub": (lambda v, number, i: v.scatter_sub(_rows(number, -1.0)), TIMES),
}
