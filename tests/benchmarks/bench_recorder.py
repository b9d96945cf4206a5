"""What a recorded op costs: `python tests/benchmarks/bench_recorder.py [OTHER_CHECKOUT ...]`.

Microseconds of the processor for an op on tensors of 2x2, on the CPU and on a simulated GPU, in recordings of 2,000 and
of 200,000 ops. Each figure is of a fresh process; checkouts take turns, and the lower quartile of the rounds counts.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import process_time

ROUNDS = 7
CASES = [(device, ops) for device in ("CPU:0", "GPU:0") for ops in (2_000, 200_000)]


def measure(device: str, ops: int) -> float:
    """Records ops in this process; returns what one costs."""
    import nbtf as tf

    if device.startswith("GPU"):
        tf.runtime.simulate_gpus(1)
    with tf.device(device):
        a = tf.constant([[1.0, 0.5], [0.25, 0.125]])
    costs: list[float] = []
    for _ in range(1 + max(1, 40_000 // ops)):  # the first warms up
        with tf.runtime.recording():
            began = process_time()
            for _ in range(ops):
                a + a  # pyright: ignore[reportUnusedExpression]
            costs.append((process_time() - began) / ops * 1e6)
    return statistics.median(costs[1:])


def figure(checkout: str, device: str, ops: int) -> float:
    """Returns what a fresh process measures."""
    environment = os.environ | {"PYTHONPATH": checkout, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", device, str(ops)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main(checkouts: list[str]) -> None:
    """Prints a line for each case: its cost, and how many times that of other checkouts it is."""
    for device, ops in CASES:
        rounds = [[figure(checkout, device, ops) for checkout in checkouts] for _ in range(ROUNDS)]
        own, *others = [statistics.quantiles(column, n=4)[0] for column in zip(*rounds, strict=True)]
        ratios = "".join(f", {own / other:.2f} x {name}" for other, name in zip(others, checkouts[1:], strict=True))
        print(f"{device}, {ops:,} ops: {own:.2f} us an op{ratios}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(measure(sys.argv[2], int(sys.argv[3])))
    else:
        main([str(Path(__file__).resolve().parents[2]), *sys.argv[1:]])
