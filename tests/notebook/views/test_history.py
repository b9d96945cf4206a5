"""Does a curve of few points keep what matters: the highest ones, the last ones, the order?"""

from __future__ import annotations

from random import Random

import pytest

from nbtf import runtime
from nbtf.notebook.views.history import FEWEST, MOST, NEW, History, share
from tests.rings import seeds


def allocated(seconds: float, in_use: int) -> runtime.Allocated:
    return runtime.Allocated("GPU:0", 256, in_use, 4096, 1, seconds)


@pytest.mark.parametrize("seed", seeds(100))
def test_thinned_curve_keeps_its_peak_its_end_and_its_order(seed: int) -> None:
    chance = Random(seed)
    sizes = [chance.randrange(1000) for _ in range(chance.randint(1, 400))]
    most = chance.randint(8, MOST)
    history = History()
    for number, in_use in enumerate(sizes):
        history.look(number, in_use, 4096, max(sizes[: number + 1]))
        history.thin(most)

    times = [ms for ms, _, _ in history.points]
    assert len(history.points) <= most
    assert (max(sizes), sizes[-1]) == (max(in_use for _, in_use, _ in history.points), history.points[-1][1])
    assert times == sorted(times)


def test_flat_line_is_two_points() -> None:
    history = History()
    for second in range(10):
        history.look(second, 256, 4096, 256)

    assert [(0, 256, 4096), (9000, 256, 4096)] == history.points


def test_of_many_events_the_highest_are_kept() -> None:
    history = History()
    history.take([allocated(number / 1000, 7777 if number == 313 else number) for number in range(640)], since=0.0)

    assert (True, 7777) == (len(history.points) <= NEW, max(in_use for _, in_use, _ in history.points))


def test_peak_that_no_event_told_shows() -> None:
    history = History()
    history.look(0, 256, 4096, 256)
    history.look(1, 256, 4096, 2048)
    history.look(2, 256, 4096, 2048)

    assert [256, 2048, 256, 256] == [in_use for _, in_use, _ in history.points]


@pytest.mark.parametrize(("devices", "points"), [(1, MOST), (2, MOST), (4, 60), (8, FEWEST), (64, FEWEST)])
def test_many_devices_share_the_points(devices: int, points: int) -> None:
    assert points == share(devices)
