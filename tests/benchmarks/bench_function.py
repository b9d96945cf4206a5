"""What a traced step costs beside NumPy, and how that grows: `python tests/benchmarks/bench_function.py`.

CPU time, in turn with the same step by hand: forward, gradients and updates of two layers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads that wait for each other would be measured, too
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import nbtf as tf
from tests.benchmarks.cpu_time import seconds

RATE = np.float32(1e-6)


def arrays(rows: int, inner: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """A batch and two weights."""
    random = np.random.default_rng(0)
    shapes = [(rows, inner), (inner, inner), (inner, inner)]
    return [random.standard_normal(shape).astype(np.float32) * np.float32(0.1) for shape in shapes]


def by_hand(rows: int, inner: int) -> Callable[[], object]:
    """A step in NumPy."""
    x, first, second = arrays(rows, inner)

    def step() -> None:
        hidden = np.tanh(np.matmul(x, first))
        _loss = np.sum(np.matmul(hidden, second))
        ones = np.ones((rows, inner), np.float32)
        back = np.matmul(ones, second.T) * (np.float32(1) - hidden * hidden)
        np.subtract(second, RATE * np.matmul(hidden.T, ones), out=second)
        np.subtract(first, RATE * np.matmul(x.T, back), out=first)

    return step


def with_tape(rows: int, inner: int) -> Callable[..., object]:
    """The same with a tape, not traced, and its batch."""
    x, *weights = map(tf.constant, arrays(rows, inner))
    first, second = map(tf.Variable, weights)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(tf.tanh(tf.matmul(x, first)), second))
        for variable, grad in zip((first, second), tape.gradient(loss, [first, second]), strict=True):
            variable.assign_sub(float(RATE) * grad)

    return step


def steps() -> None:
    """Prints a step of small and of larger layers, traced and not."""
    for rows, inner in ((2, 2), (32, 64), (64, 256)):
        hand, eager, traced = seconds(
            by_hand(rows, inner), with_tape(rows, inner), tf.function(with_tape(rows, inner), autograph=False)
        )
        name = f"step, {rows}x{inner}"
        print(f"{name:32} {1e6 * hand:8.1f} us by hand {eager / hand:6.2f} x eager {traced / hand:6.2f} x traced")


def growth() -> None:
    """Prints what an op of a traced function, and an update of a variable, cost with more and more of them."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for count in (10, 100, 1_000, 3_000):

        def chain(x: tf.Tensor, count: int = count) -> tf.Tensor:
            for _ in range(count):
                x = x + x * 0.5
            return x

        traced = tf.function(chain, autograph=False)
        (taken,) = seconds(lambda traced=traced: traced(x))
        print(f"{f'{2 * count:,} traced ops':32} {1e9 * taken / count / 2:8.0f} ns an op")
    for count in (1, 10, 100, 1_000):
        (taken,) = seconds(updating([tf.Variable([1.0, 2.0]) for _ in range(count)]))
        print(f"{f'{count:,} variables updated':32} {1e9 * taken / count:8.0f} ns a variable")


def updating(variables: list[tf.Variable]) -> Callable[[], object]:
    """A traced function that adds to variables."""

    def update() -> None:
        for variable in variables:
            variable.assign_add([0.5, 0.5])

    return tf.function(update, autograph=False)


if __name__ == "__main__":
    steps()
    growth()
