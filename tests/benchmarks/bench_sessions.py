"""Measures the cost of a graph and its session: `python tests/benchmarks/bench_sessions.py`.

Prints ratios, not times. The cost per node must not grow with the graph: neither for building, nor for the first run,
which places the graph, nor for later runs. A run of ten ops may take twice as long as the same ops run eagerly on the
road.
"""

from __future__ import annotations

import gc
import statistics
import timeit
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import nbtf as tf
from nbtf.compat import v1
from nbtf.runtime import recording

SIZES = (1_000, 3_000, 10_000)
LINEAR = 1.5
"""Largest permitted ratio between the cost per node in the most expensive graph and in the cheapest."""

TWICE = 2.0
ROUNDS = 41
BLOCK_SECONDS = 0.002


class Costs(NamedTuple):
    """CPU microseconds per node."""

    build: float
    first_run: float
    later_run: float

    @property
    def whole(self) -> float:
        """The cost of building the graph and running it once."""
        return self.build + self.first_run


def chain(count: int) -> tuple[Any, Any]:
    """Returns a chain of about `count` nodes, with one constant per op, and its last tensor."""
    graph = v1.Graph()
    with graph.as_default():
        value = v1.constant(np.ones((2, 2), np.float32))
        while graph.version < count:
            value = value * 1.0 if graph.version % 4 else tf.tanh(value)
    return graph, value


def costs() -> list[Costs]:
    """Returns the costs of graphs of all sizes, measured in turn; the minimum of several rounds excludes other work."""
    _costs_once(SIZES[0])  # warms up: some modules and objects are loaded only once
    rounds = [[_costs_once(count) for count in SIZES] for _ in range(9)]
    return [Costs(*[min(column) for column in zip(*found, strict=True)]) for found in zip(*rounds, strict=True)]


def _costs_once(count: int) -> Costs:
    gc.collect()  # earlier graphs must not be freed while this one is measured
    start = process_time()
    graph, value = chain(count)
    built = process_time()
    session = v1.Session(graph=graph)
    session.run(value)
    first = process_time()
    session.run(value)
    later = process_time()
    return Costs(*[one / graph.version * 1e6 for one in (built - start, first - built, later - first)])


def ratio(base: Callable[[], Any], other: Callable[[], Any]) -> float:
    """Returns the ratio of the time of `other` to that of `base`."""
    counts = [max(1, int(BLOCK_SECONDS / timeit.timeit(one, number=20) * 20)) for one in (base, other)]
    times = [
        [timeit.timeit(one, number=count) / count for one, count in zip((base, other), counts, strict=True)]
        for _ in range(ROUNDS)
    ]
    low = [statistics.quantiles(column, n=4)[0] for column in zip(*times, strict=True)]
    return low[1] / low[0]


def ten_ops(a: Any, b: Any) -> Any:
    """Runs ten ops on small matrices."""
    value = a
    for _ in range(5):
        value = tf.tanh(tf.matmul(value, b))
    return value


def run_of_ten_ops() -> float:
    """Returns the ratio of a session's time for ten ops to that of the eager ops, both on the road."""
    array = np.full((2, 2), 0.5, np.float32)
    a, b = tf.constant(array), tf.constant(array)
    with v1.Graph().as_default() as graph:
        x, y = v1.constant(array), v1.constant(array)
        fetch = ten_ops(x, y)
    session = v1.Session(graph=graph)
    return ratio(lambda: ten_ops(a, b).numpy(), lambda: session.run(fetch))


def main() -> None:
    """Prints the tables."""
    print(f"{'µs per node':>11} {'build':>8} {'1st run':>8} {'later':>8} {'total':>8}")
    measured = costs()
    for count, one in zip(SIZES, measured, strict=True):
        print(f"{count:11,} {one.build:8.2f} {one.first_run:8.2f} {one.later_run:8.2f} {one.whole:8.2f}")
    for title, column in (("total", [one.whole for one in measured]), ("later", [one.later_run for one in measured])):
        worst = max(column) / min(column)
        print(f"{title}: dearest / cheapest node {worst:.2f}   goal {LINEAR}{'' if worst <= LINEAR else '   missed'}")
    with tf.device("CPU:0"), recording():  # on the road: a recorder disables the express lanes
        found = run_of_ten_ops()
    print(f"ten ops in a session / on the road, recorded {found:.2f}   goal {TWICE}")
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1)
    found = run_of_ten_ops()
    print(f"ten ops in a session / on the road, simulated GPU {found:.2f}   goal {TWICE}")
    tf.runtime.restart()


if __name__ == "__main__":
    main()
