"""Do metrics gather over batches, weights and replicas?"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import nbtf as tf
from nbtf.keras import metrics
from tests.machines import machine


def test_a_mean_gathers_over_batches() -> None:
    mean = metrics.Mean()
    mean.update_state([1.0, 3.0])
    mean.update_state(8.0)

    assert float(mean.result()) == 4.0
    mean.reset_state()
    assert float(mean.result()) == 0.0


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], [1.0, 0.0], 1.5),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0], [3.0]], 3.0),
        ([1.0, 2.0], 2.0, 1.5),
    ],
)
def test_values_count_as_their_weights_say(values: Any, weights: Any, expected: float) -> None:
    mean = metrics.Mean()
    mean.update_state(values, sample_weight=weights)

    assert float(mean.result()) == expected


@pytest.mark.parametrize(
    ("name", "y_true", "y_pred", "expected"),
    [
        ("Accuracy", [1.0, 2.0], [1.0, 3.0], 0.5),
        ("BinaryAccuracy", [[1.0], [0.0]], [[0.6], [0.7]], 0.5),
        ("CategoricalAccuracy", [[0.0, 1.0]], [[0.2, 0.8]], 1.0),
        ("SparseCategoricalAccuracy", [[1], [0]], [[0.1, 0.9], [0.2, 0.8]], 0.5),
        ("MeanAbsoluteError", [[1.0, 2.0]], [[2.0, 4.0]], 1.5),
        ("RootMeanSquaredError", [[0.0, 0.0]], [[3.0, 5.0]], 17.0**0.5),
        ("Precision", [0, 1, 1, 1], [1, 0, 1, 1], 2 / 3),
        ("Recall", [0, 1, 1, 1], [1, 0, 1, 1], 2 / 3),
        ("AUC", [0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9], 0.75),
        ("TruePositives", [0, 1, 1, 1], [1, 0, 1, 1], 2.0),
        ("FalseNegatives", [0, 1, 1, 1], [1, 0, 1, 1], 1.0),
    ],
)
def test_predictions_are_measured(name: str, y_true: Any, y_pred: Any, expected: float) -> None:
    metric = getattr(metrics, name)()

    assert float(metric(y_true, y_pred)) == pytest.approx(expected, rel=1e-6)
    assert float(metric(y_true, y_pred)) == pytest.approx(expected * (2 if "ives" in name else 1), rel=1e-6)


def test_a_metric_is_found_by_name_and_by_config() -> None:
    assert repr(metrics.get("mse")) == "<MeanSquaredError name=mean_squared_error>"
    again = metrics.deserialize(metrics.serialize(metrics.BinaryAccuracy(threshold=0.7)))
    assert again.get_config()["threshold"] == 0.7
    with pytest.raises(ValueError, match="Could not interpret metric identifier: nope"):
        metrics.get("nope")


def test_each_replica_gathers_and_the_result_is_that_of_all() -> None:
    with machine(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            mean = metrics.Mean()
        numbers = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([1.0, 2.0, 3.0] if context.replica_id_in_sync_group else [6.0])
        )
        strategy.run(mean.update_state, args=(numbers,))

        assert float(mean.result()) == 3.0
        assert [float(one) for one in strategy.run(mean.result).values] == [6.0, 2.0]
        mean.reset_state()
        assert float(mean.result()) == 0.0


def test_the_old_name_of_reset_works() -> None:
    total = metrics.Sum()
    total.update_state([1.0, 2.0], sample_weight=[1.0, 0.0])

    assert float(total.result()) == 1.0
    total.reset_states()
    assert float(total.result()) == 0.0


@pytest.mark.parametrize("name", ["Mean", "Sum", "Accuracy", "AUC", "Precision", "MeanSquaredError"])
@pytest.mark.parametrize("is_open", [False, True], ids=["outside", "in the scope"])
def test_metric_of_a_strategy_gathers_across_replicas(name: str, is_open: bool) -> None:
    values = ([1.0, 0.0, 1.0, 1.0],) if name in ("Mean", "Sum") else ([1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0])
    tf.runtime.simulate_gpus(2)
    plain = getattr(tf.keras.metrics, name)()
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    with strategy.scope():
        metric = getattr(tf.keras.metrics, name)()
    with strategy.scope() if is_open else nullcontext():
        for _ in range(2):
            metric.update_state(*values)
            plain.update_state(*values)

    assert float(plain.result()) == float(metric.result())
