"""Compares the cost of a traced step with NumPy: `python tests/benchmarks/bench_function.py`.

Measures the CPU time of a step in turn with the same step in NumPy: forward pass, gradients and updates of two layers.
Also measures how the cost grows with the number of ops and variables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # otherwise waiting threads would be measured as well
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import nbtf as tf
from tests.benchmarks.cpu_time import seconds

RATE = np.float32(1e-6)


def arrays(rows: int, inner: int) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Returns a batch and two weights."""
    random = np.random.default_rng(0)
    shapes = [(rows, inner), (inner, inner), (inner, inner)]
    return [random.standard_normal(shape).astype(np.float32) * np.float32(0.1) for shape in shapes]


def by_hand(rows: int, inner: int) -> Callable[[], object]:
    """Returns a step in NumPy."""
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
    """Returns the same step with a tape, without tracing."""
    x, *weights = map(tf.constant, arrays(rows, inner))
    first, second = map(tf.Variable, weights)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(tf.tanh(tf.matmul(x, first)), second))
        for variable, grad in zip((first, second), tape.gradient(loss, [first, second]), strict=True):
            variable.assign_sub(float(RATE) * grad)

    return step


def steps() -> None:
    """Prints the cost of a step for small and larger layers, traced and untraced."""
    for rows, inner in ((2, 2), (32, 64), (64, 256)):
        hand, eager, traced = seconds(
            by_hand(rows, inner), with_tape(rows, inner), tf.function(with_tape(rows, inner), autograph=False)
        )
        name = f"step, {rows}x{inner}"
        print(f"{name:32} {1e6 * hand:8.1f} us by hand {eager / hand:6.2f} x eager {traced / hand:6.2f} x traced")


def growth() -> None:
    """Prints how the cost of a traced op, and of a variable's update, grows with their number."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for count in (10, 100, 1_000, 3_000):

        def chain(x: tf.Tensor, count: int = count) -> tf.Tensor:
            for _ in range(count):
                x = x + x * 0.5
            return x

        traced = tf.function(chain, autograph=False)
        (taken,) = seconds(lambda traced=traced: traced(x))
        print(f"{f'{2 * count:,} traced ops':32} {1e9 * taken / count / 2:8.0f} ns per op")
    for count in (1, 10, 100, 1_000):
        (taken,) = seconds(updating([tf.Variable([1.0, 2.0]) for _ in range(count)]))
        print(f"{f'{count:,} variables updated':32} {1e9 * taken / count:8.0f} ns per variable")


def updating(variables: list[tf.Variable]) -> Callable[[], object]:
    """Returns a traced function that adds to variables."""

    def update() -> None:
        for variable in variables:
            variable.assign_add([0.5, 0.5])

    return tf.function(update, autograph=False)


if __name__ == "__main__":
    steps()
    growth()
