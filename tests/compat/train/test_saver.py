"""Are values of variables saved and restored as in TensorFlow 1?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

train = tf.train


def two() -> tuple[Any, Any]:
    return tf.get_variable("w", initializer=[1.0, 2.0]), tf.get_variable("n", initializer=3)


def saved(folder: Path, **arguments: Any) -> str:
    """Saves two variables from a graph and session that are gone afterwards."""
    with tf.Graph().as_default(), tf.Session() as session:
        two()
        session.run(tf.global_variables_initializer())
        return str(train.Saver().save(session, f"{folder}/model", **arguments))


def test_values_come_back_in_another_graph_and_session(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2])
        n = tf.get_variable("n", [], tf.int32)
        train.Saver().restore(session, path)

        assert ([1.0, 2.0], 3) == (session.run(w).tolist(), session.run(n))


def test_resources_come_back_as_well(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2], use_resource=True)
        train.Saver().restore(session, path)

        assert [1.0, 2.0] == session.run(w).tolist()


def test_a_saver_adds_no_nodes(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        two()
        session.run(tf.global_variables_initializer())
        graph.finalize()
        saver = train.Saver()
        saver.restore(session, saver.save(session, f"{tmp_path}/model"))


def test_the_number_of_steps_is_in_the_name(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        _, n = two()
        session.run(tf.global_variables_initializer())
        paths = [train.Saver().save(session, f"{tmp_path}/model", global_step=step) for step in (7, n, None)]
        padded = train.Saver(pad_step_number=True).save(session, f"{tmp_path}/model", global_step=7)

    assert ["model-7", "model-3", "model", "model-00000007"] == [
        os.path.basename(str(path)) for path in (*paths, padded)
    ]


def test_old_checkpoints_are_deleted(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        two()
        session.run(tf.global_variables_initializer())
        saver = train.Saver(max_to_keep=2)
        for step in range(4):
            saver.save(session, f"{tmp_path}/model", global_step=step)

        assert [f"{tmp_path}/model-2", f"{tmp_path}/model-3"] == saver.last_checkpoints
    assert [False, False, True, True] == [train.checkpoint_exists(f"{tmp_path}/model-{step}") for step in range(4)]


def test_the_last_checkpoint_is_found(tmp_path: Path) -> None:
    saved(tmp_path, global_step=1)
    path = saved(tmp_path, global_step=2)
    state = train.get_checkpoint_state(tmp_path)

    assert f"{tmp_path}/model-2" == path == train.latest_checkpoint(tmp_path)
    assert state is not None
    assert path == state.model_checkpoint_path


def test_what_is_last_can_be_noted_elsewhere(tmp_path: Path) -> None:
    path = saved(tmp_path, latest_filename="other")

    assert (None, path) == (train.latest_checkpoint(tmp_path), train.latest_checkpoint(tmp_path, "other"))


def test_an_empty_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert (None, None) == (train.latest_checkpoint(tmp_path), train.get_checkpoint_state(tmp_path))


def test_what_is_in_a_checkpoint_can_be_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    reader = train.NewCheckpointReader(path)

    assert [("n", []), ("w", [2])] == train.list_variables(path)
    assert [1.0, 2.0] == train.load_variable(path, "w").tolist()
    assert ({"w": [2], "n": []}, True) == (reader.get_variable_to_shape_map(), reader.has_tensor("w"))


def test_a_variable_may_have_another_name_in_the_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        mine = tf.get_variable("mine", [2])
        train.Saver({"w": mine}).restore(session, path)

        assert [1.0, 2.0] == session.run(mine).tolist()


def test_averages_are_restored_into_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        averages = train.ExponentialMovingAverage(0.5)
        update = averages.apply([v])
        session.run(tf.global_variables_initializer())
        session.run(v.assign(3.0))
        session.run(update)
        path = train.Saver().save(session, f"{tmp_path}/model")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [])
        train.Saver(train.ExponentialMovingAverage(0.5).variables_to_restore()).restore(session, path)

        assert 2.0 == session.run(v)


def test_eager_variables_are_saved_as_well(tmp_path: Path) -> None:
    tf.enable_eager_execution()
    v = nbtf.Variable(1.0, name="v")
    saver = train.Saver([v])
    path = saver.save(None, f"{tmp_path}/model")
    v.assign(5.0)
    saver.restore(None, path)

    assert 1.0 == v.numpy()


@pytest.mark.parametrize(
    ("name", "start", "error", "text"),
    [
        ("extra", [1.0], NotFoundError, "Original error:\n\nKey extra not found in checkpoint"),
        ("w", [1.0], InvalidArgumentError, r"match\. lhs shape= \[1\] rhs shape= \[2\]"),
        (
            "w",
            [1, 2],
            InvalidArgumentError,
            "tensor_name = w; expected dtype int32 does not equal original dtype",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, start: Any, error: Any, text: str) -> None:
    path = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable(name, initializer=start)

        with pytest.raises(error, match=f"(?s)Restoring from checkpoint failed.*{text}"):
            train.Saver().restore(session, path)


def test_a_value_may_be_brought_into_shape(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", [2, 1])
        train.Saver(reshape=True).restore(session, path)

        assert [[1.0], [2.0]] == session.run(w).tolist()


def test_wrong_paths_are_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        two()
        session.run(tf.global_variables_initializer())
        saver = train.Saver()

        with pytest.raises(ValueError, match=r"The passed save_path is not a valid checkpoint: .*/nope"):
            saver.restore(session, f"{tmp_path}/nope")
        with pytest.raises(ValueError, match="Can't load save_path when it is None"):
            saver.restore(session, None)
        with pytest.raises(ValueError, match=r"Parent directory of .* doesn't exist, can't save"):
            saver.save(session, f"{tmp_path}/nope/model")
        with pytest.raises(ValueError, match="'latest_filename' must not contain path components"):
            saver.save(session, f"{tmp_path}/model", latest_filename="a/b")


def test_what_has_no_value_cannot_be_saved(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", [2])

        with pytest.raises(FailedPreconditionError, match="Attempting to use uninitialized value w"):
            train.Saver().save(session, f"{tmp_path}/model")


def test_variables_are_wanted_each_once() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="No variables to save"):
            train.Saver()
        w, _ = two()
        with pytest.raises(ValueError, match="At least two variables have the same name: w"):
            train.Saver([w, w])
        with pytest.raises(TypeError, match="names_to_saveables must be a dict mapping string names to Tensors"):
            train.Saver({"c": tf.constant(1.0)})
