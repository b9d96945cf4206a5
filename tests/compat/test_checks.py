"""Checks in graphs: what they say when a session runs them, and what is checked before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf.compat.v1 as tf
from nbtf.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (lambda x: tf.assert_positive(x), "[] [Condition x > 0 did not hold element-wise:] [x (x:0) = ] [-1 2]"),
        (
            lambda x: tf.assert_equal(x, 2.0, message="m", name="e"),
            "[m] [Condition x == y did not hold element-wise:] [x (x:0) = ] [-1 2] [y (e/Const:0) = ] [2]",
        ),
        (lambda x: tf.assert_less(x, 0.0, data=["seen", x]), "[seen] [-1 2]"),
        (
            lambda x: tf.assert_negative(x, summarize=1),
            "[] [Condition x < 0 did not hold element-wise:] [x (x:0) = ] [-1...]",
        ),
    ],
)
def test_a_condition_that_does_not_hold_is_told_with_its_values(check: Callable[[Any], Any], told: str) -> None:
    x = tf.placeholder(tf.float32, name="x")
    node = check(x)

    with tf.Session() as session, pytest.raises(InvalidArgumentError) as error:
        session.run(node, {x: [-1.0, 2.0]})

    assert f"assertion failed: {told}" == str(error.value).split("\n")[0]


def test_a_condition_that_constants_fulfil_is_a_node() -> None:
    with tf.control_dependencies([tf.assert_less([1, 2], 3)]):
        y = tf.constant(1.0)

    assert 1.0 == tf.Session().run(y)


def test_ranks_and_dtypes_are_nodes_to_wait_for() -> None:
    x = tf.ones([2, 3])
    with tf.control_dependencies([tf.assert_rank(x, 2), tf.assert_rank_in(x, [1, 2]), tf.assert_type(x, tf.float32)]):
        y = tf.identity(x)

    assert (2, 3) == tf.Session().run(y).shape


@pytest.mark.parametrize(
    ("check", "kind", "told"),
    [
        (lambda x: tf.assert_rank(x, 3, message="m"), ValueError, "m.  Tensor  must have rank 3.  Received rank 2"),
        (lambda x: tf.assert_rank_at_least(x, 3), ValueError, "must have rank at least 3"),
        (lambda x: tf.assert_type(x, tf.int32), TypeError, "must be of type tf.int32; got tf.float32"),
    ],
)
def test_ranks_and_dtypes_that_are_known_are_checked_at_once(
    check: Callable[[Any], Any], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told):
        check(tf.ones([2, 3]))


def test_a_rank_that_only_a_run_tells_is_checked_by_it() -> None:
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.assert_rank(x, 1)]):
        y = tf.identity(x)

    with tf.Session() as session:
        assert [1.0] == session.run(y, {x: [1.0]}).tolist()
        with pytest.raises(ValueError, match=r"must have rank 1\.  Received rank 0"):
            session.run(y, {x: 1.0})
