"""`tf.control_dependencies`: in eager code, in functions and in graphs."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


def test_ops_that_run_at_once_have_run_already() -> None:
    called: list[int] = []
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0), lambda: called.append(1)]):
        result = v.read_value()

    assert ([1], 2.0) == (called, result.numpy())
    with tf.control_dependencies(None):
        pass


def test_ops_of_a_function_run_in_order() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.control_dependencies([v.assign(x * 2.0)]):
            return v + 1.0

    assert [7.0, 11.0] == [step(tf.constant(value)).numpy() for value in (3.0, 5.0)]


def test_an_assert_before_the_block_stops_a_function() -> None:
    @tf.function
    def root(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_greater(x, 0.0)]):
            return tf.sqrt(x)

    assert 2.0 == root(tf.constant(4.0)).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError):
        root(tf.constant(-1.0))


def test_nodes_of_a_graph_wait() -> None:
    with tf.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("v", initializer=1.0)
        with tf.control_dependencies([v.assign_add(1.0)]):
            waits = tf.constant(5.0) * 2.0
            with tf.control_dependencies(None):
                free = tf.constant(1.0) + 1.0
        session.run(v.initializer)

        assert (2.0, 1.0) == (session.run(free), session.run(v))
        assert (10.0, 2.0) == (session.run(waits), session.run(v))


def test_other_values_are_refused_in_a_graph() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError), tf.control_dependencies([3]):
        pass
