from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf.compat.v1 as tf1
from tests.compat.variables import initialized
from tests.machines import machine


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def v(request: pytest.FixtureRequest) -> Iterator[Any]:
    with tf1.Graph().as_default():
        yield tf1.Variable(1.0, name="v", use_resource=request.param)


@pytest.fixture
def yes(v: Any) -> Any:
    return tf1.placeholder(tf1.bool, [])


def test_only_the_branch_that_is_taken_changes_a_variable(v: Any, yes: Any) -> None:
    value = tf1.cond(yes, lambda: tf1.identity(tf1.assign(v, 5.0)), lambda: v.read_value())
    session = initialized(v)

    assert [1.0, 1.0, 5.0, 5.0] == [
        session.run(value, {yes: False}),
        session.run(v),
        session.run(value, {yes: True}),
        session.run(v),
    ]


def test_a_branch_reads_what_it_changed(v: Any, yes: Any) -> None:
    def changed() -> Any:
        with tf1.control_dependencies([tf1.assign_add(v, 10.0)]):
            return v.read_value() * 2.0

    value = tf1.cond(yes, changed, lambda: v * 0.0)

    assert 22.0 == initialized(v).run(value, {yes: True})


def test_a_branch_can_be_a_change_alone(v: Any, yes: Any) -> None:
    node = tf1.cond(yes, lambda: tf1.group(v.assign(3.0)), lambda: tf1.no_op())
    session = initialized(v)
    session.run(node, {yes: False})
    before = session.run(v)
    session.run(node, {yes: True})

    assert [1.0, 3.0] == [before, session.run(v)]


def test_a_loop_changes_a_variable_in_each_round(v: Any) -> None:
    def body(i: Any) -> Any:
        with tf1.control_dependencies([tf1.assign_add(v, 1.0)]):
            return tf1.identity(i + 1)

    loop = tf1.while_loop(lambda i: i < 3, body, [0])
    session = initialized(v)

    assert [3, 4.0] == [session.run(loop), session.run(v)]


def test_a_branch_in_a_branch_changes_a_variable(v: Any, yes: Any) -> None:
    value = tf1.cond(
        yes,
        lambda: tf1.cond(v > 0.0, lambda: tf1.identity(tf1.assign_add(v, 1.0)), lambda: v * 0.0),
        lambda: v * -1.0,
    )
    session = initialized(v)

    assert [2.0, 3.0, -3.0] == [session.run(value, {yes: one}) for one in (True, True, False)]


def test_gradients_flow_through_what_a_branch_reads(v: Any, yes: Any) -> None:
    (gradient,) = tf1.gradients(tf1.cond(yes, lambda: v * v, lambda: v * 3.0), v)
    session = initialized(v)

    assert [2.0, 3.0] == [session.run(gradient, {yes: one}) for one in (True, False)]


def test_gradients_change_a_variable_no_second_time(v: Any, yes: Any) -> None:
    x = tf1.constant(2.0)

    def changed() -> Any:
        with tf1.control_dependencies([tf1.assign_add(v, 1.0)]):
            return x * 3.0

    value = tf1.cond(yes, changed, lambda: x)
    (gradient,) = tf1.gradients(value, x)
    session = initialized(v)

    assert [6.0, 3.0] == session.run([value, gradient], {yes: True})
    assert 2.0 == session.run(v)


def test_a_node_from_outside_runs_whatever_branch_is_taken(v: Any, yes: Any) -> None:
    outside = tf1.assign_add(v, 1.0).op
    node = tf1.cond(yes, lambda: outside, lambda: tf1.no_op())
    session = initialized(v)
    for one in (True, False):
        session.run(node, {yes: one})

    assert 3.0 == session.run(v)


def test_a_block_inside_waits_for_a_node_from_outside(v: Any, yes: Any) -> None:
    outside = tf1.assign_add(v, 1.0)

    def after() -> Any:
        with tf1.control_dependencies([outside]):
            return v.read_value()

    value = tf1.cond(yes, after, lambda: v * 0.0)

    assert 2.0 == initialized(v).run(value, {yes: True})


def test_no_variable_is_made_in_a_branch(yes: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"inside a branch of tf\.cond or the body of tf\.while_loop"):
        tf1.cond(yes, lambda: tf1.Variable(1.0).value(), lambda: tf1.constant(1.0))


def test_a_change_happens_where_the_variable_is() -> None:
    with machine(2), tf1.Graph().as_default():
        with tf1.device("/gpu:1"):
            v = tf1.Variable(1.0)
        with tf1.device("/cpu:0"):
            value = tf1.cond(tf1.constant(True), lambda: tf1.identity(v.assign(5.0)), lambda: v.read_value())
        session = initialized(v)
        session.run(value)

        (kept,) = session.values.values()
        assert ("GPU:1", 5.0) == (kept._device.short_name, session.run(v))
