"""How much longer does one function keep the processor busy than another, on a machine that is never quiet?"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from time import process_time

ROUNDS = 15
"""How often each function has its turn."""

BLOCK_SECONDS = 0.01
"""How long a turn takes at least."""


def seconds(*functions: Callable[[], object]) -> list[float]:
    """The lower quartile of the CPU seconds that each of some functions takes, which run in turn."""
    for function in functions:
        function()  # what is done once, such as tracing
    counts = [max(1, int(BLOCK_SECONDS / max(_took(function, 3), 1e-9))) for function in functions]
    turns = [[_took(function, count) for function, count in zip(functions, counts, strict=True)] for _ in range(ROUNDS)]
    return [statistics.quantiles(column, n=4)[0] for column in zip(*turns, strict=True)]


def _took(function: Callable[[], object], count: int) -> float:
    start = process_time()
    for _ in range(count):
        function()
    return (process_time() - start) / count
