from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.compat._v1._graph.defaults import constant, placeholder
from nbtf.compat._v1._graph.graph import Graph


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def test_its_text_says_name_shape_and_dtype(graph: Graph) -> None:
    a = constant([[1.0, 2.0]], name="a")

    assert 'Tensor("a:0", shape=(1, 2), dtype=float32)' == str(a)
    assert "<tf.Tensor 'a:0' shape=(1, 2) dtype=float32>" == repr(a)
    assert "<tf.Operation 'a' type=Const>" == repr(a.op)


def test_its_text_says_the_device_asked_for(graph: Graph) -> None:
    with graph.device("/cpu:0"):
        a = constant(1.0, name="a")

    assert 'Tensor("a:0", shape=(), dtype=float32, device=/device:CPU:0)' == str(a)


def test_what_is_not_known_of_a_shape_is_a_question_mark(graph: Graph) -> None:
    assert 'Tensor("x:0", shape=(?, 2), dtype=float32)' == str(placeholder(tf.float32, [None, 2], "x"))
    assert 'Tensor("Placeholder:0", dtype=int32)' == str(placeholder(tf.int32))


def test_it_knows_its_node_and_who_takes_it(graph: Graph) -> None:
    a = constant([[1.0]])
    product = tf.matmul(a, a)

    assert (a, a) == product.op.inputs
    assert [product.op] == a.consumers()
    assert product is product.op.outputs[0]


def test_equality_is_identity(graph: Graph) -> None:
    a, b = constant(1.0), constant(1.0)

    assert a != b
    assert 2 == len({a, b, a})


def test_a_shape_can_be_told(graph: Graph) -> None:
    x = placeholder(tf.float32, [None, 2])

    x.set_shape([3, None])

    assert [3, 2] == x.get_shape().as_list()


@pytest.mark.parametrize(("use", "text"), [(bool, "as a Python `bool`"), (iter, "Iterating over a symbolic")])
def test_it_has_no_values_for_python(graph: Graph, use: Any, text: str) -> None:
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=text):
        use(constant([1.0]))


def test_it_has_no_values_for_numpy(graph: Graph) -> None:
    with pytest.raises(NotImplementedError, match=r"^Cannot convert a symbolic tf.Tensor \(a:0\) to a numpy array\."):
        np.asarray(constant(1.0, name="a"))


def test_it_has_no_length(graph: Graph) -> None:
    with pytest.raises(TypeError, match=r"^len is not well defined for a symbolic Tensor \(a:0\)\."):
        len(constant([1.0], name="a"))


def test_operators_add_to_its_graph_when_none_is_open() -> None:
    with Graph().as_default() as graph:
        a = constant(1.0)

    assert graph is (a + 1.0).graph
