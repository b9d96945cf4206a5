"""Compares import time and op cost of checkouts: `python tests/benchmarks/bench_checkouts.py [OTHER_CHECKOUT ...]`.

Measures the CPU time of `import nbtf` without NumPy's own import, in milliseconds. Also measures an op on 2x2 tensors
in microseconds, on the CPU and on a simulated GPU: unrecorded, and in recordings of 2,000 and 200,000 ops. Each figure
comes from a fresh process. Checkouts take turns; the result is the lower quartile of all rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from time import process_time

import numpy as np  # NumPy's own import is not measured

ROUNDS = 7
IMPORT = "import"
CASES = [(IMPORT, "", 0)] + [
    (device, recorded, ops)
    for device in ("CPU:0", "GPU:0")
    for recorded, ops in (("unrecorded", 200_000), ("recorded", 2_000), ("recorded", 200_000))
]


def measure_import() -> float:
    """Returns the import's CPU time in milliseconds."""
    began = process_time()
    import nbtf as tf

    took = 1000 * (process_time() - began)
    if not tf.constant(np.ones(2)).shape.is_fully_defined():
        raise RuntimeError("nbtf was not imported completely.")
    return took


def measure_op(device: str, recorded: str, ops: int) -> float:
    """Runs ops in this process; returns the microseconds per op."""
    import nbtf as tf

    if device.startswith("GPU"):
        tf.runtime.simulate_gpus(1)
    with tf.device(device):
        a = tf.constant([[1.0, 0.5], [0.25, 0.125]])
    costs: list[float] = []
    for _ in range(1 + max(1, 40_000 // ops)):  # the first round warms up
        with tf.runtime.recording() if recorded == "recorded" else nullcontext():
            began = process_time()
            for _ in range(ops):
                a + a  # pyright: ignore[reportUnusedExpression]
            costs.append((process_time() - began) / ops * 1e6)
    return statistics.median(costs[1:])


def figure(checkout: str, case: tuple[str, str, int], bytecode: str) -> float:
    """Returns the figure that a fresh process measures, which keeps its bytecode in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": checkout, "PYTHONPYCACHEPREFIX": bytecode}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", *map(str, case)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main(checkouts: list[str], bytecode: str) -> None:
    """Prints one line per case: its cost, and the ratio to the other checkouts."""
    for checkout in checkouts:
        figure(checkout, CASES[0], bytecode)  # compiles
    for case in CASES:
        rounds = [[figure(checkout, case, bytecode) for checkout in checkouts] for _ in range(ROUNDS)]
        own, *others = [statistics.quantiles(column, n=4)[0] for column in zip(*rounds, strict=True)]
        ratios = "".join(f", {own / other:.2f} x {name}" for other, name in zip(others, checkouts[1:], strict=True))
        device, recorded, ops = case
        title = "import: {} ms" if device == IMPORT else f"{device}, {ops:,} ops {recorded}: {{}} us per op"
        print(title.format(f"{own:.2f}") + ratios, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        device, recorded, ops = sys.argv[2:]
        print(measure_import() if device == IMPORT else measure_op(device, recorded, int(ops)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main([str(Path(__file__).resolve().parents[2]), *sys.argv[1:]], folder)
