"""Stage 18: does a recording have the ops that TensorFlow itself logs, and are its figures of memory TensorFlow's?"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import nbtf
from tests.gpu.stages.record import Record

LOGGED = re.compile(r"Executing op (?:_Mkl(?:Native)?)?(\S+) in device (\S+)")


def run(record: Record) -> None:
    """Runs the stage."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # the log of placements has the lowest level
    try:
        tf: Any = importlib.import_module("tensorflow")
    except ImportError as error:
        record.note(f"TensorFlow was left out: {error}")
        return
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.debugging.set_log_device_placement(True)
    _beside_the_log(record, tf)
    if gpus:
        _memory(record, tf)
    else:
        record.note("TensorFlow has no GPU here: its memory was not compared.")


def _step(tf: Any) -> list[float]:
    """Trains a small network for three steps; returns the losses."""
    tf.random.set_seed(0)
    weights = tf.Variable(tf.random.normal((64, 8)))

    @tf.function
    def predict(x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, weights))

    losses: list[float] = []
    for _ in range(3):
        x = tf.random.normal((32, 64))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(predict(x) ** 2.0) + tf.reduce_mean(tf.reshape(weights, [-1]))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        with tf.device("CPU:0"):
            losses.append(float(loss + 1.0))
    return losses


@contextmanager
def _standard_error() -> Generator[Callable[[], str]]:
    """Collects what the process writes to standard error, including TensorFlow's C++ code."""
    earlier = os.dup(2)
    with tempfile.TemporaryFile() as file:

        def read() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        os.dup2(file.fileno(), 2)
        try:
            yield read
        finally:
            os.dup2(earlier, 2)
            os.close(earlier)


def _beside_the_log(record: Record, tf: Any) -> None:
    plain = _step(tf)
    with (
        _standard_error() as read,
        nbtf.runtime.recording() as recording,
        nbtf.runtime.watch("tensorflow"),
    ):
        watched = _step(tf)
        logged = LOGGED.findall(read())
    record.check("recording does not change the losses", plain == watched, (plain, watched))
    placed = [event for event in recording.events if isinstance(event, nbtf.runtime.OpPlaced) and event.node is None]
    ops = [(event.op, event.device) for event in placed]
    first = next((pair for pair in zip(logged, ops, strict=False) if pair[0] != pair[1]), (len(logged), len(ops)))
    record.check("the recorded ops are those of TensorFlow's log", logged == ops, first)
    record.figure("ops compared with TensorFlow's log", len(logged), "")
    inner = [event for event in recording.events if isinstance(event, nbtf.runtime.OpPlaced) and event.node]
    record.check("nodes of functions are recorded", any(event.op.endswith("MatMul") for event in inner), len(inner))


def _memory(record: Record, tf: Any) -> None:
    with nbtf.runtime.recording() as recording:
        x = tf.ones((1024, 1024))
        tf.ones((2048, 2048))
    info = tf.config.experimental.get_memory_info("GPU:0")
    (use,) = [use for use in recording.memory if use.library == "TensorFlow"][:1]
    record.check("memory in use is TensorFlow's figure", use.after == info["current"], (use, info))
    record.check("the peak is TensorFlow's figure", use.peak == info["peak"], (use, info))
    record.check("the peak includes what was freed", use.peak - use.before >= 16 << 20, use)
    del x
