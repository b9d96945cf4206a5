"""Does every op and copy have its start on the modelled clock, and every run of a cell its scene?"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._record.events import Copied, OpExecuted
from nbtf.notebook.magics.trace import trace_events
from nbtf.runtime import Recorder
from tests.machines import machine


def modelled(events: Sequence[Any]) -> list[Any]:
    """The ops and copies that are on the clock."""
    return [event for event in events if getattr(event, "start", None) is not None]


def ends(event: Any) -> list[str]:
    names = [event.device] if isinstance(event, OpExecuted) else [event.source, event.target]
    return [name for name in names if "CPU" not in name]


def wander(seed: int, rounds: int = 60) -> None:
    chosen = random.Random(seed)
    held = [tf.ones([64, 64])]
    for _ in range(rounds):
        with tf.device(f"GPU:{chosen.randrange(3)}"):
            held.append(tf.matmul(chosen.choice(held), chosen.choice(held)))
        if chosen.random() < 0.2:
            held[-1].numpy()
        del held[:-5]


@pytest.mark.parametrize("seed", range(4))
def test_each_device_works_in_order_and_without_a_pause_that_nothing_explains(seed: int) -> None:
    with machine(3, "Tesla K20m"), tf.runtime.recording() as record:
        wander(seed)
    free: dict[str, float] = {}
    for event in modelled(record.events):
        assert event.start == max([free.get(end, 0.0) for end in ends(event)], default=0.0), event
        free |= dict.fromkeys(ends(event), event.start + event.seconds)

    assert len(free) == 3


def test_the_host_feeds_all_cards_at_once_and_cards_wait_for_each_other() -> None:
    with machine(3, "Tesla K20m"), tf.runtime.recording() as record:
        batch = np.ones(2**18, np.float32)
        parts: list[Any] = []
        for number in range(3):
            with tf.device(f"GPU:{number}"):
                parts.append(tf.constant(batch))
        with tf.device("GPU:0"):
            tf.add_n(parts)
    uploads = [event for event in record.events if isinstance(event, Copied) and event.kind == "upload"]
    moves = [event for event in record.events if isinstance(event, Copied) and event.kind == "move"]

    assert [0.0] * 3 == [event.start for event in uploads]
    assert [uploads[0].seconds, uploads[0].seconds + moves[0].seconds] == [event.start for event in moves]


def test_measured_time_is_not_on_the_clock() -> None:
    with machine(1), tf.runtime.recording() as record, tf.device("CPU:0"):
        tf.negative(tf.ones([3]))

    assert [] == modelled(record.events)
    assert "finished" in [event.timing for event in record.events if isinstance(event, OpExecuted)]


def test_observers_recorders_parts_of_a_recording_and_the_trace_agree() -> None:
    heard: list[Any] = []
    with machine(3, "Tesla K20m"):
        recorder, small = Recorder(), Recorder(3000)
        stop = tf.runtime.observe(heard.append)
        tf.runtime.start_recorder(recorder)
        tf.runtime.start_recorder(small)
        for seed in range(12):
            wander(seed, 200)
            small.snapshot(1)
        stop()
        devices = tf.runtime.devices()
    starts = {event.seq: event.start for event in modelled(recorder.snapshot().events)}

    assert starts == {event.seq: event.start for event in modelled(heard)}
    for events in (small.snapshot().events, recorder.snapshot(50).events):
        assert modelled(events)
        assert {event.seq: event.start for event in modelled(events)}.items() <= starts.items()
    assert len(small.snapshot().events) < len(starts)
    trace = trace_events(recorder.snapshot().events, devices, str)
    slices = [one for one in trace if one["ph"] == "X" and one["name"].startswith("MatMul")]
    assert {round(1e6 * start, 3) for start in starts.values()} >= {round(one["ts"], 3) for one in slices[:50]}


# Scenes


def test_each_run_of_a_cell_is_a_scene_with_its_events() -> None:
    with machine(2):
        recorder = Recorder()
        tf.runtime.start_recorder(recorder)
        for number in (1, 2, 2):
            recorder.begin_scene(f"cell {number}")
            tf.ones([number])
            recorder.end_scene()
            tf.zeros([5])

    scenes = recorder.scenes
    assert [(1, 1, "cell 1"), (2, 1, "cell 2"), (3, 1, "cell 2")] == [scene[:3] for scene in scenes]
    for scene in scenes:
        events = recorder.events_of(scene)
        fills = [event.outputs[0].shape for event in events if isinstance(event, OpExecuted) and event.op == "Fill"]
        assert [(int(scene.cell[-1]),)] == fills
    assert scenes[0].last is not None
    assert scenes[0].last < scenes[1].first


def test_a_restart_begins_a_scene_on_another_machine() -> None:
    with machine(2):
        recorder = Recorder()
        tf.runtime.start_recorder(recorder)
        recorder.begin_scene("cell 4")
        tf.ones([1])
        tf.runtime.restart()
        tf.ones([2])
        recorder.end_scene()

    assert [(1, 1, "cell 4"), (2, 2, "cell 4")] == [scene[:3] for scene in recorder.scenes]
    assert all(recorder.events_of(scene) for scene in recorder.scenes)


def test_a_scene_begins_when_all_before_it_is_over() -> None:
    with machine(2, "Tesla K20m"):
        recorder = Recorder()
        tf.runtime.start_recorder(recorder)
        recorder.begin_scene("cell 1")
        big = tf.ones([512, 512])
        tf.matmul(big, big)
        recorder.begin_scene("cell 2")
        with tf.device("GPU:1"):
            tf.ones([2])
    first, second = (modelled(recorder.events_of(scene)) for scene in recorder.scenes)

    assert max(event.start + event.seconds for event in first) == min(event.start for event in second)
