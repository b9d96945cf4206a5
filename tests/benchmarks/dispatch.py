"""Compares the cost of an op with NumPy: `python tests/benchmarks/dispatch.py`.

Prints ratios for ops on the CPU while nothing listens, and microseconds over NumPy for the road: recorded ops, and ops
on a simulated GPU. Each pair is measured in turn, in blocks of about a millisecond; the lower quartile counts.
"""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from contextlib import nullcontext
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


ROAD: list[tuple[str, str, str, float, float]] = [
    ("a + b", "a + b", "a + b", 4.5, 3.5),
    ("tf.matmul(a, b)", "np.matmul(a, b)", "tf.matmul(a, b)", 4.5, 3.5),
    ("a * 2.0", "a * 2.0", "a * 2.0", 8.0, 8.0),
]
"""Goals in microseconds over NumPy: while a recorder listens, and on a simulated GPU while nothing listens."""


def names() -> dict[str, Any]:
    """Returns tensors with the values of the arrays, on the current device."""
    a, b = tf.constant(NUMPY["a"]), tf.constant(NUMPY["b"])
    return {"a": a, "b": b, "v": tf.Variable(a), "tf": tf}


def seconds(base: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Returns the times of two functions, measured in turn."""
    counts = [max(1, int(BLOCK_SECONDS / timeit.timeit(f, number=100) * 100)) for f in (base, other)]
    times = [
        [timeit.timeit(f, number=n) / n for f, n in zip((base, other), counts, strict=True)] for _ in range(ROUNDS)
    ]
    first, second = (statistics.quantiles(column, n=4)[0] for column in zip(*times, strict=True))
    return first, second


def compiled(code: str, space: dict[str, Any]) -> Callable[[], Any]:
    """Returns a function without arguments that runs an expression or a statement."""
    lines = f"def f():\n    global a\n    {code}\n" if "+=" in code else f"def f():\n    return {code}\n"
    exec(lines, space)
    return space["f"]


def print_road(title: str, space: dict[str, Any], recorded: bool) -> None:
    """Prints what ops on the road cost over NumPy."""
    for op, base, other, recorded_goal, plain_goal in ROAD:
        goal = recorded_goal if recorded else plain_goal
        with tf.runtime.recording() if recorded else nullcontext():
            first, second = seconds(compiled(base, dict(NUMPY)), compiled(other, dict(space)))
        over = 1e6 * (second - first)
        print(f"{op + ', ' + title:38} {over:13.2f}   {goal}{'' if over <= goal else '   missed'}")


def main() -> None:
    """Prints the tables."""
    print(f"{'':22} {'x NumPy':>8}   goal")
    space = names()
    for title, base, other, goal in PAIRS:
        first, second = seconds(compiled(base, dict(NUMPY)), compiled(other, dict(space)))
        ratio = second / first
        print(f"{title:22} {ratio:8.2f}   {goal}{'' if ratio <= goal else '   missed'}")
    print(f"\n{'':38} {'us over NumPy':>13}   goal")
    print_road("CPU, recorded", space, recorded=True)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1)
    space = names()
    print_road("simulated GPU", space, recorded=False)
    print_road("simulated GPU, recorded", space, recorded=True)


if __name__ == "__main__":
    main()
