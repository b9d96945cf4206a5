"""How long does something take? The least and the middle of several rounds, without the garbage collector."""

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
    """Returns what a call costs the host.

    Args:
      do: called `count` times in each round; short enough on the card for launches not to pile up.
      count: how often.
      finish: waits for the card, once after each round and outside of the time.
      rounds: how many rounds, after one that does not count.
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
    """Returns how long something takes until the card has done it."""
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
