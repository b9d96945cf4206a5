"""Does a manager keep what TensorFlow's keeps, also when the program is started again?"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbtf as tf

ENDS = ("data-00000-of-00001", "index")


def managed(folder: Path, **kwargs: Any) -> Any:
    """A manager as a program that has just begun makes it."""
    return tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(0.0)), folder, **kwargs)


def numbers(folder: Path) -> list[int]:
    """The numbers of the checkpoints in a folder, each of which has two files."""
    found = sorted(folder.glob("ckpt-*"))
    names = sorted({path.name.partition(".")[0] for path in found})
    assert [path.name for path in found] == [f"{name}.{end}" for name in names for end in ENDS]
    return sorted(int(name.removeprefix("ckpt-")) for name in names)


def test_the_last_ones_are_kept(tmp_path: Path) -> None:
    manager = managed(tmp_path, max_to_keep=2)
    for value in (1.0, 2.0, 3.0):
        manager.checkpoint.v.assign(value)
        manager.save()

    assert [Path(path).name for path in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert numbers(tmp_path) == [2, 3]
    manager.checkpoint.v.assign(0.0)
    assert manager.restore_or_initialize() == manager.latest_checkpoint
    assert float(manager.checkpoint.v) == 3.0


def test_four_runs_leave_as_many_as_one(tmp_path: Path) -> None:
    manager: Any = None
    for _ in range(4):
        manager = managed(tmp_path, max_to_keep=2)
        manager.restore_or_initialize()
        manager.save()
        manager.save()

    assert numbers(tmp_path) == [7, 8]
    assert managed(tmp_path, max_to_keep=2).checkpoints == manager.checkpoints


@pytest.mark.parametrize(
    ("most", "every", "expected"),
    [(1, 2.5, [3, 6, 9, 10]), (2, 3.5, [4, 7, 9, 10])],  # TensorFlow 2.21 leaves these
    ids=["one", "two"],
)
def test_one_in_some_hours_stays_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, every: float, expected: list[int]
) -> None:
    hours = iter(range(1, 1000))  # an hour passes with each look at the clock
    monkeypatch.setattr("nbtf.train.manager.time", SimpleNamespace(time=lambda: 1e9 + 3600.0 * next(hours)))
    manager: Any = None
    for _ in range(2):
        manager = managed(tmp_path, max_to_keep=most, keep_checkpoint_every_n_hours=every)
        manager.restore_or_initialize()
        for _ in range(5):
            manager.save()

    assert len(manager.checkpoints) == most
    assert numbers(tmp_path) == expected


def test_checkpoints_come_at_intervals(tmp_path: Path) -> None:
    step = tf.Variable(0)
    manager = managed(tmp_path, max_to_keep=9, step_counter=step, checkpoint_interval=2)
    saved = []
    for number in range(5):
        step.assign(number)
        saved.append(manager.save() is not None)

    assert saved == [True, False, True, False, True]
    step.assign(5)
    assert manager.save(check_interval=False) is not None


def test_something_else_is_done_where_there_is_no_checkpoint(tmp_path: Path) -> None:
    done: list[str] = []

    assert managed(tmp_path, max_to_keep=1, init_fn=lambda: done.append("begun")).restore_or_initialize() is None
    assert done == ["begun"]


def test_arguments_without_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="positive integer or `None` for `max_to_keep`, got 0"):
        managed(tmp_path, max_to_keep=0)
    with pytest.raises(ValueError, match="`step_counter` should be passed"):
        managed(tmp_path, max_to_keep=1, checkpoint_interval=1)
