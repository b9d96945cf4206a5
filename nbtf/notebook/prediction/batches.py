"""Finds the batch size of a program, and the largest one that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nbtf.notebook.prediction.program import UNLIMITED, Cell, Outcome

_NAMES = "batch_size|BATCH_SIZE|train_batch_size|TRAIN_BATCH_SIZE|per_device_train_batch_size|batch|BATCH|bs|BS"
_TRIALS = 2
"""Number of runs on cards without a limit, besides the first, for a straight line through their results."""
_MOST_RUNS = 24
_PART = 100
"""The first steps away from the straight line's estimate are this fraction of it."""
_LARGEST = 1 << 20
"""Largest batch to try."""


class BatchSize:
    """The number that cells assign to a name, such as `batch_size = 32` or `DataLoader(..., batch_size=32)`."""

    def __init__(self, cells: Sequence[Cell], name: str | None = None) -> None:
        """Searches the cells for the batch size.

        Raises:
          ValueError: if a name was given, and no cell assigns a whole number to it.
        """
        self._cells = cells
        for names in [re.escape(name)] if name else _NAMES.split("|"):
            self._pattern = re.compile(rf"(?<![\w.])({names})(\s*=\s*)(\d+)(?![\w.])")
            matches = [match for cell in cells if (match := self._pattern.search(cell.source))]
            if matches:
                self.name, self.value = matches[0][1], int(matches[0][3])
                return
        if name:
            raise ValueError(f"No cell sets {name} to a whole number, as in {name} = 32.")
        self.name, self.value = "", 0

    def __bool__(self) -> bool:
        """Whether there is a batch size."""
        return bool(self.name)

    def cells(self, value: int) -> list[Cell]:
        """Returns the cells with another batch size."""
        return [cell._replace(source=self._pattern.sub(rf"\g<1>\g<2>{value}", cell.source)) for cell in self._cells]


class Largest(NamedTuple):
    """The largest batch that fits (0 if none), the smallest tried that does not (None if none), and the runs.

    `examples` is the size of the data set, beyond which no batch grows; None if it is unknown.
    """

    fits: int
    fails: int | None
    runs: int
    examples: int | None = None


def largest(value: int, total: int, run: Callable[[int, int | None], Outcome]) -> Largest:
    """Searches for the largest batch that fits: first a straight line's estimate, then its neighbours.

    The search ends at the size of the data set, if the program loads its batches with a `DataLoader`.

    Args:
      value: the batch to begin with.
      total: memory of the card, in bytes.
      run: runs the program with a batch, on cards with the given memory; None uses their own.
    """
    first = run(value, UNLIMITED)
    examples = first.examples.get(value)
    limit = examples or _LARGEST - 1
    guess, runs = _guess(value, total, _needed(first), limit, run)
    fits, fails, step = 0, None, max(1, guess // _PART)
    while runs < _MOST_RUNS and fits < limit and (fails is None or fails - fits > 1):
        runs += 1
        if run(guess, None).fits:
            fits = guess
            guess, step = (min(guess + step, limit), 2 * step) if fails is None else ((fits + fails) // 2, step)
        else:
            fails = guess
            guess, step = (max(guess - step, 1), 2 * step) if not fits else ((fits + fails) // 2, step)
    return Largest(fits, fails, runs, examples)


def _guess(
    value: int, total: int, value_bytes: int, limit: int, run: Callable[[int, int | None], Outcome]
) -> tuple[int, int]:
    """Returns the batch at which a line through two runs reaches the card's memory, and the number of runs used."""
    low, low_bytes, high = value, value_bytes, 2 * value
    guess = high
    for _ in range(_TRIALS):
        high = min(high, limit)
        high_bytes = _needed(run(high, UNLIMITED))
        slope = (high_bytes - low_bytes) / (high - low) if high != low else 0
        guess = int(low + (total - low_bytes) / slope) if slope > 0 else high
        guess = min(max(guess, 1), limit)
        if abs(total - high_bytes) < abs(total - low_bytes):
            low, low_bytes = high, high_bytes
        high = guess
    return guess, 1 + _TRIALS


def _needed(outcome: Outcome) -> int:
    """Returns the memory that a program needs, without cached memory, which is released if the card is full."""
    return 0 if outcome.peak is None else outcome.peak.allocated
