"""Are figures counted up over runs as in TensorFlow 1?"""

from __future__ import annotations

import pytest

import nbtf.compat.v1 as tf

metrics = tf.metrics


def test_accuracy_is_counted_up() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        labels, predictions = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int64, [None])
        value, update = metrics.accuracy(labels, predictions)
        session.run(tf.local_variables_initializer())
        found = [session.run(update, {labels: [1, 2], predictions: [1, one]}) for one in (2, 0)]

        assert [1.0, 0.75, 0.75] == [*found, session.run(value)]


def test_a_mean_may_be_weighted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        value, update = metrics.mean([1.0, 2.0], weights=[1.0, 3.0])
        session.run(tf.local_variables_initializer())

        assert (0.0, 1.75) == (session.run(value), session.run(update))


def test_variables_are_local_and_named_after_the_figure() -> None:
    with tf.Graph().as_default():
        value, update = metrics.mean([1.0], metrics_collections=["m"], updates_collections=["u"])

        assert ["mean/total:0", "mean/count:0"] == [one.name for one in tf.local_variables()]
        assert [] == tf.global_variables()
        assert ([value], [update]) == (tf.get_collection("m"), tf.get_collection("u"))
        assert ("mean/value:0", "mean/update_op:0") == (value.name, update.name)


def test_at_once_there_are_none() -> None:
    tf.enable_eager_execution()

    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        metrics.mean([1.0])
