"""Are jacobians those of TensorFlow, in shape, values and words?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf


def squared(x: Any, persistent: bool = True) -> tuple[tf.GradientTape, tf.Tensor]:
    with tf.GradientTape(persistent) as tape:
        tape.watch(x)
        y = x * x
    return tape, y


def test_a_jacobian_has_the_axes_of_target_and_source() -> None:
    x, w = tf.Variable(tf.ones([2, 3])), tf.Variable(tf.ones([3, 4]))
    with tf.GradientTape() as tape:
        y = x @ w

    dx, dw = tape.jacobian(y, (x, w))
    assert ([2, 4, 2, 3], [2, 4, 3, 4]) == (dx.shape.as_list(), dw.shape.as_list())
    assert np.einsum("ij,kl->ikjl", np.eye(2), np.ones((4, 3))).transpose(0, 1, 2, 3).tolist() == dx.numpy().tolist()


def test_it_is_the_derivative_of_each_element() -> None:
    x = tf.constant([1.0, 2.0])
    tape, y = squared(x, persistent=False)

    assert [[2.0, 0.0], [0.0, 4.0]] == tape.jacobian(y, x).numpy().tolist()


def test_it_has_the_build_of_its_sources() -> None:
    x, other = tf.constant([1.0, 2.0]), tf.constant(1.0)
    tape, y = squared(x)

    found = tape.jacobian(y, [x, {"other": other}])
    assert [[2.0, 0.0], [0.0, 4.0]] == found[0].numpy().tolist()
    assert {"other": None} == found[1]
    assert [0.0, 0.0] == tape.jacobian(y, other, unconnected_gradients="zero").numpy().tolist()


def test_a_hessian_is_the_jacobian_of_a_gradient() -> None:
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_prod(x) * x[0]
        slope = tape.gradient(y, x)

    assert [[4.0, 2.0], [2.0, 0.0]] == outer.jacobian(slope, x).numpy().tolist()


def test_a_batch_has_one_for_each_example() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    tape, y = squared(x, persistent=False)

    assert [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]] == tape.batch_jacobian(y, x).numpy().tolist()


def test_a_batch_without_connection_is_zero() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    tape, _ = squared(x)

    assert np.zeros((2, 1, 2)).tolist() == tape.batch_jacobian(tf.ones([2, 1]), x).numpy().tolist()


def test_rows_become_tensors() -> None:
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(x, [1])

    assert [[[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]] == tape.jacobian(y, x).numpy().tolist()


def test_nothing_has_an_empty_jacobian() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = (x * x)[:0]

    assert [0, 2] == tape.jacobian(y, x).shape.as_list()


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_a_tape_is_spent_after_one(method: str) -> None:
    x = tf.constant([[1.0, 2.0]])
    tape, y = squared(x, persistent=False)
    getattr(tape, method)(y, x)

    with pytest.raises(RuntimeError, match=r"^A non-persistent GradientTape can only be used to ?compute one set"):
        getattr(tape, method)(y, x)


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_one_by_one_asks_for_a_persistent_tape(method: str) -> None:
    x = tf.constant([[1.0, 2.0]])
    tape, y = squared(x, persistent=False)

    with pytest.raises(
        RuntimeError, match=f"^GradientTape must be created with persistent=True to compute the {method}"
    ):
        getattr(tape, method)(y, x, experimental_use_pfor=False)


@pytest.mark.parametrize(
    ("target", "source", "text"),
    [
        (
            [[1.0, 2.0]],
            [[1.0], [2.0]],
            "Need first dimension of target shape ((1, 2)) and source shape ((2, 1)) to match.",
        ),
        ([1.0, 2.0], [[1.0], [2.0]], "Shape (2,) must have rank at least 2"),
        ([[1.0, 2.0]], [1.0], "Shape (1,) must have rank at least 2"),
    ],
)
def test_a_batch_is_needed_on_both_sides(target: Any, source: Any, text: str) -> None:
    x = tf.constant(source)
    tape, _ = squared(x)

    with pytest.raises(ValueError, match="hape") as caught:
        tape.batch_jacobian(tf.constant(target), x)
    assert text == str(caught.value)
