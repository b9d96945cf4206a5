"""Do monitored sessions start, tell hooks and stop as those of TensorFlow 1?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nbtf.compat.v1 as tf
from nbtf.errors import UnimplementedError

train = tf.train


def counting() -> Any:
    """Returns a node that counts steps."""
    return tf.assign_add(train.get_or_create_global_step(), 1)


def run_all(hooks: list[Any], fetch: Any, **arguments: Any) -> list[Any]:
    found: list[Any] = []
    with train.MonitoredTrainingSession(hooks=hooks, **arguments) as session:
        while not session.should_stop():
            found.append(session.run(fetch))
    return found


class Noting(train.SessionRunHook):
    """Notes what it is told."""

    def __init__(self, fetches: Any) -> None:
        self.fetches, self.calls = fetches, list[Any]()

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.calls.append("created")

    def before_run(self, run_context: Any) -> Any:
        return train.SessionRunArgs(self.fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append(run_values.results)
        if run_values.results >= 20:
            run_context.request_stop()

    def end(self, session: Any) -> None:
        self.calls.append("end")


def test_hooks_are_told_of_everything_and_may_stop() -> None:
    with tf.Graph().as_default():
        step = counting()
        hook = Noting(step * 10)

        assert [1, 2] == run_all([hook], step)
        assert ["begin", "created", 10, 20, "end"] == hook.calls


def test_a_session_stops_at_a_step() -> None:
    with tf.Graph().as_default():
        assert [1, 2, 3] == run_all([train.StopAtStepHook(last_step=3)], counting())


def test_training_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    def part() -> list[Any]:
        with tf.Graph().as_default():
            return run_all([train.StopAtStepHook(num_steps=2)], counting(), checkpoint_dir=str(tmp_path))

    assert [1, 2] == part()
    assert f"{tmp_path}/model.ckpt-2" == train.latest_checkpoint(tmp_path)
    assert [3, 4] == part()


def test_a_loss_that_is_no_number_stops_training() -> None:
    with tf.Graph().as_default():
        loss = tf.constant(float("nan"))
        counting()

        with pytest.raises(train.NanLossDuringTrainingError, match="NaN loss during training"):
            run_all([train.NanTensorHook(loss)], loss)


def test_the_graph_is_closed_while_it_trains() -> None:
    with tf.Graph().as_default():
        counting()
        with (
            train.MonitoredTrainingSession(),
            pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"),
        ):
            tf.constant(1.0)


def test_the_end_of_the_data_is_no_error() -> None:
    with tf.Graph().as_default():
        counting()
        with train.MonitoredTrainingSession():
            raise tf.errors.OutOfRangeError(None, None, "no more")


def test_a_coordinator_hands_errors_on() -> None:
    coord = train.Coordinator()
    with coord.stop_on_exception():
        raise ValueError("wrong")

    assert coord.should_stop()
    with pytest.raises(ValueError, match="wrong"):
        coord.join()


def test_queues_that_are_not_there_need_no_threads(caplog: pytest.LogCaptureFixture) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert [] == train.start_queue_runners(sess=session)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shuffle_batch", "tf.data.Dataset"),
        ("import_meta_graph", "tf.train.Saver"),
        ("ServerDef", "tf.runtime.simulate_cluster"),
    ],
)
def test_what_is_not_here_says_what_is(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'") as caught:
        getattr(train, name)

    assert text in caught.value.__notes__[0]


def test_checkpoints_are_saved_every_so_many_seconds(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        run_all([train.StopAtStepHook(last_step=2)], counting(), checkpoint_dir=str(tmp_path), save_checkpoint_secs=-1)

    assert [0, 1, 2] == [n for n in range(4) if train.checkpoint_exists(f"{tmp_path}/model.ckpt-{n}")]


def test_a_session_of_another_process_is_refused() -> None:
    with tf.Graph().as_default():
        tf.constant(1.0)
        with pytest.raises(UnimplementedError, match=r"Got the target 'grpc://a:2222': leave `target` \(or `master`\)"):
            train.MonitoredTrainingSession(master="grpc://a:2222")
