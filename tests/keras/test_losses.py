"""Do losses weigh, reduce and name themselves as Keras 3 does?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import activations, losses

Y = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32)
P = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]], np.float32)
EACH = -np.log(np.array([0.7, 0.4], np.float32))


@pytest.mark.parametrize(
    ("reduction", "weights", "expected"),
    [
        ("sum_over_batch_size", None, EACH.mean()),
        ("sum", None, EACH.sum()),
        ("none", None, EACH),
        (None, None, EACH),
        ("sum_over_batch_size", [1.0, 0.0], EACH[0] / 2),
        ("mean_with_sample_weight", [3.0, 1.0], (3 * EACH[0] + EACH[1]) / 4),
    ],
)
def test_losses_are_weighed_and_reduced(reduction: Any, weights: Any, expected: Any) -> None:
    made = losses.CategoricalCrossentropy(reduction=reduction)(Y, P, sample_weight=weights)

    np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5)


def test_logits_give_what_their_shares_give() -> None:
    logits = np.log(P)

    for name, labels in (("Sparse", np.array([0, 1])), ("", Y)):
        loss = getattr(losses, f"{name}CategoricalCrossentropy")
        assert float(loss()(labels, P)) == pytest.approx(float(loss(from_logits=True)(labels, logits)), rel=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32"])
def test_numbers_of_classes_may_be_of_any_kind(dtype: str) -> None:
    loss = losses.SparseCategoricalCrossentropy()

    assert float(loss(np.array([0, 1], dtype), P)) == pytest.approx(EACH.mean(), rel=1e-5)


def test_a_class_that_is_ignored_does_not_count_in_the_mean() -> None:
    loss = losses.SparseCategoricalCrossentropy(ignore_class=0)

    assert float(loss(np.array([0, 1]), P)) == pytest.approx(EACH[1], rel=1e-5)


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_a_last_axis_of_one_is_left_out(shape: tuple[int, ...]) -> None:
    assert float(losses.MeanSquaredError()(np.ones(shape), np.zeros((2, 1)))) == 1.0


def test_own_losses_are_subclasses_or_functions() -> None:
    class Distance(losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)

    assert float(Distance()(Y, Y + 1)) == 1.0
    assert Distance(name="far").get_config() == {"name": "far", "reduction": "sum_over_batch_size"}


def test_wrong_reductions_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match="Invalid value for argument `reduction`"):
        losses.MeanSquaredError(reduction="bad")
    with pytest.raises(ValueError, match="Could not interpret loss identifier: nope"):
        losses.get("nope")


@pytest.mark.parametrize("name", ["BinaryCrossentropy", "Huber", "SparseCategoricalCrossentropy", "CosineSimilarity"])
def test_what_get_config_says_makes_the_same_loss(name: str) -> None:
    loss = getattr(losses, name)(reduction="sum")
    again = losses.deserialize(losses.serialize(loss))

    assert (type(again), again.get_config()) == (type(loss), loss.get_config())


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("linear", lambda x: x),
        ("relu", lambda x: max(x, 0)),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("hard_sigmoid", lambda x: min(1, max(0, x / 6 + 0.5))),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("exponential", math.exp),
    ],
)
def test_activations_are_found_by_name(name: str, formula: Any) -> None:
    points = [-4.0, -0.5, 0.0, 0.5, 4.0]

    np.testing.assert_allclose(
        activations.get(name)(tf.constant(points)).numpy(), [formula(x) for x in points], rtol=1e-5
    )
    assert activations.serialize(activations.get(name)) == name


def test_relu_has_a_slope_a_limit_and_a_threshold() -> None:
    made = activations.relu(tf.constant([-2.0, 0.5, 2.0, 9.0]), negative_slope=0.5, max_value=5.0, threshold=1.0)

    assert made.numpy().tolist() == [-1.5, -0.25, 2.0, 5.0]
