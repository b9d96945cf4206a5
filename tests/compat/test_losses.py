"""Are losses what their formulas say, and kept in the collection of the graph?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf

losses = tf.losses

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], np.float32)
Y = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], np.float32)
CLASSES = np.array([2, 0], np.int32)
SHARES = np.eye(3, dtype=np.float32)[CLASSES]

LOSSES: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "squares": (losses.mean_squared_error, [Y, X], "mean_squared_error"),
    "softmax": (losses.softmax_cross_entropy, [SHARES, X], "softmax_cross_entropy_loss"),
    "classes": (losses.sparse_softmax_cross_entropy, [CLASSES, X], "sparse_softmax_cross_entropy_loss"),
}


def run(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def by_numpy(name: str) -> Any:
    """Returns the mean loss by its formula."""
    shares = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    entropy = -np.log(shares[[0, 1], CLASSES])
    formulas = {
        "squares": (X - Y) ** 2,
        "softmax": entropy,
        "classes": entropy,
    }
    return formulas[name].mean()


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_the_mean_of_its_formula(name: str) -> None:
    function, arguments, _ = LOSSES[name]

    assert run(lambda: function(*arguments)) == pytest.approx(by_numpy(name), rel=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_kept_under_its_name(name: str) -> None:
    function, arguments, scope = LOSSES[name]
    with tf.Graph().as_default():
        found = [function(*arguments), function(*arguments, scope="mine")]

        assert found == losses.get_losses() == tf.get_collection(tf.GraphKeys.LOSSES)
        assert [f"{scope}/value:0", "mine/value:0"] == [one.name for one in found]


def test_weights_count_without_zeros() -> None:
    weights = [[1.0, 2.0, 0.0]]

    assert 2.5 == run(lambda: losses.compute_weighted_loss(tf.constant([[1.0, 2.0, 3.0]]), weights))


def test_weights_of_0_make_a_loss_of_0() -> None:
    assert 0.0 == run(lambda: losses.mean_squared_error(Y, X, weights=0.0))


def test_labels_may_be_smoothed() -> None:
    found = run(lambda: losses.softmax_cross_entropy(SHARES, X, label_smoothing=0.3))
    expected = run(lambda: losses.softmax_cross_entropy(SHARES * 0.7 + 0.1, X))

    assert found == pytest.approx(expected, rel=1e-6)


def test_the_number_of_rows_need_not_be_known() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None])
        loss = losses.sparse_softmax_cross_entropy(y, x)

        assert session.run(loss, {x: X, y: CLASSES}) == pytest.approx(by_numpy("classes"), rel=1e-6)


def test_the_total_has_the_losses_of_variables_as_well() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("w", initializer=[3.0, 4.0], regularizer=lambda v: tf.reduce_sum(v) * 0.5)
        losses.add_loss(tf.constant(1.0))
        losses.add_loss(tf.constant(9.0), None)
        found = [losses.get_total_loss(), losses.get_total_loss(add_regularization_losses=False)]
        found += [losses.get_regularization_loss()]
        session.run(tf.global_variables_initializer())

        assert [4.5, 1.0, 3.5] == session.run(found)
        assert ["total_loss:0", "total_loss_1:0", "total_regularization_loss:0"] == [one.name for one in found]


def test_what_does_not_fit_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Argument `labels` must not be None"):
            losses.mean_squared_error(None, X)
        with pytest.raises(ValueError, match=r"Shapes \(2, 3\) and \(1, 3\) are incompatible"):
            losses.mean_squared_error(Y[:1], X)
