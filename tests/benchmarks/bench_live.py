"""Measures how much a live view slows a running cell: `python tests/benchmarks/bench_live.py [ROUNDS [MINUTES]]`.

Two kernels run the same cell in turn. One of them has a page with a live view: a client that receives the messages and
draws nothing. For each view and number of simulated devices, and with 100,000 live tensors, the benchmark prints:

- how much longer the cell takes, in wall-clock time and CPU time (medians of the rounds' ratios);
- the CPU share of the views' thread by its own clock, which other programs do not disturb;
- the data sent per second.

It then measures tables of that many tensors, a view that is opened late in a long cell, and the growth of a kernel's
memory over some minutes of a view (default: 5) once the recorder is full.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from jupyter_client.manager import start_new_kernel

VIEWS = ("%devices --live", "%gpu_memory --live")
TENSORS = 100_000
CASES = [(magic, devices, 0) for magic in VIEWS for devices in (4, 64)] + [(magic, 4, TENSORS) for magic in VIEWS]
WITHOUT = ""
CELL = """
import threading, time
def of_views():
    views = [thread for thread in threading.enumerate() if thread.name.startswith("nbtf")]
    return sum([time.clock_gettime(time.pthread_getcpuclockid(thread.ident)) for thread in views])
began = time.perf_counter(), time.process_time(), of_views()
for _ in range(120):
    for row in rows:
        with tf.device(row.device):
            for _ in range({repeat}):
                row = tf.nn.relu(tf.matmul(row, row))
print(time.perf_counter() - began[0], time.process_time() - began[1], of_views() - began[2])
"""
HOLD = "tensors = []\nfor _ in range({}):\n    with tf.device(f'GPU:{{_ % 4}}'):\n        tensors.append(tf.ones([2]))"
ASK = """
import time
began = time.perf_counter(), time.process_time()
{ask}
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""
LONG = "for _ in range({}):\n    x = tf.nn.relu(rows[0])\n"
GROW = """
import time
memory, began = [], time.monotonic()
while time.monotonic() < began + {seconds}:
    until = time.monotonic() + 2
    while time.monotonic() < until:
        for row in rows:
            with tf.device(row.device):
                x = tf.nn.relu(row)
    status = open("/proc/self/status").read()
    memory.append(int(status.partition("VmRSS:")[2].split()[0]))
print(*memory)
"""
OPS = 400_000
"""This many ops cause more than a million events, because each op allocates and frees memory."""


class Page:
    """A front end with its own kernel."""

    def __init__(self, devices: int, magic: str, tensors: int = 0) -> None:
        """Starts the kernel, and opens a view if `magic` shows one."""
        self.manager, self.client = start_new_kernel(stderr=subprocess.DEVNULL)
        self.run(
            "%load_ext nbtf\nimport nbtf as tf\n"
            f"tf.runtime.simulate_gpus({devices}, memory='64MiB')\nrows = []\n"
            f"for number in range({devices}):\n"
            "    with tf.device(f'GPU:{number}'):\n        rows.append(tf.random.uniform([16, 16]))"
        )
        self.run(HOLD.format(tensors))
        self.nbytes = 0
        if magic:
            self.look(self.run(magic))

    def look(self, messages: list[dict[str, Any]]) -> None:
        """Reports every view that a cell has displayed as visible."""
        opened = [message["content"] for message in messages if message["msg_type"] == "comm_open"]
        for model in [content["comm_id"] for content in opened if "state" in content["data"]["state"]]:
            content = {"kind": "view", "n": 1, "panels": True}
            message = {"comm_id": model, "data": {"method": "custom", "content": content}}
            self.client.shell_channel.send(self.client.session.msg("comm_msg", message))

    def run(self, code: str) -> list[dict[str, Any]]:
        """Runs a cell; returns the messages received, and adds up the bytes of those to views."""
        messages: list[dict[str, Any]] = []
        self.nbytes = 0
        reply = self.client.execute_interactive(code, output_hook=messages.append, timeout=3600)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))
        self.nbytes = sum(
            len(json.dumps(message["content"])) for message in messages if message["msg_type"] == "comm_msg"
        )
        return messages

    def figures(self, code: str) -> list[float]:
        """Runs a cell; returns the figures in its last line of output."""
        texts = [message["content"]["text"] for message in self.run(code) if message["msg_type"] == "stream"]
        return [float(word) for word in "".join(texts).splitlines()[-1].split()]

    def close(self) -> None:
        """Ends the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def in_words(figures: Sequence[float]) -> str:
    """Returns two durations as text."""
    wall, processor = figures
    return f"{wall:.2f} s wall-clock time, {processor:.2f} s CPU time"


def compare(magic: str, devices: int, tensors: int, rounds: int) -> str:
    """Returns how much a view slows down a cell, and how much data it sends."""
    pages = Page(devices, WITHOUT, tensors), Page(devices, magic, tensors)
    cell = CELL.format(repeat=max(1, 600 // devices))
    for page in pages:
        page.run(cell)
    rounds_of: list[list[list[float]]] = [[], []]
    rates: list[float] = []
    shares: list[float] = []
    for _ in range(rounds):
        for page, times in zip(pages, rounds_of, strict=True):
            times.append(page.figures(cell))
        wall, processor, of_views = rounds_of[1][-1]
        rates.append(pages[1].nbytes / wall / 1024)
        shares.append(100 * of_views / processor)
    for page in pages:
        page.close()
    ratios = [
        [looked_at / alone for alone, looked_at in list(zip(*pair, strict=True))[:2]]
        for pair in zip(*rounds_of, strict=True)
    ]
    wall, processor = [100 * (statistics.median(column) - 1) for column in zip(*ratios, strict=True)]
    share, rate = statistics.median(shares), statistics.median(rates)
    losses = f"{wall:+.1f} % wall-clock time, {processor:+.1f} % CPU time"
    return f"{losses}, of which the view's own thread {share:.1f} %, {rate:.1f} KiB/s"


def ask_about_tensors() -> None:
    """Prints the cost of tables of many tensors."""
    page = Page(4, WITHOUT, TENSORS)
    for line in ("%gpu_memory", "%gpu_memory --who", "%gpu_memory --who --all"):
        figures = page.figures(ASK.format(ask=f"table = {line}\ndisplay(table)"))
        print(f"{line}, {TENSORS:,} tensors: {in_words(figures)}", flush=True)
    page.close()


def open_late() -> None:
    """Prints the cost of a view that is opened early and late in a cell."""
    for ops in (1, OPS):
        page = Page(4, WITHOUT)
        figures = page.figures(LONG.format(ops) + ASK.format(ask="view = %devices --live\ndisplay(view)"))
        print(f"%devices --live after {ops:,} ops of its cell: {in_words(figures)}", flush=True)
        page.close()


def grow(magic: str, minutes: float) -> None:
    """Prints how a kernel's memory grows once its recorder is full: a straight line through the second half."""
    page = Page(4, magic)
    page.run(LONG.format(OPS))
    memory = page.figures(GROW.format(seconds=60 * minutes))
    page.close()
    half = memory[len(memory) // 2 :]
    slope, _ = statistics.linear_regression(range(len(half)), half)
    name = magic or "no view"
    print(f"{name}, {minutes:g} minutes: {memory[0] / 1024:.0f} MiB, {30 * slope:+.0f} KiB per minute", flush=True)


def main(rounds: int, minutes: float) -> None:
    """Prints one line per case."""
    for magic, devices, tensors in CASES:
        title = f"{magic}, {devices} devices" + (f", {tensors:,} tensors" if tensors else "")
        print(f"{title}: {compare(magic, devices, tensors, rounds)}", flush=True)
    ask_about_tensors()
    open_late()
    for magic in (WITHOUT, *VIEWS):
        grow(magic, minutes)


if __name__ == "__main__":
    arguments = [float(word) for word in sys.argv[1:]]
    main(int(arguments[0]) if arguments else 15, arguments[1] if arguments[1:] else 5.0)
