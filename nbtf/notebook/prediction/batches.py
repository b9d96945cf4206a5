"""Where does a program say its batch size, and which is the largest that fits?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nbtf.notebook.prediction.program import UNLIMITED, Cell, Outcome

_NAMES = "batch_size|BATCH_SIZE|train_batch_size|TRAIN_BATCH_SIZE|per_device_train_batch_size|batch|BATCH|bs|BS"
_TRIALS = 2
"""Runs on cards without a limit, beside the first, for a line to look for the largest batch on."""
_MOST_RUNS = 24
_PART = 100
"""The first steps away from what a straight line says are this part of it."""
_LARGEST = 1 << 20
"""No batch above this is tried."""


class BatchSize:
    """The number that cells give a name, such as `batch_size = 32` or `DataLoader(..., batch_size=32)`."""

    def __init__(self, cells: Sequence[Cell], name: str | None = None) -> None:
        """Looks for it.

        Raises:
          ValueError: a name was given, and no cell gives it a whole number.
        """
        self._cells = cells
        for names in [re.escape(name)] if name else _NAMES.split("|"):
            self._pattern = re.compile(rf"(?<![\w.])({names})(\s*=\s*)(\d+)(?![\w.])")
            matches = [match for cell in cells if (match := self._pattern.search(cell.source))]
            if matches:
                self.name, self.value = matches[0][1], int(matches[0][3])
                return
        if name:
            raise ValueError(f"No cell gives {name} a whole number, as in {name} = 32.")
        self.name, self.value = "", 0

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.name)

    def cells(self, value: int) -> list[Cell]:
        """Returns the cells with another number."""
        return [cell._replace(source=self._pattern.sub(rf"\g<1>\g<2>{value}", cell.source)) for cell in self._cells]


class Largest(NamedTuple):
    """What a search has seen: the largest batch that fits (0: none), the smallest that does not (None: none), runs."""

    fits: int
    fails: int | None
    runs: int


def largest(value: int, total: int, run: Callable[[int, int | None], Outcome]) -> Largest:
    """Looks for the largest batch that fits: tries what a straight line says, and then its neighbours.

    Args:
      value: a batch to begin with.
      total: memory of the card.
      run: runs the program with a batch, on cards of some memory, or of their own where that is None.
    """
    guess, runs = _guess(value, total, run)
    fits, fails, step = 0, None, max(1, guess // _PART)
    while runs < _MOST_RUNS and guess < _LARGEST and (fails is None or fails - fits > 1):
        runs += 1
        if run(guess, None).fits:
            fits = guess
            guess, step = (guess + step, 2 * step) if fails is None else ((fits + fails) // 2, step)
        else:
            fails = guess
            guess, step = (max(guess - step, 1), 2 * step) if not fits else ((fits + fails) // 2, step)
    return Largest(fits, fails, runs)


def _guess(value: int, total: int, run: Callable[[int, int | None], Outcome]) -> tuple[int, int]:
    """Returns the batch at which a line through two runs meets the memory of the card, and how many runs that took."""
    low, low_bytes, high = value, _needed(run(value, UNLIMITED)), 2 * value
    guess = high
    for _ in range(_TRIALS):
        high_bytes = _needed(run(high, UNLIMITED))
        slope = (high_bytes - low_bytes) / (high - low) if high != low else 0
        guess = int(low + (total - low_bytes) / slope) if slope > 0 else high
        guess = min(max(guess, 1), _LARGEST - 1)
        if abs(total - high_bytes) < abs(total - low_bytes):
            low, low_bytes = high, high_bytes
        high = guess
    return guess, 1 + _TRIALS


def _needed(outcome: Outcome) -> int:
    """Returns what a program cannot do without: what is cached beside it is given back where the card is full."""
    return 0 if outcome.peak is None else outcome.peak.allocated
