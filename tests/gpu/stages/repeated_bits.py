"""Stage 13: is the result of the same work bit-identical each time?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

MUST = frozenset({"sum over replicas", "softmax", "segment sum"})
"""The results that nbtf promises to reproduce. The others depend on libraries and are only recorded."""


def run(record: Record) -> None:
    """Runs the stage."""
    side, repeats = record.size(2048, 1024, 16), record.size(20, 10, 3)
    host = np.random.default_rng(1).standard_normal((side, side)).astype(np.float32)
    ids = np.random.default_rng(2).integers(0, 10, side)
    with cards.context(4, 64 if record.fake else 2048):
        x, segments = tf.constant(host), tf.constant(ids)
        places = tf.expand_dims(segments, 1)
        works: dict[str, Callable[[], Any]] = {
            "product": lambda: tf.matmul(x, x),
            "sum": lambda: tf.reduce_sum(x),
            "softmax": lambda: tf.nn.softmax(x),
            "segment sum": lambda: tf.math.unsorted_segment_sum(x, segments, 10),
            "scattered sum": lambda: tf.scatter_nd(places, x, [10, side]),
            "random numbers": lambda: tf.random.stateless_normal([side], [1, 2]),
            "sum over replicas": lambda: _summed(host),
        }
        for name, work in works.items():
            found = {work().numpy().tobytes() for _ in range(repeats)}
            record.fact(f"{name}: distinct results in {repeats} runs", len(found))
            if name in MUST:
                record.check(f"{name}: bit-identical each time", len(found) == 1, f"{len(found)} distinct results")


def _summed(host: Any) -> Any:
    strategy = tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(4)])

    def replica() -> Any:
        here: Any = tf.distribute.get_replica_context()
        mine = tf.constant(host * (1.0 + 0.1 * int(here.replica_id_in_sync_group)))
        return here.all_reduce("SUM", mine)

    return strategy.run(replica).values[0]
