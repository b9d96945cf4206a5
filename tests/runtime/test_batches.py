"""Do packed rows stand for the same events, in less memory?"""

from __future__ import annotations

import gc
import random
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices import simulated
from nbtf._record import recorder as recorder_module
from nbtf._record import rows as rows_module
from nbtf._record.events import Freed, OpExecuted
from nbtf._record.recorder import CAPACITY, Recorder
from nbtf._record.table import Facts
from nbtf._runtime import decisions as decisions_module
from tests.machines import machine
from tests.rings import paired


def run_at_random(dice: random.Random, ops: int) -> None:
    """Runs ops of many shapes on three devices, with constants, copies, lists, reads, errors and updates."""
    with tf.device("CPU:0"):
        v = tf.Variable(tf.ones([3]))
    alive: list[Any] = [tf.ones([3])]
    for _ in range(ops):
        x = alive[dice.randrange(len(alive))]
        with tf.device(dice.choice(["CPU:0", "GPU:0", "GPU:1"])):
            action = dice.randrange(7)
            if action == 0:
                alive.append(tf.ones([3]) * float(dice.randrange(9)))
            elif action == 1:
                alive += tf.split(tf.concat([x, x], 0), 2)
            elif action == 2:
                v.assign_add(x)
            elif action == 3:
                tf.reduce_sum(tf.ones([dice.randrange(1, 5000)])).numpy()
            elif action == 4:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    tf.add(x, [1.0, 2.0])
            else:
                alive.append(tf.negative(x))
        del alive[: -1 - dice.randrange(5)]


def pack(recorder: Recorder) -> None:
    """Packs whatever was counted."""
    recorder.snapshot(0)
    recorder._blocks, recorder._facts = tuple([block.packed() for block in recorder._blocks]), None


def plain(events: Any) -> list[Any]:
    """Events without what another listener hears otherwise: numbers, times, frees, and the start of its clock."""
    changed = [event._replace(seq=0, time=0.0) for event in events if not isinstance(event, Freed)]
    return [
        event._replace(seconds=0.0) if isinstance(event, OpExecuted) and event.timing == "finished" else event
        for event in changed
    ]


def without_starts(events: Any) -> list[Any]:
    """Events without what scenes change."""
    return [event._replace(start=None) if hasattr(event, "start") else event for event in plain(events)]


@pytest.mark.parametrize("worth", [0, 100])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_leave_the_same_events_packed_or_not(
    seed: int, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "_BLOCK", worth)
    dice = random.Random(seed)
    with machine(2):
        recorder, heard = Recorder(), list[Any]()
        tf.runtime.start_recorder(recorder)
        tf.runtime.observe(heard.append)
        for number in range(4):
            recorder.begin_scene(f"cell {number}")
            run_at_random(dice, dice.randrange(1, 120))
        expected, scenes = recorder.snapshot(), [recorder.events_of(scene) for scene in recorder.scenes]
        last = recorder.snapshot(50).events
        pack(recorder)

    assert repr(expected.events) == repr(recorder.snapshot().events)
    assert expected == recorder.snapshot()
    assert (last, scenes) == (recorder.snapshot(50).events, [recorder.events_of(scene) for scene in recorder.scenes])
    assert scenes == [tuple(event for event in expected.events if scene.has(event)) for scene in recorder.scenes]
    assert without_starts(heard) == without_starts(expected.events)


@pytest.mark.parametrize("looks", [False, True], ids=["later", "before"])
def test_the_modelled_clock_is_the_same_from_packed_notes(looks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_BLOCK", 0)
    with machine(2):
        recorder, heard = Recorder(), list[Any]()
        tf.runtime.start_recorder(recorder)
        tf.runtime.observe(heard.append)
        for _ in range(3):
            run_at_random(random.Random(1), 100)
            if looks:
                recorder.snapshot(1)
            else:
                recorder.count()

    assert plain(heard) == plain(recorder.snapshot().events)


def test_placement_is_explained_from_packed_notes() -> None:
    with machine(1):
        recorder = Recorder()
        tf.runtime.start_recorder(recorder)
        run_at_random(random.Random(2), 200)
        events = [event for event in recorder.snapshot().events if isinstance(event, OpExecuted)]
        executed = [event for event in events if event.op != "_EagerConst"][::20]
        expected = [recorder.placed_before(event.seq) for event in executed]
        pack(recorder)

        assert None not in expected
        assert expected == [recorder.placed_before(event.seq) for event in executed]
        assert recorder.placed_before(1 << 40) is None


def test_threads_lose_no_event_while_notes_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_BLOCK", 100)
    with machine(1):
        recorder = Recorder(1000)
        tf.runtime.start_recorder(recorder)
        x = tf.constant([1.0, 2.0])
        recorder.clear()

        def work() -> None:
            for number in range(600):
                tf.negative(x)
                if number % 100 == 0:
                    recorder.snapshot(10)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = recorder.snapshot()

    numbers = [event.seq for event in taken.events]
    assert (2400, 2400, 1000) == (taken.placed, taken.executed, len(taken.events))
    assert sorted(set(numbers)) == numbers


def test_interrupt_while_notes_are_packed_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*values: Any) -> Any:
        raise KeyboardInterrupt

    x = tf.constant([1.0])
    with tf.runtime.recording() as record:
        for _ in range(100):
            tf.negative(x)
        with monkeypatch.context() as patch:
            patch.setattr(recorder_module, "_BLOCK", 0)
            patch.setattr(Facts, "numbers_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                record.snapshot()
        tf.negative(x)

    assert (101, 101, 202) == (record.snapshot().placed, record.snapshot().executed, len(record.events))


# Memory


def run_on_the_cpu() -> None:
    with tf.device("CPU:0"):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        for _ in range(3000):
            tf.add(tf.matmul(x, x), x)


def run_on_a_gpu() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(2000):
        tf.add(tf.matmul(x, x), x)


def train_on_two_gpus() -> None:
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        v, optimizer = tf.Variable(tf.ones([4, 4])), tf.keras.optimizers.SGD(0.01)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(v, v))
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    for _ in range(100):
        strategy.run(step)


def fit() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(np.ones((320, 4), "float32"), np.ones((320, 1), "float32"), epochs=5, verbose=0)


@pytest.mark.parametrize("program", [run_on_the_cpu, run_on_a_gpu, train_on_two_gpus, fit])
def test_a_packed_event_takes_less_than_48_bytes(program: Callable[[], None]) -> None:
    with machine(2):
        recorder = Recorder()
        stop = tf.runtime.start_recorder(recorder)
        program()  # what is kept once is there from now on
        recorder.clear()
        tracemalloc.start()
        program()
        stop()
        pack(recorder)
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    heard = recorder.snapshot(0).heard
    assert heard > 5000
    assert taken < 48 * heard


@pytest.mark.parametrize(("device", "seed"), paired(["CPU:0", "GPU:0"], range(2)))
def test_ever_new_shapes_take_few_bytes_more(device: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "_SUBJECTS", {})  # has a bound of its own
    for module in (simulated, decisions_module):
        monkeypatch.setattr(module, "_REMEMBERED", 1)
    dice = random.Random(seed)
    with machine(1), tf.device(device):
        recorder = Recorder()
        tf.runtime.start_recorder(recorder)
        tf.reduce_sum(tf.zeros([2]))
        recorder.clear()
        tracemalloc.start()
        for _ in range(1500):
            x = tf.zeros([dice.randrange(1, 40) for _ in range(dice.randrange(1, 4))])
            tf.reduce_sum(x + x, axis=0) if dice.random() < 0.5 else tf.concat([x, x], 0)
        pack(recorder)
        rows_module._SUBJECTS.clear()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        heard = recorder.snapshot(0).heard

    assert heard > 6000
    assert taken < 80 * heard


def test_a_million_events_are_kept() -> None:
    assert 1_000_000 == CAPACITY == Recorder()._capacity


def test_notes_are_packed_and_the_oldest_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant([1.0, 2.0])
    recorder = Recorder(7001)
    stop = tf.runtime.start_recorder(recorder)
    for number in range(9000):
        tf.negative(x)
        if number % 700 == 0:
            recorder.snapshot(3)
    stop()

    taken = recorder.snapshot()
    numbers = [event.seq for event in taken.events]
    assert (18000, 7001, numbers) == (taken.heard, len(numbers), sorted(set(numbers)))
    *full, last = [len(block.rows) for block in recorder._blocks]
    assert recorder._facts is not None
    assert 0 < last < 1000 <= min(full)
