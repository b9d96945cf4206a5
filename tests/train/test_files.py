"""Are the checkpoints of an older nbtf read within limits, and is a damaged file refused by its name?"""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import DataLossError
from tests.storage.older_checkpoints import as_older, with_older_state


def _saved(folder: Path) -> str:
    return tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).save(folder / "ckpt")


READERS = {
    "latest_checkpoint": tf.train.latest_checkpoint,
    "load_checkpoint": tf.train.load_checkpoint,
    "get_checkpoint_state": tf.compat.v1.train.get_checkpoint_state,
    "CheckpointManager": lambda folder: tf.train.CheckpointManager(tf.train.Checkpoint(), folder, 2),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"ckpt-1"', '"../ckpt-1"'),
        ('"ckpt-1"', '"/etc/passwd"'),
        ('"ckpt-1"', '"a\\\\..\\\\..\\\\b"'),
        ('"ckpt-1"', "3"),
        ('"ckpt-1"', "null"),
        ("[\n", '["../../x",\n'),
        ("[\n", "[[],\n"),
        ("timestamps", "timestamps_"),
        ('"all_model_checkpoint_paths"', '"paths"'),
        ("{", ""),
        ('{\n "model_checkpoint_path":', "model_checkpoint_path:"),
    ],
)
def test_a_state_file_that_is_damaged_or_leads_elsewhere_is_refused(
    reader: str, before: str, after: str, tmp_path: Path
) -> None:
    _saved(tmp_path)
    state = with_older_state(tmp_path)
    assert before in state.read_text()
    state.write_text(state.read_text().replace(before, after))
    if before == "timestamps":  # an older nbtf wrote none
        READERS[reader](tmp_path)
        return

    with pytest.raises(DataLossError, match=r"checkpoint (is damaged|names)"):
        READERS[reader](tmp_path)


def test_an_older_checkpoint_is_restored_and_the_folder_is_continued(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "v": tf.Variable([1.0, 2.0]),
        "texts": tf.Variable(["a", "bc"]),
        "parts": [tf.Variable(3), {"a.b": True}],
    }
    first = tf.train.CheckpointManager(tf.train.Checkpoint(**values), tmp_path, 2)
    for _ in range(2):
        as_older(str(first.save()))
    with_older_state(tmp_path)
    others: dict[str, Any] = {
        "v": tf.Variable([0.0, 0.0]),
        "texts": tf.Variable(["", ""]),
        "parts": [tf.Variable(0), {"a.b": False}],
    }
    checkpoint = tf.train.Checkpoint(**others)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 2)
    checkpoint.restore(manager.latest_checkpoint).assert_consumed()

    assert [path.name for path in sorted(tmp_path.iterdir())] == ["checkpoint", "ckpt-1.npz", "ckpt-2.npz"]
    assert [others["v"].numpy().tolist(), others["texts"].numpy().tolist()] == [[1.0, 2.0], [b"a", b"bc"]]
    assert [others["parts"][0].numpy(), checkpoint.save_counter.numpy()] == [3, 2]
    manager.save()
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == {"checkpoint", "ckpt-2", "ckpt-3"}


def test_names_and_shapes_are_read_without_values(tmp_path: Path) -> None:
    values = np.zeros(20_000_000, np.float32)
    np.savez(tmp_path / "big.npz", a=values, b=np.float32(1))
    del values
    tracemalloc.start()
    try:
        assert tf.train.list_variables(tmp_path / "big") == [("a", [20_000_000]), ("b", [])]
        assert tf.train.load_variable(tmp_path / "big", "b") == 1
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_bomb_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(40_000_000))
    assert (tmp_path / "bomb.npz").stat().st_size < 2**20
    tracemalloc.start()
    try:
        for read in (tf.train.list_variables, tf.train.load_checkpoint, tf.train.Checkpoint(v=tf.Variable(1.0)).read):
            with pytest.raises(DataLossError, match=r"bomb\.npz.*bytes declare \d+ bytes of content"):
                read(tmp_path / "bomb")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 10, 100, 300, -30])
def test_a_cut_checkpoint_is_refused(size: int, tmp_path: Path) -> None:
    path = _saved(tmp_path)
    file = as_older(path)
    file.write_bytes(file.read_bytes()[:size])

    for read in (
        tf.train.list_variables,
        tf.train.load_checkpoint,
        tf.train.Checkpoint(v=tf.Variable([0.0, 0.0])).read,
    ):
        with pytest.raises(DataLossError, match=r"ckpt-1\.npz"):
            read(path)


def test_a_changed_value_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    file = as_older(path)
    content = file.read_bytes()
    assert content.count(np.array([1, 2], np.float32).tobytes()) == 1
    file.write_bytes(content.replace(np.array([1, 2], np.float32).tobytes(), np.array([1, 3], np.float32).tobytes()))

    with pytest.raises(DataLossError, match="Bad CRC-32"):
        tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE")
    v = tf.Variable([5.0, 5.0])
    with pytest.raises(DataLossError, match="Bad CRC-32"):
        tf.train.Checkpoint(v=v).restore(path)
    assert v.numpy().tolist() == [5.0, 5.0]


def test_objects_that_would_need_a_pickle_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", a=np.array([{}], object))
    with zipfile.ZipFile(tmp_path / "objects.npz") as archive:
        assert archive.namelist() == ["a.npy"]

    with pytest.raises(DataLossError, match="an unsupported type or header"):
        tf.train.list_variables(tmp_path / "objects")


def test_a_type_that_tensorflow_does_not_have_is_named(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    as_older(path)
    with np.load(f"{path}.npz") as saved:
        values: dict[str, Any] = {name: saved[name] for name in saved.files}
    values["v/.ATTRIBUTES/VARIABLE_VALUE"] = np.zeros(2, "V4")
    np.savez(f"{path}.npz", **values)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"does not equal original dtype \|V4"):
        tf.train.Checkpoint(v=tf.Variable([0.0, 0.0])).restore(path)
