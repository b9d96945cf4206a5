"""Layers, losses, metrics and optimizers do in a `tf.function` what they do at once, and are traced."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nbtf as tf

DRAW = np.random.default_rng(0)
SEQUENCES = DRAW.standard_normal((2, 4, 6, 3)).astype(np.float32)
IMAGES = DRAW.standard_normal((2, 2, 8, 8, 3)).astype(np.float32)
TOKENS = np.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])

LAYERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "Dense": (lambda: tf.keras.layers.Dense(4, "relu"), SEQUENCES),
    "LSTM": (lambda: tf.keras.layers.LSTM(4), SEQUENCES),
    "GRU": (lambda: tf.keras.layers.GRU(4, return_sequences=True), SEQUENCES),
    "Bidirectional": (lambda: tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(3)), SEQUENCES),
    "Conv2D": (lambda: tf.keras.layers.Conv2D(4, 3), IMAGES),
    "Conv2DTranspose": (lambda: tf.keras.layers.Conv2DTranspose(2, 3), IMAGES),
    "BatchNormalization": (lambda: tf.keras.layers.BatchNormalization(), SEQUENCES),
    "LayerNormalization": (lambda: tf.keras.layers.LayerNormalization(), SEQUENCES),
    "MaxPooling2D": (lambda: tf.keras.layers.MaxPooling2D(), IMAGES),
    "Dropout": (lambda: tf.keras.layers.Dropout(0.5), SEQUENCES),
    "Embedding": (lambda: tf.keras.layers.Embedding(10, 4), TOKENS),
    "TimeDistributed": (lambda: tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(2)), SEQUENCES),
    "Sequential": (lambda: tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)]), SEQUENCES),
}


def values_of(function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> list[Any]:
    """The results of calls, as NumPy has them right after each."""
    return [
        [tf.convert_to_tensor(value).numpy().tolist() for value in tf.nest.flatten(function(*arguments))]
        for arguments in calls
    ]


def compare(build: Callable[[], Callable[..., Any]], calls: Sequence[Sequence[Any]], caplog: Any) -> None:
    """Checks that calls give the same bits in a function, which is traced."""
    caplog.set_level(logging.WARNING)
    runs: list[Any] = []
    for wrap in (lambda function: function, tf.function):
        tf.keras.utils.set_random_seed(0)
        runs.append(values_of(wrap(build()), calls))

    assert runs[0] == runs[1]
    assert "not traced" not in caplog.text


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_the_same(name: str, caplog: pytest.LogCaptureFixture) -> None:
    make, inputs = LAYERS[name]

    def build() -> Callable[..., Any]:
        layer = make()

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                result = layer(x, training=True)
                loss = tf.reduce_sum(result**2)
            return result, tape.gradient(loss, layer.trainable_variables)

        return step

    compare(build, [(tf.constant(inputs[number]),) for number in (0, 1, 0)], caplog)


@pytest.mark.parametrize("name", "SGD Adam RMSprop Adagrad Adadelta Adamax Nadam Ftrl AdamW".split())
def test_an_optimizer_takes_the_same_steps(name: str, caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Callable[..., Any]:
        weights = tf.Variable([1.0, 2.0])
        rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
        optimizer = getattr(tf.keras.optimizers, name)(rate)

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((weights * x - 1.0) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
            return loss, weights

        return step

    compare(build, [(tf.constant(1.0),), (tf.constant(2.0),), (tf.constant(1.0),)], caplog)


def test_a_training_loop_gives_the_same(caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Callable[..., Any]:
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [layers.Dense(8, "relu"), layers.Dropout(0.5), layers.BatchNormalization(), layers.Dense(3)]
        )
        optimizer, loss_of = tf.keras.optimizers.Adam(0.01), tf.keras.losses.SparseCategoricalCrossentropy(True)
        accuracy, mean = tf.keras.metrics.SparseCategoricalAccuracy(), tf.keras.metrics.Mean()

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                predicted = model(x, training=True)
                loss = loss_of(y, predicted)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            accuracy.update_state(y, predicted)
            mean(loss)
            return loss, accuracy.result(), mean.result()

        return step

    draw = np.random.default_rng(0)
    batches = [
        (tf.constant(draw.standard_normal((16, 4)), tf.float32), tf.constant(draw.integers(0, 3, 16))) for _ in range(4)
    ]
    compare(build, batches, caplog)
