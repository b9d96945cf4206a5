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
P = np.array([[0.9, 0.2, 0.6], [0.3, 0.1, 0.8]], np.float32)
CLASSES = np.array([2, 0], np.int32)
SHARES = np.eye(3, dtype=np.float32)[CLASSES]

LOSSES: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "squares": (losses.mean_squared_error, [Y, X], "mean_squared_error"),
    "distances": (losses.absolute_difference, [Y, X], "absolute_difference"),
    "Huber": (losses.huber_loss, [Y, X], "huber_loss"),
    "logarithms": (losses.log_loss, [Y, P], "log_loss"),
    "hinge": (losses.hinge_loss, [Y, X], "hinge_loss"),
    "softmax": (losses.softmax_cross_entropy, [SHARES, X], "softmax_cross_entropy_loss"),
    "classes": (losses.sparse_softmax_cross_entropy, [CLASSES, X], "sparse_softmax_cross_entropy_loss"),
    "sigmoid": (losses.sigmoid_cross_entropy, [Y, X], "sigmoid_cross_entropy_loss"),
}


def run(make: Callable[[], Any]) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def by_numpy(name: str) -> Any:
    """Returns the mean loss by its formula."""
    sign = 2 * Y - 1
    distance = np.abs(X - Y)
    shares = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    entropy = -np.log(shares[[0, 1], CLASSES])
    formulas = {
        "squares": (X - Y) ** 2,
        "distances": distance,
        "Huber": np.where(distance <= 1, distance**2 / 2, distance - 0.5),
        "logarithms": -Y * np.log(P + 1e-7) - (1 - Y) * np.log(1 - P + 1e-7),
        "hinge": np.maximum(0, 1 - sign * X),
        "softmax": entropy,
        "classes": entropy,
        "sigmoid": np.log(1 + np.exp(-sign * X)),
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


WEIGHTED = [[1.0, 2.0, 0.0]]
REDUCTIONS = [
    (losses.Reduction.NONE, [[1.0, 4.0, 0.0]]),
    (losses.Reduction.SUM, 5.0),
    (losses.Reduction.MEAN, 5.0 / 3),
    (losses.Reduction.SUM_OVER_BATCH_SIZE, 5.0 / 3),
    (losses.Reduction.SUM_BY_NONZERO_WEIGHTS, 5.0 / 2),
]


@pytest.mark.parametrize(("reduction", "expected"), REDUCTIONS)
def test_weights_count_as_the_reduction_says(reduction: str, expected: Any) -> None:
    values = [[1.0, 2.0, 3.0]]

    found = run(lambda: losses.compute_weighted_loss(tf.constant(values), WEIGHTED, reduction=reduction))

    np.testing.assert_allclose(found, expected, rtol=1e-6)


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
        with pytest.raises(ValueError, match=r"weights can not be broadcast to values\. Mismatch at dim 0"):
            losses.mean_squared_error(Y, X, weights=np.ones([7, 3]))
        with pytest.raises(ValueError, match="Argument `labels` must not be None"):
            losses.mean_squared_error(None, X)
        with pytest.raises(ValueError, match=r"Invalid Reduction Key x\. Key should be one of"):
            losses.mean_squared_error(Y, X, reduction="x")
        with pytest.raises(ValueError, match=r"Shapes \(2, 3\) and \(1, 3\) are incompatible"):
            losses.mean_squared_error(Y[:1], X)
