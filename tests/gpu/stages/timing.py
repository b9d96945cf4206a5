"""Measures durations: the minimum and the median of several rounds, with the garbage collector switched off."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """Seconds for one call."""

    least: float
    middle: float


def per_call(do: Callable[[], Any], count: int, finish: Callable[[], Any] = lambda: None, rounds: int = 5) -> Timed:
    """Returns the host's time for one call.

    Args:
      do: called `count` times in each round; so short on the card that launches do not pile up.
      count: number of calls in a round.
      finish: waits for the card, once after each round; this time is not counted.
      rounds: number of rounds, after a first one that is not counted.
    """
    found: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds + 1):
            finish()
            start = perf_counter()
            for _ in range(count):
                do()
            found.append((perf_counter() - start) / count)
            finish()
    finally:
        gc.enable()
    return Timed(min(found[1:]), statistics.median(found[1:]))


def finished(do: Callable[[], Any], finish: Callable[[], Any], rounds: int = 10, warm: int = 3) -> Timed:
    """Returns the time until the card has finished the work."""
    found: list[float] = []
    for number in range(warm + rounds):
        finish()
        start = perf_counter()
        made = do()
        finish()
        if number >= warm:
            found.append(perf_counter() - start)
        del made
    return Timed(min(found), statistics.median(found))
