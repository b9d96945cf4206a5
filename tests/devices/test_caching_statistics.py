"""Tests that statistics which are computed when they are read equal those of a plain copy."""

from __future__ import annotations

import random

import pytest

from nbtf._devices.caching import statistics as count
from nbtf._devices.caching.statistics import Statistics
from tests.devices.slow_statistics import SlowStatistics
from tests.rings import seeds


class Both:
    """The same changes to the statistics and to their plain copy."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.fast, self.slow = chance, Statistics(), SlowStatistics()
        self.held: list[tuple[bool, int, int]] = []
        self.waiting: list[tuple[bool, int, int]] = []

    def grant(self) -> None:
        self.end_activities()  # as the allocator does before it grants memory
        small, size = self.chance.random() < 0.5, self.chance.randrange(1, 100)
        requested = self.chance.randrange(size + 1)
        self.held.append((small, size, requested))
        self.fast.grant(small, size, requested)
        for metric, amount in (("allocation", 1), ("active", 1), ("allocated_bytes", size), ("active_bytes", size)):
            self.slow.add(metric, small, amount)
        self.slow.add("requested_bytes", small, requested)

    def end_use(self) -> None:
        if self.held:
            small, size, requested = self.held.pop(self.chance.randrange(len(self.held)))
            self.fast.end_use(small, size)
            self.slow.add("allocation", small, -1)
            self.slow.add("allocated_bytes", small, -size)
            self.waiting.append((small, size, requested))

    def end_activities(self) -> None:
        while self.waiting:
            small, size, requested = self.waiting.pop()
            self.fast.end_activity(small, size, requested)
            for metric, amount in (("active", 1), ("active_bytes", size), ("requested_bytes", requested)):
                self.slow.add(metric, small, -amount)

    def split(self) -> None:
        small, amount = self.chance.random() < 0.5, self.chance.randrange(-20, 30)
        self.fast.add(count.INACTIVE_SPLIT_BYTES, small, amount)
        self.slow.add("inactive_split_bytes", small, amount)

    def reset_peaks(self) -> None:
        self.fast.reset_peaks()
        self.slow.reset_peaks()

    def reset_accumulated(self) -> None:
        self.fast.reset_accumulated()
        self.slow.reset_accumulated()


@pytest.mark.parametrize("seed", seeds(40))
def test_figures_are_those_of_a_plain_copy(seed: int) -> None:
    both = Both(random.Random(seed))
    steps = [both.grant, both.grant, both.end_use, both.end_activities, both.split]

    for _ in range(80):
        both.chance.choice([*steps, both.reset_peaks, both.reset_accumulated])()

        nested = both.fast.nested(-1)
        assert {at: nested[at[0]][at[1]] for at in both.slow.figures} == both.slow.figures
