"""Are values saved by the names of attributes, and do they come back, also on several devices?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.keras import optimizers
from tests.machines import machine


def test_values_come_back(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(v=v, parts={"a": [tf.Variable(3)]})
    path = checkpoint.save(tmp_path / "ckpt")
    v.assign([9.0, 9.0])
    checkpoint.restore(path).assert_consumed()

    assert v.numpy().tolist() == [1.0, 2.0]
    assert tf.train.list_variables(path) == [("parts/a/0", []), ("save_counter", []), ("v", [2])]


def test_checkpoints_are_numbered_and_the_last_is_found(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    paths = [checkpoint.save(tmp_path / "sub" / "ckpt") for _ in range(2)]

    assert [Path(path).name for path in paths] == ["ckpt-1", "ckpt-2"]
    assert tf.train.latest_checkpoint(tmp_path / "sub") == paths[1]
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_an_optimizer_is_saved_with_what_it_keeps(tmp_path: Path) -> None:
    def made() -> tuple[Any, Any]:
        return tf.Variable([1.0, 1.0]), optimizers.Adam(0.1)

    def step(weight: Any, optimizer: Any) -> list[float]:
        optimizer.apply_gradients([(tf.constant([1.0, -3.0]), weight)])
        return weight.numpy().tolist()

    weight, optimizer = made()
    step(weight, optimizer)
    path = tf.train.Checkpoint(weight=weight, optimizer=optimizer).save(tmp_path / "ckpt")
    expected = step(weight, optimizer)

    weight, optimizer = made()
    optimizer.build([weight])
    tf.train.Checkpoint(weight=weight, optimizer=optimizer).restore(path).assert_consumed()
    assert step(weight, optimizer) == expected


def test_what_was_not_found_is_told(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(a=tf.Variable(1.0)).save(tmp_path / "ckpt")
    status = tf.train.Checkpoint(b=tf.Variable(2.0)).restore(path)

    with pytest.raises(AssertionError, match=r"no variable is there for .'a'"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match=r"no value was saved for .'b'"):
        status.assert_existing_objects_matched()
    assert status.expect_partial() is status


def test_a_checkpoint_that_is_not_there_is_an_error() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for nowhere"):
        tf.train.Checkpoint().restore("nowhere")
    tf.train.Checkpoint().restore(None).assert_consumed()


def test_another_shape_is_refused(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(v=tf.Variable([1.0])).write(tmp_path / "ckpt")

    with pytest.raises(ValueError, match=r"A value of shape .1,. was saved as 'v'"):
        tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).read(path)


def test_a_manager_keeps_the_last_ones(tmp_path: Path) -> None:
    v = tf.Variable(0.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), tmp_path, max_to_keep=2)
    for value in (1.0, 2.0, 3.0):
        v.assign(value)
        manager.save()

    assert [Path(path).name for path in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == ["ckpt-2.npz", "ckpt-3.npz"]
    v.assign(0.0)
    manager.restore_or_initialize()
    assert float(v) == 3.0


def test_mirrored_variables_are_saved_once_and_restored_everywhere(tmp_path: Path) -> None:
    with machine(2):
        with tf.distribute.MirroredStrategy().scope():
            v: Any = tf.Variable([1.0])
        path = tf.train.Checkpoint(v=v).save(tmp_path / "ckpt")
        v.assign([5.0])
        tf.train.Checkpoint(v=v).restore(path)

        assert [one.numpy().tolist() for one in v.values] == [[1.0], [1.0]]
    alone = tf.Variable([0.0])
    tf.train.Checkpoint(v=alone).restore(path).assert_consumed()
    assert alone.numpy().tolist() == [1.0]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ckpt.npz").write_bytes(b"something else")

    with pytest.raises(ValueError, match="holds no weights that nbtf has written"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).restore(tmp_path / "ckpt")
