"""What may go wrong on the way to a task, by seed: messages are late, doubled or lost."""

from __future__ import annotations

import random
from typing import NamedTuple


class Faults(NamedTuple):
    """How likely each fault of a message is; `seed` decides which ones meet it.

    A message that is dropped is one that the connection has lost although it is whole: the one after it tells.
    """

    seed: int = 0
    delayed: float = 0.0
    doubled: float = 0.0
    dropped: float = 0.0
    seconds: float = 0.002
    """How late a delayed message is at most."""

    def plan(self, name: str) -> FaultPlan:
        """Returns the plan of one connection."""
        return FaultPlan(self, random.Random(f"{self.seed} {name}"))


class FaultPlan:
    """Decides for one message after the other."""

    def __init__(self, faults: Faults, source: random.Random) -> None:
        """Draws from a source of its own."""
        self._faults, self._source = faults, source

    def delay(self) -> float:
        """Returns how many seconds the next message is late."""
        is_late = self._source.random() < self._faults.delayed
        return self._source.random() * self._faults.seconds if is_late else 0.0

    def copies(self) -> int:
        """Returns how many times the next message comes: once, twice, or not at all."""
        draw = self._source.random()
        if draw < self._faults.dropped:
            return 0
        return 2 if draw < self._faults.dropped + self._faults.doubled else 1
