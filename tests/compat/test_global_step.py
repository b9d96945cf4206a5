from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf.compat.v1 as tf1
from nbtf.compat._v1._variables import initializing as steps


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


def test_a_graph_has_no_step_at_first(graph: tf1.Graph) -> None:
    assert steps.get_global_step() is None


def test_a_step_is_a_whole_number_that_is_not_trained(graph: tf1.Graph) -> None:
    step = steps.create_global_step()

    assert "<tf.Variable 'global_step:0' shape=() dtype=int64_ref>" == str(step)
    assert [[step], [step], []] == [
        tf1.get_collection("global_step"),
        tf1.global_variables(),
        tf1.trainable_variables(),
    ]


def test_there_is_one_step(graph: tf1.Graph) -> None:
    step = steps.get_or_create_global_step()

    assert step is steps.get_or_create_global_step() is steps.get_global_step()
    with pytest.raises(ValueError, match=r'^"global_step" already exists\.$'):
        steps.create_global_step()


def test_a_variable_of_that_name_is_the_step(graph: tf1.Graph) -> None:
    v = tf1.Variable(0, name="global_step")

    assert v.op.outputs[0] is steps.get_global_step()


def test_a_session_has_a_number(graph: tf1.Graph) -> None:
    step, session = steps.create_global_step(), tf1.Session()
    session.run([step.initializer])
    session.run(tf1.assign_add(step, 3))

    assert 3 == steps.global_step(session, step)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf1.Variable(1.0), "does not have integer type: <dtype: 'float32_ref'>"),
        (lambda: tf1.Variable([1]), "is not scalar: (1,)"),
    ],
)
def test_a_step_is_a_whole_number(graph: tf1.Graph, make: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        steps.assert_global_step(make())

    assert f'Existing "global_step" {text}' == str(caught.value)
