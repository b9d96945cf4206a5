"""Compares the cost of an op with NumPy: `python tests/benchmarks/dispatch.py`.

Prints ratios, not times. Each pair is measured in turn, in blocks of about a millisecond; the lower quartile counts.
The goals apply to the express lane, to the road with an observer, and to a simulated GPU.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import nbtf as tf

ROUNDS = 41
BLOCK_SECONDS = 0.001

NUMPY: dict[str, Any] = {
    "a": np.array([[1.0, 0.5], [0.25, 0.125]], np.float32),
    "b": np.ones((2, 2), np.float32),
    "np": np,
}
CHAIN = "(((((a + b) * a - b) * a + b) * b - a) * a + b) * a"

PAIRS: list[tuple[str, str, str, float]] = [
    ("a + b", "a + b", "a + b", 3.0),
    ("tf.add(a, b)", "np.add(a, b)", "tf.add(a, b)", 2.6),
    ("a * 2.0", "a * 2.0", "a * 2.0", 2.0),
    ("chain of ten", CHAIN, CHAIN, 3.0),
    ("tf.matmul(a, b)", "np.matmul(a, b)", "tf.matmul(a, b)", 1.1),
    ("tf.reduce_sum(a)", "np.sum(a)", "tf.reduce_sum(a)", 1.0),
    ("tf.reshape(a, [4])", "np.reshape(a, [4])", "tf.reshape(a, [4])", 0.8),
    (
        "tf.constant([[...]])",
        "np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)",
        "tf.constant([[1.0, 2.0], [3.0, 4.0]])",
        3.0,
    ),
    ("v.assign_add(b)", "a += b", "v.assign_add(b)", 3.5),
]


def names() -> dict[str, Any]:
    """Returns tensors with the values of the arrays, on the current device."""
    a, b = tf.constant(NUMPY["a"]), tf.constant(NUMPY["b"])
    return {"a": a, "b": b, "v": tf.Variable(a), "tf": tf}


def ratio(base: Callable[[], Any], other: Callable[[], Any]) -> float:
    """Returns the ratio of the time of `other` to that of `base`; both are functions of a number of rounds."""
    counts = [max(1, int(BLOCK_SECONDS / timeit.timeit(f, number=100) * 100)) for f in (base, other)]
    times = [
        [timeit.timeit(f, number=n) / n for f, n in zip((base, other), counts, strict=True)] for _ in range(ROUNDS)
    ]
    low = [statistics.quantiles(column, n=4)[0] for column in zip(*times, strict=True)]
    return low[1] / low[0]


def compiled(code: str, space: dict[str, Any]) -> Callable[[], Any]:
    """Returns a function without arguments that runs an expression or a statement."""
    lines = f"def f():\n    global a\n    {code}\n" if "+=" in code else f"def f():\n    return {code}\n"
    exec(lines, space)
    return space["f"]


def main() -> None:
    """Prints the tables."""
    print(f"{'':22} {'x NumPy':>8}   goal")
    space = names()
    for title, base, other, goal in PAIRS:
        found = ratio(compiled(base, dict(NUMPY)), compiled(other, dict(space)))
        print(f"{title:22} {found:8.2f}   {goal}{'' if found <= goal else '   missed'}")
    add = compiled("a + b", dict(NUMPY))
    with tf.runtime.recording():
        print(f"{'a + b, recorded':22} {ratio(add, compiled('a + b', dict(space))):8.2f}")
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1)
    space = names()
    print(f"{'a + b, simulated GPU':22} {ratio(add, compiled('a + b', dict(space))):8.2f}")


if __name__ == "__main__":
    main()
