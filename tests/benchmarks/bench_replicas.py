"""Measures replicas and simulated GPUs, and how their cost grows: `python tests/benchmarks/bench_replicas.py`.

Measures CPU time in turn with NumPy: a step of `fit` on an MLP 784-128-10 with a batch of 64, an op on a simulated GPU
minus NumPy's time, the first op with many GPUs, and recordings and sessions with growing numbers of ops.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # otherwise waiting threads would be measured as well
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import nbtf as tf
from tests.benchmarks.cpu_time import seconds

STEPS, BATCH = 32, 64
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((STEPS * BATCH, 784)).astype(np.float32)
Y = RANDOM.integers(0, 10, STEPS * BATCH)
A = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)

OPS: dict[str, tuple[Callable[..., object], Callable[[], object]]] = {
    "a + a": (lambda a: a + a, lambda: A + A),
    "a * 2.0": (lambda a: a * 2.0, lambda: A * 2.0),
    "matmul": (lambda a: tf.matmul(a, a), lambda: np.matmul(A, A)),
    "reduce_sum(axis=1)": (lambda a: tf.reduce_sum(a, axis=1), lambda: np.sum(A, axis=1)),
    "tanh": (tf.tanh, lambda: np.tanh(A)),
    "reshape": (lambda a: tf.reshape(a, [4]), lambda: np.reshape(A, 4)),
}
"""Ops on a small tensor, and their NumPy equivalents."""


def simulate(count: int) -> None:
    """Restarts nbtf with `count` simulated GPUs."""
    tf.runtime.restart()
    with contextlib.redirect_stdout(io.StringIO()):
        tf.runtime.simulate_gpus(count)


def by_hand() -> None:
    """Trains the same model in NumPy for an epoch."""
    rate = np.float32(0.05)
    weights, bias = np.full((784, 128), 0.01, np.float32), np.zeros(128, np.float32)
    weights_2, bias_2 = np.full((128, 10), 0.01, np.float32), np.zeros(10, np.float32)
    for start in range(0, len(X), BATCH):
        x, y = X[start : start + BATCH], Y[start : start + BATCH]
        hidden = np.maximum(x @ weights + bias, 0)
        logits = hidden @ weights_2 + bias_2
        exponents = np.exp(logits - logits.max(1, keepdims=True))
        grad = exponents / exponents.sum(1, keepdims=True)
        grad[np.arange(BATCH), y] -= 1
        grad /= np.float32(BATCH)
        back = (grad @ weights_2.T) * (hidden > 0)
        weights_2, bias_2 = weights_2 - rate * (hidden.T @ grad), bias_2 - rate * grad.sum(0)
        weights, bias = weights - rate * (x.T @ back), bias - rate * back.sum(0)


def model(devices: list[str]) -> Callable[[], object]:
    """Returns a function that runs `fit` for an epoch, with one replica per device."""
    with tf.distribute.MirroredStrategy(devices).scope() if len(devices) > 1 else contextlib.nullcontext():
        layers = tf.keras.layers
        network = tf.keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(10)])
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        network.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss=loss)
    return lambda: network.fit(X, Y, batch_size=BATCH, verbose=0)


def epochs() -> None:
    """Prints the cost of a step of `fit` for growing numbers of replicas."""
    for kind in ("CPU", "GPU"):
        alone = 0.0
        for count in (1, 2, 4):
            if kind == "GPU":
                simulate(count)
            else:
                tf.runtime.restart()
                tf.runtime.simulate_gpus(0)
                (cpu,) = tf.config.list_physical_devices("CPU")
                tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
            numpy, fit = seconds(by_hand, model([f"{kind}:{number}" for number in range(count)]))
            alone = alone or fit
            name = f"fit, {count} {'simulated GPU' if kind == 'GPU' else 'CPU'}{'s' if count > 1 else ''}"
            print(f"{name:32} {1e6 * fit / STEPS:8.0f} us per step {fit / numpy:6.2f} x NumPy {fit / alone:6.2f} x one")


def ops() -> None:
    """Prints the cost of ops on a simulated GPU minus NumPy's time."""
    simulate(1)
    a = tf.constant(A)
    for name, (op, numpy_op) in OPS.items():
        numpy, lane = seconds(numpy_op, lambda op=op: op(a))
        with tf.runtime.recording():
            (road,) = seconds(lambda op=op: op(a))
        print(f"{name:32} {1e6 * (lane - numpy):8.2f} us over NumPy {1e6 * (road - numpy):8.2f} us recorded")


def growth() -> None:
    """Prints the cost of an op with growing numbers of live tensors and GPUs, and of the first op."""
    for count in (0, 1_000, 10_000, 100_000):
        simulate(1)
        a = tf.constant(A)
        kept = [tf.constant(A) for _ in range(count)]
        (lane,) = seconds(lambda a=a: a + a)
        print(f"{f'a + a, {len(kept):,} live tensors':32} {1e6 * lane:8.2f} us")
    for count in (1, 16, 256, 1024):
        simulate(count)
        a = tf.constant(A)
        (lane,) = seconds(lambda a=a: a + a)
        with tf.runtime.recording():
            (road,) = seconds(lambda a=a: a + a)
        print(f"{f'a + a, {count} simulated GPUs':32} {1e6 * lane:8.2f} us {1e6 * road:8.2f} us recorded")
    for count in (1, 4, 16, 64, 256, 1024):
        code = f"import nbtf as tf; tf.constant(1.0); tf.runtime.restart(); tf.runtime.simulate_gpus({count})\n{FIRST}"
        text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        print(f"{f'first op, {count} simulated GPUs':32} {text.split()[-1]:>8} ms")


def looks() -> None:
    """Prints the cost of reading recordings of growing size, and of building and running growing graphs."""
    for count in (1_000, 10_000, 100_000):
        simulate(1)
        a = tf.constant(A)
        with tf.runtime.recording() as record:
            for _ in range(count):
                _ = a + a
            start = process_time()
            events = record.snapshot().events
            shown = process_time()
            total = sum(1 for _ in events)
            text = f"{1e3 * (shown - start):8.2f} ms {1e6 * (process_time() - shown) / total:8.2f} us to read an event"
        print(f"{f'snapshot of {total:,} events':32} {text}")
    for count in (100, 1_000, 10_000):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            start = process_time()
            node = tf.constant(1.0)
            for _ in range(count):
                node = node + 1.0
            built = process_time() - start
            session.run(node)
            (run,) = seconds(lambda session=session, node=node: session.run(node))
        print(f"{f'graph of {count:,} ops':32} {1e6 * built / count:8.2f} us to add {1e6 * run / count:8.2f} us to run")


FIRST = "from time import process_time as t; s = t(); tf.constant(1.0); print(round(1e3 * (t() - s), 1))"
"""A program that prints the duration of its first op in milliseconds."""


if __name__ == "__main__":
    start = process_time()
    epochs()
    ops()
    growth()
    looks()
    print(f"{process_time() - start:.0f} s")
