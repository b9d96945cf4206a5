"""Stage 5: what happens when memory runs out, and can one go on?"""

from __future__ import annotations

import time
from typing import Any

import nbtf as tf
from nbtf.errors import ResourceExhaustedError
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Is the stage."""
    limit = record.size(1024, 512, 16)
    with cards.context(2, limit):
        _full(record, limit * cards.MIB)
        _in_pieces(record, limit * cards.MIB)
        _products_after_that(record)
    if not record.fake:
        _whole_card(record)


def zeros(nbytes: int, gpu: int = 0) -> Any:
    """Returns a tensor of so many bytes."""
    with cards.on(gpu):
        return tf.zeros([nbytes], tf.uint8)


def fails(nbytes: int) -> tuple[str, float]:
    """Asks for too much; returns what was said, and after how many seconds. Nothing is said where there was room."""
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
    record.check("too much is refused, in TensorFlow's words", "OOM when allocating tensor" in said, said)
    record.check("the error tells shape and device", f"[{2 * piece}]" in said and "GPU:0" in said, said)
    record.check("the error tells who holds the memory", "What holds it" in said, said)
    record.figure("time until the error", seconds * 1000, "ms")
    record.check("the other logical GPU has its own limit", zeros(piece, gpu=1).device.endswith("GPU:1"))
    held.clear()
    record.check("the same is granted after memory was freed", zeros(2 * piece).shape == [2 * piece])


def _in_pieces(record: Record, limit: int) -> None:
    """Every second piece is free: half of the memory is, but nothing larger than a piece in one."""
    piece = limit // 16
    held = [zeros(piece) for _ in range(15)]
    del held[::2]
    said, _ = fails(4 * piece)
    record.check("free memory in small pieces is not enough for a large one", bool(said), said)
    held.clear()
    record.check("joined again when all is free", zeros(4 * piece).shape == [4 * piece])


def _products_after_that(record: Record) -> None:
    """cuBLAS takes memory of its own, which must still be there when the limits are taken."""
    with cards.on(0):
        x = tf.ones([256, 256])
        record.check("a product runs although all memory was taken", float(tf.matmul(x, x)[0, 0]) == 256.0)


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
        record.figure("growing until the card is full", time.perf_counter() - start, "s")
        record.figure("granted until then", len(held) * rows / 1024, "GiB")
        record.check("a full card is refused, too", bool(said), said)
        held.clear()
        record.check("and can be used afterwards", tf.zeros([rows, cards.MIB], tf.uint8).shape == [rows, cards.MIB])
