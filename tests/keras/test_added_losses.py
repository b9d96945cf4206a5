"""Do layers add to the loss what TensorFlow says? A share of `python -m tests.keras.added_losses`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.keras.added_losses import X, Y, agree, answer, recorded, rows

STRIDE = 8
"""One row of so many is computed here."""


@pytest.mark.filterwarnings("ignore")
def test_losses_are_those_of_tensorflow() -> None:
    table = recorded()
    share = [(" | ".join(row), compute) for row, compute in rows(tf)][::STRIDE]
    answers = {row: answer(compute) for row, compute in share}

    assert len(answers) > 100
    assert {} == {row: (losses, table[row]) for row, losses in answers.items() if not agree(table[row], losses)}


def test_table_has_each_row() -> None:
    assert list(recorded()) == [" | ".join(row) for row, _ in rows(tf)]


@pytest.mark.parametrize(
    ("expected", "agrees"), [([1.0, 2.0], True), ([1.0], False), ([1.0, 2.1], False), ("E", False)]
)
def test_losses_that_differ_are_noticed(expected: Any, agrees: bool) -> None:
    assert agrees == agree(expected, [1.0, 2.0])


@pytest.mark.parametrize("loss", [1.0, lambda: tf.constant(1.0), [tf.constant(1.0), 2], np.float32(1.0)])
def test_only_tensors_are_added(loss: Any) -> None:
    with pytest.raises(ValueError, match=r"`add_loss\(\)` can only be called from inside `build\(\)` or `call\(\)`"):
        tf.keras.layers.Dense(1).add_loss(loss)


def test_symbolic_loss_is_refused() -> None:
    inputs = tf.keras.Input((3,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))

    with pytest.raises(ValueError, match=r"Received invalid value: <KerasTensor"):
        model.add_loss(inputs[0] * 2.0)


def test_add_metric_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"Layer `add_metric\(\)` method is deprecated"):
        tf.keras.layers.Dense(1).add_metric(tf.constant(1.0), name="metric")


class Notes(tf.keras.layers.Layer):
    """Notes how it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def call(self, x: Any, training: Any = None) -> Any:
        self.calls.append(training)
        return x


class Closed(tf.keras.Model):
    """Takes no `training`."""

    def __init__(self) -> None:
        super().__init__()
        self.notes, self.dense = Notes(), tf.keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.dense(self.notes(x))


class Open(Closed):
    """Takes `training`."""

    def call(self, x: Any, training: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().call(x)


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize(("model_class", "expected"), [(Closed, {None}), (Open, {True})])
def test_layers_train_where_the_model_takes_training(model_class: Any, expected: Any, run_eagerly: bool) -> None:
    model = model_class()
    model(X)
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    model.notes.calls.clear()
    model.fit(X, Y, verbose=0)
    model.train_on_batch(X, Y)

    assert expected == set(model.notes.calls)
