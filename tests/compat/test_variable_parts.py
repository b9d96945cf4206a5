"""What changes and reads rows of variables: eager ones, those of functions, and both kinds of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


def rows(*values: float) -> Any:
    return tf.IndexedSlices(tf.constant(list(values)), tf.constant([0, 2, 0][: len(values)]))


CHANGES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "scatter_max": (lambda v: v.scatter_max(rows(5.0, 1.0)), [5, 2, 4]),
    "scatter_min": (lambda v: v.scatter_min(rows(5.0, 1.0)), [1, 2, 1]),
    "scatter_mul": (lambda v: v.scatter_mul(rows(2.0, 3.0, 5.0)), [10, 2, 12]),
    "scatter_div": (lambda v: v.scatter_div(rows(2.0, 4.0, 5.0)), [0.1, 2, 1]),
    "scatter_add": (lambda v: v.scatter_add(rows(2.0, 3.0, 5.0)), [8, 2, 7]),
    "scatter_nd_max": (lambda v: v.scatter_nd_max([[0], [2]], [5.0, 1.0]), [5, 2, 4]),
    "scatter_nd_min": (lambda v: v.scatter_nd_min([[0], [2]], [5.0, 1.0]), [1, 2, 1]),
    "scatter_nd_add": (lambda v: v.scatter_nd_add([[0], [2]], [5.0, 1.0]), [6, 2, 5]),
    "scatter_nd_sub": (lambda v: v.scatter_nd_sub([[0], [2]], [5.0, 1.0]), [-4, 2, 3]),
    "scatter_nd_update": (lambda v: v.scatter_nd_update([[0], [2]], [5.0, 1.0]), [5, 2, 1]),
}
READS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "gather_nd": (lambda v: v.gather_nd([[2], [0]]), [4, 1]),
    "sparse_read": (lambda v: v.sparse_read([1, 1]), [2, 2]),
}
START = [1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", CHANGES)
def test_rows_change_at_once_and_in_functions(name: str) -> None:
    change, expected = CHANGES[name]
    at_once, traced = tf.Variable(START), tf.Variable(START)

    assert at_once is change(at_once)
    tf.function(lambda: [change(traced)][1:])()

    assert pytest.approx(expected) == at_once.numpy().tolist() == traced.numpy().tolist()


@pytest.mark.parametrize("use_resource", [True, False])
@pytest.mark.parametrize("name", CHANGES)
def test_rows_change_in_a_session(name: str, use_resource: bool) -> None:
    change, expected = CHANGES[name]
    with tf.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("v", initializer=START, use_resource=use_resource)
        changed = change(v)
        session.run(v.initializer)

        assert pytest.approx(expected) == session.run(changed).tolist()
        assert pytest.approx(expected) == session.run(v).tolist()


@pytest.mark.parametrize("name", READS)
def test_rows_are_read_with_their_gradients(name: str) -> None:
    read, expected = READS[name]
    v = tf.Variable(START)
    with tf.GradientTape() as tape:
        part = read(v)
    slope = tf.convert_to_tensor(tape.gradient(part, v))

    assert expected == part.numpy().tolist() == tf.function(lambda: read(v))().numpy().tolist()
    assert 2.0 == tf.reduce_sum(slope).numpy()


@pytest.mark.parametrize("name", ["scatter_max", "scatter_min", "scatter_mul", "scatter_div"])
def test_other_values_than_rows_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"must be a `tf\.IndexedSlices`"):
        getattr(tf.Variable(START), name)([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 7 is not in \[0, 3\)"):
        getattr(tf.Variable(START), name)(tf.IndexedSlices(tf.constant([1.0]), tf.constant([7])))


def test_whole_numbers_are_divided_towards_zero_and_not_by_zero() -> None:
    v = tf.Variable([7, -7, 9])

    assert [3, -3, 9] == v.scatter_div(tf.IndexedSlices([2, 2], [0, 1])).numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        v.scatter_div(tf.IndexedSlices([0], [0]))


def test_an_eager_variable_has_its_value_from_the_start() -> None:
    v = tf.Variable(START)

    assert v.initializer is None
    assert START == v.initialized_value().numpy().tolist()
    assert v.is_initialized().numpy()


def test_a_variable_of_a_graph_has_an_initializer() -> None:
    with tf.Graph().as_default(), tf1.Session() as session:
        v = tf.Variable(START)

        assert START == session.run(v.initialized_value()).tolist()
        assert not session.run(v.is_initialized())
        session.run(v.initializer)
        assert session.run(v.is_initialized())
