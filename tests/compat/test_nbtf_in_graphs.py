"""Functions of `nbtf` itself, which build a graph inside `with graph.as_default()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
import nbtf.compat.v1 as tf1


@pytest.fixture
def graph() -> Iterator[Any]:
    with tf1.Graph().as_default() as graph:
        yield graph


def test_constants_have_their_names(graph: Any) -> None:
    assert ["a:0", "Const:0"] == [tf.constant([1.0], name="a").name, tf.constant(2).name]


def test_devices_are_those_of_nodes(graph: Any) -> None:
    with tf.device("/gpu:3"):
        a = tf.square(2.0)
    with tf.device(lambda node: "/cpu:1"):
        b = tf.square(2.0)

    assert ["/device:GPU:3", "/cpu:1", ""] == [a.device, b.device, tf.square(2.0).device]


def test_scopes_stand_in_front_of_nodes(graph: Any) -> None:
    with tf.name_scope("tower") as scope:
        a = tf.square(2.0)

    assert ["tower/", "tower/Square:0"] == [scope, a.name]


def test_variables_belong_to_the_graph(graph: Any) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())

    assert "<tf.Variable 'v:0' shape=(2,) dtype=float32>" == repr(v)
    assert [2.0, 4.0] == session.run(v * 2.0).tolist()


def test_nodes_that_only_wait_are_nodes(graph: Any) -> None:
    waiting = tf.group(tf.square(2.0, name="s"), tf.no_op(name="n"), name="g")

    assert ("g", ["s", "n"]) == (waiting.name, [one.name for one in waiting.control_inputs])


def test_everything_is_as_before_when_the_block_ends() -> None:
    with tf1.Graph().as_default(), tf.device("/gpu:7"), tf.name_scope("s"):
        pass

    with tf.device("/cpu:0"), tf.name_scope("s") as scope:
        assert ("s/", 4.0) == (scope, tf.square(2.0).numpy())
        assert "s/v:0" == tf.Variable(1.0, name="v").name


def test_tensors_of_two_graphs_do_not_mix(graph: Any) -> None:
    a = tf.constant(1.0)
    with tf1.Graph().as_default():
        b = tf.constant(2.0)

        with pytest.raises(ValueError, match="must be from the same graph as"):
            tf.add(a, b)
