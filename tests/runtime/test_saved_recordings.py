"""Saved recordings: a file gives back every event, total and figure, and a damaged file raises one class of error."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.collectives import all_reduce
from nbtf._record.columns import read, written
from nbtf._record.saved import COLUMNS, DOCUMENT, SCHEMA
from nbtf._storage import packing
from nbtf._storage.refusal import RefusedFileError
from tests.machines import cluster
from tests.rings import seeds

EVENTS = ("OpPlaced", "OpExecuted", "Copied", "Allocated", "Freed", "Refused", "Traced")


def random_program(seed: int) -> None:
    """Runs ops on random devices; some fail, some are traced, some free memory."""
    random = Random(seed)
    doubled = tf.function(lambda x: x + x)
    tensors = [tf.ones([random.randint(1, 40)])]
    variable = tf.Variable(tf.zeros([4]))
    for step in range(random.randint(5, 40)):
        with tf.device(random.choice(["GPU:0", "GPU:1", "CPU:0"])):
            x = random.choice(tensors)
            match random.randint(0, 7):
                case 0:
                    tensors.append(tf.ones([random.randint(1, 3000)]))
                case 1:
                    tensors.append(doubled(x))
                case 2:
                    del tensors[random.randint(0, len(tensors) - 1) :]
                    tensors.append(tf.fill([3], float(step)))
                case 3:
                    float(tf.reduce_sum(x))
                case 4 if random.random() < 0.3:
                    with tf.device("GPU:1"), pytest.raises(tf.errors.ResourceExhaustedError):
                        tf.zeros([2**30])
                case 5:
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_sum(variable * 2.0)
                    tape.gradient(loss, variable)
                case _:
                    tensors.append(x * 2.0)


def recorded(seed: int, capacity: int = 1_000_000) -> Any:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, memory="1GiB")
    before = tf.ones([seed + 1])  # memory from before the first event
    with tf.runtime.recording(capacity) as record:
        random_program(seed)
        del before
    return record


def saved(record: Any, folder: Path) -> Any:
    record.save(folder / "a.nbtf")
    return tf.runtime.read_recording(folder / "a.nbtf")


def typed(value: Any) -> Any:
    """Returns a value with the classes of everything in it, and with the paths of reasons."""
    if isinstance(value, tuple):
        return type(value).__name__, getattr(value, "path", ()), [typed(each) for each in value]
    return type(value).__name__, value


@pytest.mark.parametrize("seed", seeds(200))
def test_the_file_gives_back_everything(seed: int, tmp_path: Path) -> None:
    record = recorded(seed)
    opened = saved(record, tmp_path)

    assert [typed(event) for event in record.events] == [typed(event) for event in opened.events]
    mine, theirs = record.snapshot(), opened.snapshot()
    assert mine._replace(events=()) == theirs._replace(events=())
    for name in ("seq", "start", "seconds", "time"):
        assert np.array_equal(getattr(mine.work, name), getattr(theirs.work, name), equal_nan=True)
    reasons = [[snapshot.work.facts[at].reason for at in snapshot.work.fact] for snapshot in (mine, theirs)]
    assert reasons[0] == reasons[1]
    assert {name: [*map(list, level)] for name, level in mine.levels.items()} == {
        name: [*map(list, level)] for name, level in theirs.levels.items()
    }
    assert (record.ops, record.copies, record.traces, record.memory) == (
        opened.ops,
        opened.copies,
        opened.traces,
        opened.memory,
    )
    assert record.regions_before("GPU:0") == opened.regions_before("GPU:0")
    assert record.fits("900MiB") == opened.fits("900MiB")
    assert mine.lines().sites == theirs.lines().sites


def test_every_class_of_event_is_saved(tmp_path: Path) -> None:
    seen = {type(event).__name__ for seed in range(8) for event in saved(recorded(seed), tmp_path).events}

    assert seen == {*EVENTS}


def test_a_recording_from_a_file_can_be_saved_again(tmp_path: Path) -> None:
    record = recorded(3)
    opened = saved(record, tmp_path)
    columns, facts = written(opened.recorder.state().blocks)

    (block,) = read(columns, facts, "again")

    assert block.event_list() == [*record.events]


def test_dropped_events_stay_counted(tmp_path: Path) -> None:
    tf.runtime.simulate_gpus(1, memory="1GiB")
    with tf.runtime.recording(capacity=100) as record:
        for _ in range(3000):
            tf.ones([2])
    opened = saved(record, tmp_path)

    mine, theirs = record.snapshot(), opened.snapshot()
    assert (mine.heard, mine.cut, len(mine.events)) == (theirs.heard, theirs.cut, len(theirs.events))
    assert mine.cut > 0
    assert list(mine.events) == list(theirs.events)
    assert mine.density.modelled.lanes == theirs.density.modelled.lanes
    with pytest.raises(ValueError, match="not in"):
        opened.fits()


def test_an_all_reduce_keeps_its_messages(tmp_path: Path) -> None:
    gpus = [f"/job:worker/replica:0/task:{task}/device:GPU:0" for task in range(3)]
    with cluster(3, 1):
        tensors: list[Any] = []
        for name in gpus:
            with tf.device(name):
                tensors.append(tf.zeros([1 << 18]))
        with tf.runtime.recording() as record:
            all_reduce(tensors, gpus, "ring")
        opened = saved(record, tmp_path)

    assert list(record.events) == list(opened.events)
    assert sum(isinstance(event, tf.runtime.Copied) for event in opened.events) == 3


def test_expectations_hold_as_in_the_new_recording(tmp_path: Path) -> None:
    tf.runtime.simulate_gpus(1, memory="1GiB")
    with tf.runtime.recording() as record:
        x = tf.matmul(tf.ones([4, 4]), tf.ones([4, 4]))
    opened = saved(record, tmp_path)
    del x

    opened.expect("MatMul=GPU:0")
    opened.expect_memory("1MiB")
    with pytest.raises(tf.runtime.ExpectationError, match="MatMul"):
        opened.expect("MatMul=CPU:0")
    with pytest.raises(tf.runtime.ExpectationError, match="peak"):
        opened.expect_memory("100")


def test_without_measured_memory_the_check_of_memory_fails() -> None:
    opened = tf.runtime.OpenedRecording("file", ())

    with pytest.raises(tf.runtime.ExpectationError, match="does not contain the memory use"):
        opened.expect_memory("1GiB")


def test_a_later_schema_is_refused(tmp_path: Path) -> None:
    record = recorded(1)
    saved(record, tmp_path)
    contents = packing.read(tmp_path / "a.nbtf", (DOCUMENT, COLUMNS))
    later = contents[DOCUMENT].replace(SCHEMA.encode(), b"nbtf-recording/2")
    packing.write(tmp_path / "b.nbtf", {DOCUMENT: later, COLUMNS: contents[COLUMNS]})

    with pytest.raises(tf.errors.DataLossError, match=r"nbtf-recording/2.*Update nbtf"):
        tf.runtime.read_recording(tmp_path / "b.nbtf")


def test_another_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.txt", "x")

    with pytest.raises(tf.errors.DataLossError):
        tf.runtime.read_recording(tmp_path / "a.zip")


def changed(value: Any, random: Random) -> Any:
    """Returns plain data in which one value is another one."""
    if isinstance(value, dict) and value and random.random() < 0.95:
        name = random.choice([*value])
        return value | {name: changed(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.95:
        at = random.randrange(len(value))
        return [*value[:at], changed(value[at], random), *value[at + 1 :]]
    return random.choice([None, -1, 0, 1, 2**40, 2**70, "", "x", 0.5, float("nan"), [], {}, True, [[]], ["mark"]])


@pytest.mark.parametrize("seed", seeds(2000))
def test_damaged_parts_raise_one_error_or_can_be_read(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    saved(recorded(seed % 5), tmp_path)
    contents = packing.read(tmp_path / "a.nbtf", (DOCUMENT, COLUMNS))
    refusals: list[str] = []
    for _ in range(10):
        document, arrays = json.loads(contents[DOCUMENT]), dict(np.load(io.BytesIO(contents[COLUMNS])))
        if random.random() < 0.6:
            document = changed(document, random)
        else:
            name = random.choice([*arrays])
            values = arrays[name].copy()
            if len(values) and random.random() < 0.8:
                values[random.randrange(len(values))] = random.choice([0, 1, 100, 127])
            else:
                values = random.choice([values[:-1], values.astype("f4"), values.reshape(1, -1)])
            arrays[name] = values
        file = io.BytesIO()
        np.savez(file, **arrays)
        packing.write(tmp_path / "b.nbtf", {DOCUMENT: json.dumps(document).encode(), COLUMNS: file.getvalue()})
        try:
            opened = tf.runtime.read_recording(tmp_path / "b.nbtf")
        except RefusedFileError as error:
            refusals.append(str(error))
        else:
            list(opened.events)
            opened.snapshot().work.facts  # noqa: B018
            opened.snapshot().lines()
    assert [] == [text for text in refusals if "b.nbtf" not in text and "damaged" not in text]
