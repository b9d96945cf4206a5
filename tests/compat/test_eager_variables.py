"""Do the functions for variables do at once what they are for, where `compat.v1` runs ops at once?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
import nbtf.compat.v1 as tf1


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    tf1.enable_eager_execution()
    yield
    tf1.disable_eager_execution()


def test_a_variable_that_is_asked_for_by_name_has_its_value() -> None:
    with tf1.variable_scope("a"):
        w = tf1.get_variable("w", [2], initializer=tf1.ones_initializer())

    assert isinstance(w, tf.Variable)
    assert ("a/w:0", [1.0, 1.0]) == (w.name, w.numpy().tolist())


def test_initializers_give_values() -> None:
    assert [[0.0, 0.0], [3.0, 3.0]] == [
        one([2]).numpy().tolist() for one in (tf1.zeros_initializer(), tf1.constant_initializer(3.0))
    ]


def test_changes_happen_at_once() -> None:
    v = tf1.Variable([1.0, 2.0])
    tf1.assign(v, [3.0, 4.0])
    tf1.assign_add(v, [1.0, 1.0])
    tf1.scatter_sub(v, [0], [4.0])
    tf1.scatter_nd_update(v, [[1]], [9.0])

    assert [0.0, 9.0] == v.numpy().tolist()


def test_there_is_nothing_to_initialize() -> None:
    v = tf1.Variable(1.0)

    assert [None, None] == [tf1.global_variables_initializer(), tf1.group(v)]
    there: Any = tf1.is_variable_initialized(v)
    lacking: Any = tf1.report_uninitialized_variables()
    assert (True, []) == (there.numpy(), lacking.numpy().tolist())


def test_the_global_step_is_one_variable() -> None:
    step = tf1.train.get_or_create_global_step()

    assert isinstance(step, tf.Variable)
    assert step is tf1.train.get_or_create_global_step()


def test_in_a_graph_variables_are_nodes() -> None:
    with tf1.Graph().as_default():
        assert "VariableV2" == tf1.get_variable("w", [2]).op.type
