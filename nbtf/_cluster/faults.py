"""Faults of messages, chosen by a seed: late, duplicated or lost."""

from __future__ import annotations

import random
from typing import NamedTuple


class Faults(NamedTuple):
    """The probability of each fault of a message; `seed` decides which messages are affected.

    A dropped message is lost although the connection stays open; the next message reveals it.
    """

    seed: int = 0
    delayed: float = 0.0
    doubled: float = 0.0
    dropped: float = 0.0
    seconds: float = 0.002
    """Longest delay of a message, in seconds."""

    def plan(self, name: str) -> FaultPlan:
        """Returns the plan of one connection."""
        return FaultPlan(self, random.Random(f"{self.seed} {name}"))


class FaultPlan:
    """Chooses the faults of one message after the other."""

    def __init__(self, faults: Faults, source: random.Random) -> None:
        """Creates a plan with its own random source."""
        self._faults, self._source = faults, source

    def delay(self) -> float:
        """Returns the delay of the next message, in seconds."""
        is_late = self._source.random() < self._faults.delayed
        return self._source.random() * self._faults.seconds if is_late else 0.0

    def copies(self) -> int:
        """Returns how many times the next message arrives: 0, 1 or 2."""
        draw = self._source.random()
        if draw < self._faults.dropped:
            return 0
        return 2 if draw < self._faults.dropped + self._faults.doubled else 1
