"""What a live view costs the cell that runs: `python tests/benchmarks/bench_live.py [ROUNDS]`.

Two kernels take turns with the same cell, of which one has a page that looks at a live view: a client that takes the
messages and draws nothing. For each view and number of simulated devices: how much more time the cell takes, by the
clock of the wall and by that of the processor (lower quartiles of the rounds), and what is sent in a second.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from jupyter_client.manager import start_new_kernel

CASES = [(magic, devices) for magic in ("%devices --live", "%gpu_memory --live") for devices in (4, 64)]
WITHOUT = ""
CELL = """
import time
began = time.perf_counter(), time.process_time()
for _ in range(120):
    for row in rows:
        for _ in range({repeat}):
            row = tf.nn.relu(tf.matmul(row, row))
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


class Page:
    """A front end of a kernel of its own."""

    def __init__(self, devices: int, magic: str) -> None:
        """Starts the kernel, and looks at a view if there is a magic that shows it."""
        self.manager, self.client = start_new_kernel()
        self.run(
            "%load_ext nbtf\nimport nbtf as tf\n"
            f"tf.runtime.simulate_gpus({devices}, memory='64MiB')\nrows = []\n"
            f"for number in range({devices}):\n"
            "    with tf.device(f'GPU:{number}'):\n        rows.append(tf.random.uniform([16, 16]))"
        )
        self.nbytes = 0
        if magic:
            for model in self._models(magic):
                self._say(model, {"kind": "view", "n": 1, "panels": True})

    def run(self, code: str) -> list[dict[str, Any]]:
        """Runs a cell; returns the messages that come meanwhile, and adds up the bytes of those to views."""
        messages: list[dict[str, Any]] = []
        self.nbytes = 0
        reply = self.client.execute_interactive(code, output_hook=messages.append, timeout=600)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))
        self.nbytes = sum(
            len(json.dumps(message["content"])) for message in messages if message["msg_type"] == "comm_msg"
        )
        return messages

    def _models(self, magic: str) -> list[str]:
        opened = [message["content"] for message in self.run(magic) if message["msg_type"] == "comm_open"]
        return [content["comm_id"] for content in opened if "state" in content["data"]["state"]]

    def _say(self, model: str, content: dict[str, Any]) -> None:
        message = {"comm_id": model, "data": {"method": "custom", "content": content}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", message))

    def measure(self, repeat: int) -> tuple[float, float]:
        """Runs the cell; returns seconds on the wall and of the processor."""
        messages = self.run(CELL.format(repeat=repeat))
        (text,) = [message["content"]["text"] for message in messages if message["msg_type"] == "stream"]
        wall, processor = map(float, text.split())
        return wall, processor

    def close(self) -> None:
        """Ends the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def quartile(times: Sequence[float]) -> float:
    """Returns the lower quartile."""
    return statistics.quantiles(times, n=4)[0]


def main(rounds: int) -> None:
    """Prints a line for each case."""
    for magic, devices in CASES:
        pages = Page(devices, WITHOUT), Page(devices, magic)
        repeat = max(1, 600 // devices)
        for page in pages:
            page.measure(repeat)
        rounds_of: list[list[tuple[float, float]]] = [[], []]
        rates: list[float] = []
        for _ in range(rounds):
            for page, times in zip(pages, rounds_of, strict=True):
                times.append(page.measure(repeat))
            rates.append(pages[1].nbytes / rounds_of[1][-1][0] / 1024)
        for page in pages:
            page.close()
        alone, looked_at = [[quartile(column) for column in zip(*times, strict=True)] for times in rounds_of]
        wall, processor = [cost / other for cost, other in zip(looked_at, alone, strict=True)]
        print(
            f"{magic}, {devices} devices: {100 * (wall - 1):+.1f} % on the wall, {100 * (processor - 1):+.1f} % of the"
            f" processor, {statistics.median(rates):.1f} KiB/s",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 7)
