"""Compares the CPU time of functions on a machine that also runs other programs."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import process_time

ROUNDS = 15
"""Number of turns per function."""

BLOCK_SECONDS = 0.01
"""Minimum duration of a turn."""


def seconds(*functions: Callable[[], object]) -> list[float]:
    """Returns the lower quartile of each function's CPU seconds per call; the functions run in turn."""
    for function in functions:
        function()  # work that happens only once, such as tracing
    counts = [max(1, int(BLOCK_SECONDS / max(_took(function, 3), 1e-9))) for function in functions]
    turns = [[_took(function, count) for function, count in zip(functions, counts, strict=True)] for _ in range(ROUNDS)]
    return [statistics.quantiles(column, n=4)[0] for column in zip(*turns, strict=True)]


def _took(function: Callable[[], object], count: int) -> float:
    start = process_time()
    for _ in range(count):
        function()
    return (process_time() - start) / count
