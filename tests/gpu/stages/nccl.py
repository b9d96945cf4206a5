"""Stage 14: is NCCL installed? nbtf computes sums over replicas itself and must work with and without it."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record


def run(record: Record) -> None:
    """Runs the stage."""
    if not record.fake:
        _library(record)
    with cards.context(2, 64 if record.fake else 512):
        strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"], tf.distribute.NcclAllReduce())

        def replica() -> Any:
            here: Any = tf.distribute.get_replica_context()
            return here.all_reduce("SUM", tf.ones([1000]))

        values = [one.numpy().tolist() for one in strategy.run(replica).values]
    record.check("the sum over two GPUs on one card works without NCCL", values == [[2.0] * 1000] * 2)
    record.note("nbtf does not use NCCL. With one card, NCCL has nothing to sum.")


def _library(record: Record) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nccl = importlib.import_module("cupy.cuda.nccl")
            record.fact("NCCL", nccl.get_version())
        except Exception as error:
            record.note(f"NCCL is not available: {type(error).__name__}: {str(error)[:100]}")
            return
    cp = cards.cupy()
    alone = nccl.NcclCommunicator.initAll([0])[0]
    x = cp.ones(1000, cp.float32)
    y = cp.empty_like(x)
    alone.allReduce(x.data.ptr, y.data.ptr, 1000, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, cp.cuda.Stream.null.ptr)
    record.check("the sum over one rank is its own value", float(y.sum()) == 1000.0)
    try:
        nccl.NcclCommunicator.initAll([0, 0])
    except Exception as error:
        record.check("two ranks on one card are rejected", True, error)
    else:
        record.check("two ranks on one card are rejected", False)
