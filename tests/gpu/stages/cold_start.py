"""Stage 1: how long does the first use of each op take, with and without compiled kernels on disk?"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import nbtf as tf
from tests.gpu.stages import cards
from tests.gpu.stages.record import Record

DTYPES = ("float32", "float16", "float64", "int64")
OPS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + x,
    "sum": tf.reduce_sum,
    "softmax": tf.nn.softmax,
    "matmul": lambda x: tf.matmul(x, x),
}


def run(record: Record) -> None:
    """Runs the stage."""
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm"):
            found = first_uses() if record.fake else _in_a_new_process(folder)
            for name, seconds in found.items():
                record.figure(f"{state}: first {name}", seconds * 1000, "ms")
            record.figure(f"{state}: all first uses", sum(found.values()), "s")
    _overheads(record)


def _in_a_new_process(folder: str) -> dict[str, float]:
    done = cards.python("-m", "tests.gpu.stages.cold_start", CUPY_CACHE_DIR=folder)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    return json.loads(done.stdout.splitlines()[-1])


def first_uses() -> dict[str, float]:
    """Returns the seconds that the first op of each kind takes in this process."""
    found: dict[str, float] = {}
    with cards.context() as context:
        cards.wait(context)
        for dtype in DTYPES:
            x = tf.constant([[1, 2], [3, 4]], dtype)
            for name, op in OPS.items():
                if name == "softmax" and dtype == "int64":
                    continue
                start = time.perf_counter()
                op(x)
                cards.wait(context)
                found[f"{name} of {dtype}"] = time.perf_counter() - start
    return found


def _overheads(record: Record) -> None:
    before = cards.used_by_nvml()
    gpu = cards.device()
    guard = gpu.open()
    opened = cards.used_by_nvml()
    if before is None or opened is None:
        record.note("NVML does not report the memory in use, so the memory of a context is unknown.")
    else:
        record.figure("memory of a context", (opened - before) / cards.MIB, "MiB")
    inside = guard.enter()
    try:
        free = gpu.mem_info()[0]
        cards.cupy().cuda.get_cublas_handle()
        record.figure("memory of cuBLAS", (free - gpu.mem_info()[0]) / cards.MIB, "MiB")
    finally:
        guard.leave(inside)


if __name__ == "__main__":
    json.dump(first_uses(), sys.stdout)
