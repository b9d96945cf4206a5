"""Do bins say how busy devices were with what is no longer kept?"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record import recorder as recorder_module
from nbtf._record.density import COPIES, Density
from nbtf._record.events import Copied, OpExecuted
from nbtf.runtime import Recorder
from tests.machines import machine


def wander(dice: random.Random, rounds: int) -> None:
    """Runs ops of a few sizes on three GPUs and the CPU, with phases, and copies between them."""
    held = [tf.ones([48, 48])]
    v = tf.Variable(tf.ones([48, 48]))
    for _ in range(rounds):
        with tf.device(dice.choice(["GPU:0", "GPU:1", "GPU:2", "CPU:0"])):
            if dice.random() < 0.1:
                with tf.GradientTape() as tape:
                    y = tf.matmul(v, dice.choice(held))
                tape.gradient(y, v)
            held.append(tf.matmul(dice.choice(held), dice.choice(held)))
        del held[:-5]


def spans(events: Any, modelled: bool, origin: float) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Begin and end of what each device did, by phase, in seconds since a moment."""
    lanes: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        if not isinstance(event, OpExecuted | Copied) or (event.start is not None) != modelled:
            continue
        is_copy = isinstance(event, Copied)
        devices = [event.source, event.target] if isinstance(event, Copied) else [event.device]
        start = event.time - origin - event.seconds if event.start is None else event.start - origin
        for device in devices:
            if event.seconds and not (modelled and "CPU" in device):
                lanes[device, COPIES if is_copy else event.phase].append((start, start + event.seconds))
    return lanes


def busy(lane: list[tuple[float, float]], begin: float, end: float) -> float:
    """Seconds of what is between two moments."""
    return sum(max(0.0, min(last, end) - max(first, begin)) for first, last in lane)


@pytest.mark.parametrize("clock", ["modelled", "measured"])
@pytest.mark.parametrize("seed", range(4))
def test_a_window_is_the_same_from_bins_and_from_records(
    seed: int, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_BLOCK", 60)
    dice = random.Random(seed)
    with machine(3, "Tesla K20m"):
        small, whole = Recorder(dice.choice([0, 500, 1111])), Recorder()
        for recorder in (small, whole):
            tf.runtime.start_recorder(recorder)
        for number in range(6):
            for recorder in (small, whole) if dice.random() < 0.5 else ():
                recorder.begin_scene(f"cell {number}")
            wander(dice, 60)
            if dice.random() < 0.5:
                small.snapshot(9)
            small.count()

    taken, is_modelled = small.snapshot(), clock == "modelled"
    density: Density = getattr(taken.density, clock)
    origin = density.origin
    every, kept = spans(whole.snapshot().events, is_modelled, origin), spans(taken.events, is_modelled, origin)
    assert taken.cut > 1000
    assert set(every) == set(density.lanes) | set(kept)
    for lane, pieces in every.items():
        both = sum(density.busy(lane, [origin, density.end])) + busy(kept[lane], -np.inf, np.inf)
        assert both == pytest.approx(busy(pieces, -np.inf, np.inf), rel=1e-6)
    for _ in range(30):
        begin, end = sorted(dice.uniform(origin, density.end) for _ in range(2))
        for lane, pieces in every.items() if end - begin > (density.end - origin) / 8 else ():
            both = density.busy(lane, [begin, end])[0] + busy(kept[lane], begin - origin, end - origin)
            assert abs(both - busy(pieces, begin - origin, end - origin)) < 0.01 * (end - begin), lane


def test_bins_grow_wider_and_stay_few() -> None:
    dice = random.Random(5)
    density, time, total = Density(), 0.0, 0.0
    for length in (1e-9, 1e-6, 1.0, 1e-3, 1e5):
        work: list[float] = []
        for _ in range(500):
            time += dice.uniform(0, length)
            work += (time, length)
            time, total = time + length, total + length
        density = density.with_work({("GPU:0", "forward"): work, ("GPU:1", ""): work[:2]})

        assert density.end >= time > density.end - 2 * density.width
        assert density.end / density.width <= 4097
        assert density.busy(("GPU:0", "forward"), [0, density.end]) == [pytest.approx(total)]
    assert density.busy(("GPU:7", "forward"), [0.0, 1.0, 2.0]) == [0.0, 0.0]


def test_what_overlaps_or_came_before_counts_too() -> None:
    lane = "CPU:0", ""
    density = Density().with_work({lane: [100.0, 1.0, 100.5, 1.0]}).with_work({lane: [97.25, 0.5, 101.0, 0.25]})

    assert density.busy(lane, [97, 100, 100.5, 101, 200]) == pytest.approx([0.5, 0.5, 1.0, 0.75], abs=1e-3)


def test_nothing_is_dropped_while_there_is_room() -> None:
    with machine(1), tf.runtime.recording() as record:
        tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))

    assert ((), ()) == (record.snapshot().density.modelled.lanes, record.snapshot().density.measured.lanes)
