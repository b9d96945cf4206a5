"""Stage 11: does a model learn the same on the card as elsewhere, on one GPU and on several? Is memory constant?"""

from __future__ import annotations

import gc
import time
from contextlib import nullcontext
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context
from nbtf.keras import layers, models
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(256, 32).astype(np.float32)
Y = (X.sum(1, keepdims=True) > 16).astype(np.float32)

REMEMBERED = 1000 * 512
"""Bytes: each device keeps a limited number of scalars, see _ops/express.py; CuPy rounds each up to 512 bytes."""


def run(record: Record) -> None:
    """Runs the stage."""
    epochs = record.size(5, 3, 1)
    with use_context(Context(environ={"NBTF_GPU": "off"})):
        on_cpu = losses(epochs)
    with use_context(Context(simulated_machine(1), environ={})):
        simulated = losses(epochs)
    record.check("a simulated GPU learns the same as the CPU, bit by bit", simulated == on_cpu)
    with cards.context():
        on_card = losses(epochs)
    record.check("the card learns the same as the CPU", _alike(on_card, on_cpu), f"{on_card} and {on_cpu}")
    for count in (2, 4):
        with cards.context(count, 64 if record.fake else 1024):
            mirrored = losses(epochs, tf.distribute.MirroredStrategy([f"GPU:{n}" for n in range(count)]))
        record.check(f"{count} logical GPUs learn the same as one", _alike(mirrored, on_card), f"{mirrored}, {on_card}")
    with cards.context() as context:
        _long(record, context)
    record.note("Replicas on one card run one after the other, so several are not faster than one.")


def made(width: int = 64) -> Any:
    """Returns a small model with the same weights each time."""
    tf.keras.utils.set_random_seed(1)
    model = models.Sequential([layers.Input((32,)), layers.Dense(width, activation="relu"), layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model


def losses(epochs: int, strategy: Any = None) -> list[float]:
    """Returns the loss after each epoch."""
    with nullcontext() if strategy is None else strategy.scope():
        model = made()
    history = model.fit(X, Y, batch_size=64, epochs=epochs, shuffle=False, verbose=0)
    return [float(loss) for loss in history.history["loss"]]


def _alike(one: list[float], other: list[float]) -> bool:
    return np.allclose(one, other, rtol=1e-3, atol=1e-5)


def _long(record: Record, context: Any) -> None:
    """Trains for many steps: memory must not grow after the first few."""
    gpu, model = context.devices.first, made()
    steps_in_epoch = len(X) // 64
    epochs = record.size(2000, 500, 8) // steps_in_epoch
    model.fit(X, Y, batch_size=64, epochs=2, verbose=0)
    gc.collect()
    before, nvml_before = gpu.memory.stats().in_use, cards.used_by_nvml()
    start = time.perf_counter()
    model.fit(X, Y, batch_size=64, epochs=epochs, verbose=0)
    cards.wait(context)
    seconds = time.perf_counter() - start
    gc.collect()
    after, nvml_after = gpu.memory.stats().in_use, cards.used_by_nvml()
    record.figure("examples per second, small model", epochs * len(X) / seconds, "1/s")
    steps = f"memory is constant for {epochs * steps_in_epoch} steps, except for cached scalars"
    record.check(steps, 0 <= after - before <= REMEMBERED, f"{before}, {after}")
    if nvml_before is not None and nvml_after is not None:
        grown = nvml_after - nvml_before
        record.check("NVML reports constant memory", abs(grown) < 64 * cards.MIB, f"{grown} bytes")
