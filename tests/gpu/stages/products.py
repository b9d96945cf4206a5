"""Stage 9: are matrix products as fast as CuPy's, are they right, and how accurate is the cost model?"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._devices import cost
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record
from tests.gpu.stages.timing import finished

KINDS = {"float32": (2, 1e-5), "float16": (2, 5e-3), "float16, batch of 8": (3, 5e-3), "float64": (2, 1e-12)}


def run(record: Record) -> None:
    """Runs the stage."""
    with cards.context() as context:
        for name, (rank, tolerance) in KINDS.items():
            _compare(record, context, name, rank, tolerance)
        _add(record, context)


def _compare(record: Record, context: Any, name: str, rank: int, tolerance: float) -> None:
    dtype = name.split(",")[0]
    side = record.size(8192, 4096, 16) // (4 if rank == 3 or dtype == "float64" else 1)
    shape = (8, side, side) if rank == 3 else (side, side)
    host = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    x = tf.constant(host)
    raw, cp = cards.cupy().asarray(host), cards.cupy()
    rounds = record.size(10, 5, 1)
    theirs = finished(lambda: raw @ raw, cp.cuda.runtime.deviceSynchronize, rounds)
    ours = finished(lambda: tf.matmul(x, x), lambda: cards.wait(context), rounds)
    operations = 2.0 * side**3 * (8 if rank == 3 else 1)
    record.figure(f"{name}, {side}²: nbtf", operations / ours.middle / 1e12, "TFLOP/s")
    record.figure(f"{name}, {side}²: CuPy", operations / theirs.middle / 1e12, "TFLOP/s")
    ratio = ours.least / theirs.least
    if name == "float32" and not record.fake:
        record.target(f"{side}² product of float32, nbtf's time relative to CuPy's", ratio, 1.02, 1.0, "of 1")
        _model(record, operations, 3 * x._array.nbytes, ours.least, f"{side}² product of float32")
    else:
        record.figure(f"{name}, {side}²: nbtf's time relative to CuPy's", ratio, "of 1")
    if rank == 2 and not record.fake:
        _torch(record, host, f"{name}, {side}²", operations, rounds)
    row = tf.matmul(x, x).numpy().reshape(-1, side)[0].astype(np.float64)
    first = host.reshape(-1, side, side)[0].astype(np.float64)
    exact = first[0] @ first
    worst = float(np.abs(row - exact).max() / np.abs(exact).max())
    record.check(f"{name}: agrees with float64", worst < tolerance, worst)


def _torch(record: Record, host: Any, name: str, operations: float, rounds: int) -> None:
    """Measures PyTorch if it is installed and sees the card; its float32 products do not use TF32 either."""
    try:
        torch: Any = importlib.import_module("torch")
        theirs = torch.from_numpy(host).cuda()
    except Exception as error:
        record.note(f"torch was left out: {type(error).__name__}: {str(error)[:100]}")
        return
    timed = finished(lambda: theirs @ theirs, torch.cuda.synchronize, rounds)
    record.figure(f"{name}: torch", operations / timed.middle / 1e12, "TFLOP/s")


def _add(record: Record, context: Any) -> None:
    """Measures an op that is limited by memory bandwidth, for the cost model."""
    n = record.size(1 << 28, 1 << 26, 1 << 10)
    x = tf.ones([n])
    timed = finished(lambda: x + x, lambda: cards.wait(context), record.size(10, 5, 1))
    record.figure("a + b of float32, bytes read and written", 3 * x._array.nbytes / timed.least / 1e9, "GB/s")
    _model(record, float(n), 3 * x._array.nbytes, timed.least, f"a + b of {n} float32")


def _model(record: Record, operations: float, nbytes: int, seconds: float, what: str) -> None:
    """Compares a measured time with the roofline of the simulated card of the same name."""
    card = cards.card().card
    if card.peak_flops != card.peak_flops:  # NaN: the list has no rates for this card
        record.note(f"{card.name} cannot be simulated: nbtf's list of cards has no rates for it.")
        return
    record.model(what, cost.op_seconds(card, nbytes, operations) * 1000, seconds * 1000, "ms")
