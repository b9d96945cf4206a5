from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf1


@pytest.fixture
def graph() -> Iterator[tf1.Graph]:
    with tf1.Graph().as_default() as graph:
        yield graph


def drawn(initializer: Any, shape: Any = (200, 100)) -> Any:
    return tf1.Session().run(initializer(shape))


@pytest.mark.parametrize(
    ("initializer", "node"),
    [
        (tf1.zeros_initializer(), "zeros"),
        (tf1.ones_initializer(), "ones"),
        (tf1.constant_initializer(2.0), "Const"),
        (tf1.random_normal_initializer(seed=1), "random_normal"),
        (tf1.random_uniform_initializer(-1, 1), "random_uniform"),
        (tf1.truncated_normal_initializer(stddev=0.1), "truncated_normal"),
        (tf1.glorot_uniform_initializer(), "random_uniform"),
        (tf1.glorot_normal_initializer(), "truncated_normal"),
        (tf1.variance_scaling_initializer(), "truncated_normal"),
    ],
)
def test_an_initializer_names_its_node(graph: tf1.Graph, initializer: Any, node: str) -> None:
    assert node == initializer([2, 2]).op.name


@pytest.mark.parametrize(
    ("initializer", "mean", "deviation"),
    [
        (tf1.random_normal_initializer(3.0, 2.0), 3.0, 2.0),
        (tf1.random_uniform_initializer(-1.0, 1.0), 0.0, 1 / np.sqrt(3)),
        (tf1.truncated_normal_initializer(0.0, 1.0), 0.0, 0.8796),
        (tf1.glorot_uniform_initializer(), 0.0, np.sqrt(2 / 300)),
        (tf1.glorot_normal_initializer(), 0.0, np.sqrt(2 / 300)),
        (tf1.initializers.he_normal(), 0.0, np.sqrt(2 / 200)),
        (tf1.initializers.he_uniform(), 0.0, np.sqrt(2 / 200)),
        (tf1.initializers.lecun_normal(), 0.0, np.sqrt(1 / 200)),
        (tf1.initializers.lecun_uniform(), 0.0, np.sqrt(1 / 200)),
        (tf1.variance_scaling_initializer(2.0, "fan_out", "untruncated_normal"), 0.0, np.sqrt(2 / 100)),
    ],
)
def test_values_have_the_spread(graph: tf1.Graph, initializer: Any, mean: float, deviation: float) -> None:
    values = drawn(initializer)

    assert [mean, deviation] == pytest.approx([values.mean(), values.std()], rel=0.05, abs=0.05 * deviation)


def test_whole_numbers_are_drawn_uniformly(graph: tf1.Graph) -> None:
    values = drawn(tf1.random_uniform_initializer(2, 5, dtype=tf1.int32))

    assert {2, 3, 4} == {*values.ravel().tolist()}


def test_orthogonal_values_are(graph: tf1.Graph) -> None:
    values = drawn(tf1.orthogonal_initializer(2.0), (4, 3))

    assert np.allclose(values.T @ values, 4.0 * np.eye(3), atol=1e-5)


@pytest.mark.parametrize("size", [10, 2000])
def test_zeros_of_any_size_are_zeros(graph: tf1.Graph, size: int) -> None:
    assert [0.0] * size == drawn(tf1.zeros_initializer(), (size,)).tolist()


def test_constants_fill_up_with_the_last(graph: tf1.Graph) -> None:
    assert [[1.0, 2.0], [3.0, 3.0]] == drawn(tf1.constant_initializer([1, 2, 3]), (2, 2)).tolist()


def test_constants_can_be_held_to_their_shape(graph: tf1.Graph) -> None:
    with pytest.raises(TypeError, match=r"^Expected Tensor's shape: \(2, 2\), but got \(3,\)\.$"):
        tf1.constant_initializer([1, 2, 3], verify_shape=True)([2, 2])


def test_a_constant_must_be_a_value() -> None:
    with pytest.raises(TypeError, match=r"^Invalid type for initial value={} of type: dict"):
        tf1.constant_initializer({})


def test_a_call_names_the_dtype(graph: tf1.Graph) -> None:
    assert tf1.float64 is tf1.random_normal_initializer()([2], tf1.float64).dtype


def test_each_session_draws_its_own_numbers(graph: tf1.Graph) -> None:
    w = tf1.get_variable("w", [100])
    first, second = tf1.Session(), tf1.Session()
    for session in (first, second):
        session.run(w.initializer)

    assert first.run(w).tolist() != second.run(w).tolist()


def test_initializers_are_found_by_their_older_names() -> None:
    assert tf1.zeros_initializer is tf1.initializers.zeros
    assert tf1.global_variables_initializer is tf1.initializers.global_variables
