"""Do layers say beforehand which shape they give, and refuse shapes in Keras' words?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L = tf.keras.layers
IMAGE, SEQUENCE, VECTOR = (9, 10, 3), (6, 4), (5,)

MAKERS = {
    "dense": (lambda: L.Dense(2), SEQUENCE),
    "embedding": (lambda: L.Embedding(9, 2), VECTOR),
    "conv same": (lambda: L.Conv2D(2, 3, strides=2, padding="same"), IMAGE),
    "conv dilated": (lambda: L.Conv2D(2, 3, dilation_rate=2), IMAGE),
    "conv causal": (lambda: L.Conv1D(2, 3, padding="causal"), SEQUENCE),
    "transpose": (lambda: L.Conv2DTranspose(2, 3, strides=2), IMAGE),
    "pool": (lambda: L.MaxPooling2D(3, padding="same"), IMAGE),
    "global": (lambda: L.GlobalAveragePooling2D(keepdims=True), IMAGE),
    "flatten": (lambda: L.Flatten(), IMAGE),
    "reshape": (lambda: L.Reshape((-1, 2)), SEQUENCE),
    "up": (lambda: L.UpSampling2D((2, 3)), IMAGE),
    "zeros": (lambda: L.ZeroPadding2D(((1, 2), (0, 3))), IMAGE),
    "lstm": (lambda: L.LSTM(3, return_sequences=True), SEQUENCE),
    "both": (lambda: L.Bidirectional(L.GRU(3)), SEQUENCE),
    "each": (lambda: L.TimeDistributed(L.Dense(2)), SEQUENCE),
}


@pytest.mark.parametrize(("make", "shape"), MAKERS.values(), ids=MAKERS)
def test_shape_said_beforehand_is_that_of_the_result(make: Any, shape: tuple[int, ...]) -> None:
    layer = make()
    said = layer(tf.keras.Input(shape)).shape

    assert said == (None, *layer(np.ones((2, *shape), "float32")).shape[1:])


WRONG = {
    "rank": (lambda: L.Conv2D(1, 3)(np.zeros((2, 4, 4))), r"expected min_ndim=4, found ndim=3"),
    "pool rank": (lambda: L.MaxPooling2D()(np.zeros((2, 4, 4))), r"expected ndim=4, found ndim=3"),
    "window": (lambda: L.Conv2D(1, 5)(np.zeros((2, 4, 4, 1))), "Computed output size would be zero or negative"),
    "filters": (lambda: L.Conv2D(0, 3), r"Expected a strictly positive value\. Received filters=0\."),
    "strides": (lambda: L.Conv2D(1, 3, strides=0), "The `strides` argument must be a tuple of 2 integers"),
    "padding": (lambda: L.Conv2D(1, 3, padding="no"), "The `padding` argument must be a list/tuple or one of"),
    "units": (lambda: L.Dense(-1), r"expected a positive integer\. Received: units=-1"),
    "reshape": (lambda: L.Reshape((5,))(np.zeros((2, 4))), r"input_shape=\(4,\), target_shape=\(5,\)"),
    "add": (lambda: L.Add()([np.zeros((2, 3)), np.zeros((2, 4))]), r"Received shapes \(3,\) and \(4,\)"),
    "one": (lambda: L.Add()(np.zeros((2, 3))), r"should be called on a list of inputs"),
    "concat": (lambda: L.Concatenate(1)([np.zeros((2, 3, 1)), np.zeros((2, 3, 2))]), "matching shapes except for"),
    "activation": (lambda: L.Dense(1, activation="no"), "Could not interpret activation function identifier: no"),
    "format": (lambda: L.Flatten(data_format="no"), "The `data_format` argument must be one of"),
}


@pytest.mark.parametrize(("use", "text"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_in_keras_words(use: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        use()


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        (L.add, [4.0, 6.0]),
        (L.multiply, [3.0, 8.0]),
        (L.average, [2.0, 3.0]),
        (L.concatenate, [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_tensors_are_merged(merge: Any, expected: list[float]) -> None:
    one, other = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])

    assert [expected] == merge([one, other]).numpy().tolist()


def test_moving_averages_of_replicas_are_averaged() -> None:
    tf.runtime.simulate_gpus(2)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        layer = L.BatchNormalization(momentum=0.0)
        layer.build((None, 1))
    values = iter([1.0, 3.0])
    strategy.run(lambda: layer(tf.fill((2, 1), next(values)), training=True))

    assert [2.0] == layer.moving_mean.numpy().tolist()
