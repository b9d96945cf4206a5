"""Measures the cost of reading a long recording: `python tests/benchmarks/bench_scenes.py [EVENTS]`.

Prints CPU seconds for a recording of this many events (default: 1,000,000): its still picture and the first answer that
a page draws, its memory, 40 zooms and 40 replay steps (95th percentile and largest answer), and a saved page.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import nbtf as tf
from nbtf.notebook.stills.memory_pictures import memory_scenes
from nbtf.notebook.stills.timeline import timeline
from nbtf.notebook.views.recording_answers import RecordingAnswers
from nbtf.notebook.views.step_windows import StepWindows

LOOKS = 40


def run_dense() -> Iterator[None]:
    """Runs short ops without gaps on four cards in turn."""
    rows: list[Any] = []
    for number in range(4):
        with tf.device(f"GPU:{number}"):
            rows.append(tf.random.uniform([64, 64]))  # ops on smaller tensors last no time, and are folded
    while True:
        for row in rows:
            with tf.device(row.device):
                for _ in range(500):
                    tf.tanh(row * (row + row))
            yield


def run_host() -> Iterator[None]:
    """Runs ops on the CPU, whose time is measured rather than modelled."""
    with tf.device("CPU:0"):
        row = tf.random.uniform([2, 2])
        while True:
            for _ in range(2000):
                tf.matmul(row + row, row)
            yield


def train() -> Iterator[None]:
    """Trains on four cards."""
    with tf.distribute.MirroredStrategy().scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)])
        model.compile(optimizer="adam", loss="mse")
    while True:
        model.fit(np.ones((512, 32), "float32"), np.ones((512, 10), "float32"), batch_size=64, verbose=0)
        yield


def cost(work: Callable[[], Any]) -> float:
    """Returns the CPU seconds."""
    began = process_time()
    work()
    return process_time() - began


def of_looks(look: Callable[[], Any]) -> str:
    """Returns the 95th percentile in milliseconds, and the largest answer in kilobytes."""
    nbytes: list[int] = []
    costs = [cost(lambda: nbytes.append(len(json.dumps(look(), separators=(",", ":"))))) for _ in range(LOOKS)]
    return f"{1000 * sorted(costs)[round(0.95 * LOOKS)]:.0f} ms, {max(nbytes) / 1000:.0f} KB"


def measure(program: Callable[[], Iterator[None]], events: int) -> None:
    """Prints one line for the recording of a program."""
    with tf.runtime.recording(capacity=2 * events) as record:
        for _ in program():
            if record.snapshot(0).heard >= events:
                break
    snapshot, dice = record.snapshot(), random.Random(0)
    answers = RecordingAnswers(snapshot, lambda most: memory_scenes(record, str, snapshot, most), str)
    first = cost(lambda: (timeline(answers.schedule), answers.answer({"what": "scene"})))
    memory = cost(lambda: answers.answer({"what": "rest"}))
    duration = answers.schedule.seconds

    def zoom() -> Any:
        width = duration * 10 ** dice.uniform(-5, 0)
        begin = dice.uniform(0, duration - width)
        return answers.answer({"what": "timeline", "from": begin, "to": begin + width})

    steps = StepWindows(record.snapshot(), 0, [], str, 0.0)
    scrub = of_looks(lambda: steps.window(dice.randrange(len(steps))))
    file = Path(tempfile.mkdtemp(), "page.html")
    saved = cost(lambda: record.to_html(file))
    print(
        f"{program.__name__}, {snapshot.heard:,} events: first picture {first:.2f} s, memory {memory:.1f} s,"
        f" zoom {of_looks(zoom)}, scrub {scrub}, page {saved:.1f} s, {file.stat().st_size / 1e6:.0f} MB",
        flush=True,
    )
    file.unlink()


def main(events: int) -> None:
    """Prints one line per program."""
    tf.runtime.simulate_gpus(4)
    for program in (run_dense, run_host, train):
        measure(program, events)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
