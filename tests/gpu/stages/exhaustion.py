"""Stage 5: what happens when memory runs out, and can the program continue?"""

from __future__ import annotations

import time
from typing import Any

import nbtf as tf
from nbtf.errors import ResourceExhaustedError
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Runs the stage."""
    limit = record.size(1024, 512, 16)
    with cards.context(2, limit):
        _full(record, limit * cards.MIB)
        _in_pieces(record, limit * cards.MIB)
        _products_after_that(record)
    if not record.fake:
        _whole_card(record)


def zeros(nbytes: int, gpu: int = 0) -> Any:
    """Returns a tensor of `nbytes` bytes."""
    with cards.on(gpu):
        return tf.zeros([nbytes], tf.uint8)


def fails(nbytes: int) -> tuple[str, float]:
    """Allocates too much; returns the error message, which is empty on success, and the seconds until then."""
    start = time.perf_counter()
    try:
        zeros(nbytes)
    except ResourceExhaustedError as error:
        return error.message, time.perf_counter() - start
    return "", 0.0


def _full(record: Record, limit: int) -> None:
    piece = limit // 8
    held = [zeros(piece) for _ in range(7)]
    said, seconds = fails(2 * piece)
    record.check("too large an allocation fails with TensorFlow's message", "OOM when allocating tensor" in said, said)
    record.check("the error gives shape and device", f"[{2 * piece}]" in said and "GPU:0" in said, said)
    record.check("the error lists what holds the memory", "What holds it" in said, said)
    record.figure("time until the error", seconds * 1000, "ms")
    record.check("the other logical GPU has its own limit", zeros(piece, gpu=1).device.endswith("GPU:1"))
    held.clear()
    record.check("the same allocation succeeds after memory was freed", zeros(2 * piece).shape == [2 * piece])


def _in_pieces(record: Record, limit: int) -> None:
    """Frees every second piece: half of the memory is free, but no free block is larger than one piece."""
    piece = limit // 16
    held = [zeros(piece) for _ in range(15)]
    del held[::2]
    said, _ = fails(4 * piece)
    record.check("a large allocation fails when free memory is fragmented", bool(said), said)
    held.clear()
    record.check("free blocks are merged when all memory is free", zeros(4 * piece).shape == [4 * piece])


def _products_after_that(record: Record) -> None:
    """cuBLAS needs memory of its own, which must be available even when all limits are used up."""
    with cards.on(0):
        x = tf.ones([256, 256])
        record.check("a product runs although all memory is in use", float(tf.matmul(x, x)[0, 0]) == 256.0)


def _whole_card(record: Record) -> None:
    with cards.context():
        gpu = cards.device()
        gpu.open()
        held, rows = [], max(gpu.mem_info()[0] // 24, cards.GIB) // cards.MIB
        start = time.perf_counter()
        said = ""
        for _ in range(64):
            try:
                held.append(tf.zeros([rows, cards.MIB], tf.uint8))
            except ResourceExhaustedError as error:
                said = error.message
                break
        record.figure("time until the card is full, when growing", time.perf_counter() - start, "s")
        record.figure("allocated by then", len(held) * rows / 1024, "GiB")
        record.check("an allocation on a full card fails", bool(said), said)
        held.clear()
        record.check("the card works afterwards", tf.zeros([rows, cards.MIB], tf.uint8).shape == [rows, cards.MIB])
