"""Stage 10: how fast are copies, does `put` take a snapshot, and how accurate is the cost model?"""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from nbtf._devices import cost
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record
from tests.gpu.stages.timing import finished

SIZES = {"4 KiB": 1 << 12, "1 MiB": 1 << 20, "64 MiB": 1 << 26, "256 MiB": 1 << 28, "1 GiB": 1 << 30}


def run(record: Record) -> None:
    """Runs the stage."""
    with cards.context() as context:
        gpu: Any = context.devices.first
        for name, nbytes in SIZES.items():
            if nbytes <= record.size(1 << 30, 1 << 28, 1 << 12):
                _to_and_fro(record, gpu, name, nbytes)
        _pinned(record)
        _snapshots(record, gpu)
    with cards.context(2, record.size(4096, 1024, 16)) as context:
        _between(record, context, record.size(1 << 30, 1 << 28, 1 << 12))


def _to_and_fro(record: Record, gpu: Any, name: str, nbytes: int) -> None:
    cp, host = cards.cupy(), np.ones(nbytes, np.uint8)
    rounds = record.size(10, 5, 1)
    sync = cp.cuda.runtime.deviceSynchronize
    theirs = finished(lambda: cp.asarray(host), sync, rounds)
    ours = finished(lambda: gpu.put(host), sync, rounds)
    there = gpu.put(host)
    back = finished(lambda: gpu.get(there), sync, rounds)
    for what, timed in (("in", ours), ("in, by CuPy", theirs), ("out", back)):
        record.figure(f"{name} {what}", nbytes / timed.least / 1e9, "GB/s")
    if name == "256 MiB" and not record.fake:
        record.target("256 MiB in, nbtf's time relative to CuPy's", ours.least / theirs.least, 1.05, 1.0, "of 1")
    if nbytes >= 1 << 26:
        _model(record, f"{name} in", nbytes, ours.least)
        _model(record, f"{name} out", nbytes, back.least)


def _model(record: Record, what: str, nbytes: int, seconds: float) -> None:
    card = cards.card().card
    if card.pcie_bandwidth == card.pcie_bandwidth:  # not NaN: nbtf's list has this card
        record.model(what, cost.copy_seconds(card, nbytes) * 1000, seconds * 1000, "ms")
    else:
        record.note(f"{card.name} cannot be simulated: nbtf's list of cards has no rates for it.")


def _pinned(record: Record) -> None:
    """Measures the limit of the bus, for comparison: nbtf uses pageable memory, as TensorFlow does."""
    if record.fake:
        return
    cp, nbytes = cards.cupy(), record.size(1 << 28, 1 << 26, 1)
    block = cp.cuda.alloc_pinned_memory(nbytes)
    host = np.frombuffer(block, np.uint8, nbytes)
    target = cp.empty(nbytes, np.uint8)
    timed = finished(lambda: target.set(host), cp.cuda.runtime.deviceSynchronize)
    record.figure("pinned memory in, by CuPy", nbytes / timed.least / 1e9, "GB/s")


def _snapshots(record: Record, gpu: Any) -> None:
    """The caller may change an array as soon as `put` has returned."""
    wrong, rounds = 0, record.size(1000, 300, 20)
    for number in range(rounds):
        host = np.full(100_000, number, np.float32)
        there = gpu.put(host)
        host[:] = -1
        wrong += bool((gpu.get(there) != number).any())
    record.check(f"{rounds} arrays changed right after `put`: the copies on the card are unchanged", wrong == 0, wrong)


def _between(record: Record, context: Any, nbytes: int) -> None:
    with cards.on(0):
        x = tf.ones([nbytes], tf.uint8)
    first, second = context.devices.by_name[x.device], context.devices.devices[1]
    timed = finished(lambda: second.copy_from(first, x), lambda: cards.wait(context), record.size(10, 5, 1))
    record.figure("between logical GPUs, bytes read and written", 2 * nbytes / timed.least / 1e9, "GB/s")
    record.check("a copy has the right values", bool((second.get(second.copy_from(first, x)) == 1).all()))
