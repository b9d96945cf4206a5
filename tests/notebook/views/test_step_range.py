"""Are the sums of a selected range of steps those of the events in it?"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook import catalogue
from nbtf.notebook.snapshots.history import Window
from nbtf.notebook.snapshots.memory import memory_of
from nbtf.notebook.snapshots.page import devices_to_view
from nbtf.notebook.stills.memory_data import memory_data
from tests.machines import MIB, machine
from tests.notebook.snapshots.samples import sample
from tests.notebook.stills.test_memory_pictures import at_random, history_of
from tests.notebook.views.test_plane import asked, needs_node
from tests.rings import seeds


def sums(tmp_path: Path, data: dict[str, Any], ranges: list[tuple[int, int]]) -> list[list[int]]:
    """Most in use, bytes and pieces allocated, and bytes freed, as the page adds them up."""
    listed = "({ most, change, allocated, freed }) => [most, change, allocated.bytes, allocated.count, freed.bytes]"
    return asked(
        tmp_path, data, f"{json.dumps(ranges)}.map(([from, to]) => ({listed})(sumsOfSteps(history, {{ from, to }})))"
    )


def some_ranges(seed: int, steps: int) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    pairs = [sorted((draw.randrange(steps), draw.randrange(steps))) for _ in range(40)]
    return [(0, steps - 1), (0, 0), *((first, last) for first, last in pairs)]


@needs_node
@pytest.mark.parametrize("seed", seeds(2))
def test_sums_of_a_recording_are_those_of_its_events(seed: int, tmp_path: Path) -> None:
    with machine(1, memory="64MiB"):
        with tf.runtime.recording() as record:
            at_random(seed)
        history = history_of(record, 64 * MIB)
    ranges = some_ranges(seed, history.steps)

    answers = sums(tmp_path, memory_data(history), ranges)

    for (first, last), answer in zip(ranges, answers, strict=True):
        events = history.changes[first : last + 1]
        allocated = [event.size for event in events if isinstance(event, tf.runtime.Allocated)]
        before = history.in_use[first - 1] if first else 0
        change = history.in_use[last] - before
        assert (max(history.in_use[first : last + 1]), sum(allocated), len(allocated)) == (
            answer[0],
            answer[2],
            answer[3],
        )
        assert not first or change == answer[1] == answer[2] - answer[4]


@needs_node
@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("begin", [0, 50])
def test_sums_of_a_snapshot_are_those_of_its_pieces(seed: int, begin: int, tmp_path: Path) -> None:
    viewed = devices_to_view(sample(seed, failure=False))
    (device,) = viewed.histories
    words = {**catalogue.words("timeline"), **catalogue.words("snapshot")}
    window = Window(begin, device.steps)
    ranges = some_ranges(seed, device.steps - begin)

    answers = sums(tmp_path, memory_of(device, window, viewed.naming, words), ranges)

    pieces = device.pieces
    for (first, last), answer in zip(ranges, answers, strict=True):
        born = (pieces.birth >= first + begin) & (pieces.birth <= last + begin) & (pieces.event >= 0)
        freed = (pieces.death >= first + begin) & (pieces.death <= last + begin)
        used = device.in_use[first + begin : last + begin + 1]
        assert int(used.max()) == answer[0]
        assert [int(pieces.size[born].sum()), int(born.sum()), int(pieces.size[freed].sum())] == answer[2:]
