"""Do averages follow variables and tensors as in TensorFlow 1?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf.compat.v1 as tf

Averages = tf.train.ExponentialMovingAverage


def followed(averages: Any, value: Any, change: Any, times: int) -> list[float]:
    """Returns the average after each change."""
    update = averages.apply([value])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found: list[float] = []
        for _ in range(times):
            session.run(change)
            session.run(update)
            found.append(float(session.run(averages.average(value))))
    return found


def test_an_average_of_a_variable_starts_with_its_value() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)

        assert [1.5, 2.25, 3.125] == followed(Averages(0.5), v, tf.assign_add(v, 1.0), 3)


def test_with_a_number_of_steps_first_averages_follow_faster() -> None:
    with tf.Graph().as_default():
        v, n = tf.Variable(0.0), tf.Variable(0)
        change = tf.group(tf.assign(v, 1.0), tf.assign_add(n, 1))

        # The first decay is (1 + 1) / (10 + 1).
        assert [pytest.approx(9 / 11)] == followed(Averages(0.9, num_updates=n), v, change, 1)


def test_an_average_of_a_tensor_starts_at_0() -> None:
    with tf.Graph().as_default():
        c = tf.constant(4.0)

        assert [2.0, 3.0] == followed(Averages(0.5), c, tf.no_op(), 2)


def test_averages_are_not_corrected_for_their_start() -> None:
    with pytest.raises(NotImplementedError, match="Leave `zero_debias` out"):
        Averages(0.5, zero_debias=True)


def test_averages_are_named_after_what_they_follow() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        averages = Averages(0.5, name="avg")
        before = averages.average(v), averages.average_name(v)
        update: Any = averages.apply([v])

        assert (None, "v/avg") == before
        assert ("v/avg:0", "v/avg", "avg") == (averages.average(v).name, averages.average_name(v), update.name)
        assert [v] == tf.moving_average_variables()
        assert [v] == tf.trainable_variables()


def test_variables_are_restored_from_their_averages() -> None:
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w", trainable=False)
        averages = Averages(0.5)
        averages.apply()
        found = averages.variables_to_restore()

        assert (v, w) == (found["v/ExponentialMovingAverage"], found["w"])
        assert "v" not in found


def test_integers_have_no_average() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="The variables must be half, float, or double: v:0"):
        Averages(0.5).apply([tf.Variable(1, name="v")])


def test_averages_run_where_the_variable_lives() -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            v = tf.Variable(1.0, name="v")
        with tf.device("/gpu:0"):
            Averages(0.5).apply([v])

        for name in ("v/ExponentialMovingAverage", "ExponentialMovingAverage/AssignMovingAvg"):
            assert "/device:CPU:0" == graph.get_operation_by_name(name).device
