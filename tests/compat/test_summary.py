"""Are summaries of TensorFlow 1 computed by a session, and written?"""

from __future__ import annotations

from pathlib import Path

import pytest

import nbtf.compat.v1 as tf
from tests.storage.events import values_in


def test_a_summary_is_a_text_of_its_name() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.summary.scalar("my loss", tf.constant(0.5))

        assert ("my_loss:0", "ScalarSummary", "string") == (loss.name, loss.op.type, loss.dtype.name)
        assert b"\n\x0e\n\x07my_loss\x15\x00\x00\x00?" == session.run(loss)


def test_what_is_summed_up_is_computed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        summary = tf.summary.histogram("h", x)

        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
            session.run(summary)


def test_all_summaries_are_merged() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.summary.merge_all() is None
        one, other = tf.summary.scalar("a", 1.0), tf.summary.image("b", tf.zeros([1, 2, 2, 1]))
        merged = tf.summary.merge_all()

        assert [one, other] == tf.get_collection(tf.GraphKeys.SUMMARIES)
        assert {one.op, other.op} == {tensor.op for tensor in merged.op.inputs}
        assert session.run(one) == session.run(merged)  # of the image nothing is written


def test_a_writer_writes_what_a_session_has_made(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        tf.summary.scalar("a", x)
        with tf.name_scope("tower"):
            tf.summary.scalar("half", x / 2)
        writer = tf.summary.FileWriter(str(tmp_path), graph)
        for step in range(2):
            writer.add_summary(session.run(tf.summary.merge_all(), {x: step}), step)
        writer.close()

    assert [(0, "a", 0.0), (0, "tower/half", 0.0), (1, "a", 1.0), (1, "tower/half", 0.5)] == values_in(tmp_path)
    assert str(tmp_path) == writer.get_logdir()


def test_a_histogram_counts(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = session.run(tf.summary.histogram("h", tf.constant([1.0, 3.0])))
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(made)

    ((step, tag, figures),) = values_in(tmp_path)
    assert (0, "h", 1.0, 3.0, 2.0, 4.0, 10.0) == (step, tag, *(figures[number] for number in range(1, 6)))


def test_what_is_no_summary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="A summary must be the bytes that a session returned"):
        tf.summary.FileWriter(str(tmp_path)).add_summary(tf.constant(1.0))


def test_at_once_nothing_is_merged() -> None:
    tf.enable_eager_execution()

    assert tf.summary.scalar("a", 1.0) is False
    with pytest.raises(RuntimeError, match="is not compatible with eager execution"):
        tf.summary.merge_all()
