"""Are summaries of TensorFlow 1 accepted, computed and not written?"""

from __future__ import annotations

from pathlib import Path

import pytest

import nbtf.compat.v1 as tf


def test_a_summary_is_a_text_of_its_name() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.summary.scalar("my loss", tf.constant(0.5))

        assert ("my_loss:0", "ScalarSummary", "string") == (loss.name, loss.op.type, loss.dtype.name)
        assert b"" == session.run(loss)


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
        assert b"" == session.run(merged)


def test_a_writer_makes_no_files(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        writer = tf.summary.FileWriter(str(tmp_path / "logs"), graph)
        writer.add_summary(session.run(tf.summary.scalar("a", 1.0)), 1)
        writer.flush()
        writer.close()

    assert [] == list(tmp_path.iterdir())
    assert str(tmp_path / "logs") == writer.get_logdir()


def test_at_once_nothing_is_merged() -> None:
    tf.enable_eager_execution()

    assert tf.summary.scalar("a", 1.0) is False
    with pytest.raises(RuntimeError, match="is not compatible with eager execution"):
        tf.summary.merge_all()
