from __future__ import annotations

from typing import Any

import pytest

import nbtf.compat.v1 as tf1


def drawn(session: Any, tensor: Any) -> list[float]:
    return session.run(tensor).tolist()


def test_the_seed_of_an_op_decides_its_numbers() -> None:
    numbers = drawn(tf1.Session(), tf1.random_normal([2], seed=3))

    # Source: TensorFlow 2.21, `tf.compat.v1.random_normal([2], seed=3)` in a new graph and session.
    assert pytest.approx([1.0616621, -0.8785783]) == numbers


def test_the_seed_of_the_graph_decides_all_numbers_and_tells_ops_apart() -> None:
    tf1.set_random_seed(7)
    tensors = [tf1.random_normal([2]), tf1.truncated_normal([2], stddev=0.1)]
    whole = tf1.random_uniform([2], maxval=10, dtype=tf1.int32)

    values = [value for one in tf1.Session().run(tensors) for value in one.tolist()]

    # Source: TensorFlow 2.21, the same three ops in a new graph and session.
    assert pytest.approx([0.3536911, 0.6635877, -0.05408054, 0.1122033]) == values
    assert [5, 1] == drawn(tf1.Session(), whole)


def test_each_session_draws_from_the_start_and_goes_on() -> None:
    x = tf1.random_uniform([2], seed=1)
    one, other = tf1.Session(), tf1.Session()

    assert drawn(one, x) == drawn(other, x)
    assert drawn(one, x) != drawn(tf1.Session(), x)


def test_without_a_seed_numbers_cannot_be_foretold() -> None:
    x = tf1.random_uniform([4])

    assert drawn(tf1.Session(), x) != drawn(tf1.Session(), x)


def test_two_fetches_of_one_run_are_one_draw() -> None:
    x = tf1.random_normal([3])
    y = x * 2.0
    first, second = tf1.Session().run([x, y])

    assert (first * 2.0).tolist() == second.tolist()


def test_bounds_hold() -> None:
    x = tf1.random_uniform([100], -2.0, -1.0)
    values = tf1.Session().run(x)

    assert -2.0 <= values.min() <= values.max() < -1.0
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        tf1.random_uniform([2], dtype=tf1.int32)


def test_rows_are_shuffled_and_classes_drawn() -> None:
    tf1.set_random_seed(1)
    shuffled, classes = tf1.random_shuffle([1, 2, 3]), tf1.multinomial([[0.0, -100.0]], 4)

    assert [1, 2, 3] == sorted(drawn(tf1.Session(), shuffled))
    assert [[0, 0, 0, 0]] == drawn(tf1.Session(), classes)


def test_seeds_can_be_asked_for() -> None:
    assert (None, None) == tf1.get_seed(None)
    assert (87654321, 5) == tf1.get_seed(5)
    tf1.set_random_seed(3)
    assert [(3, 0), (3, 1), (3, 9)] == [tf1.get_seed(None), tf1.get_seed(None), tf1.get_seed(9)]
