"""Are the gradients of layers the slopes that one measures?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L = tf.keras.layers
SEQUENCE, IMAGE, VECTOR = (2, 4, 3), (2, 5, 5, 2), (3, 4)

LAYERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Dense", {"units": 3, "activation": "tanh"}, VECTOR),
    ("Dense", {"units": 2}, SEQUENCE),
    ("Conv1D", {"filters": 2, "kernel_size": 2, "padding": "causal"}, SEQUENCE),
    ("Conv2D", {"filters": 2, "kernel_size": 3, "strides": 2, "padding": "same"}, IMAGE),
    ("Conv2D", {"filters": 2, "kernel_size": 2, "groups": 2}, IMAGE),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2}, IMAGE),
    ("MaxPooling2D", {}, IMAGE),
    ("AveragePooling2D", {}, IMAGE),
    ("MaxPooling1D", {}, SEQUENCE),
    ("AveragePooling1D", {}, SEQUENCE),
    ("GlobalMaxPooling2D", {}, IMAGE),
    ("GlobalAveragePooling2D", {}, IMAGE),
    ("GlobalMaxPooling1D", {}, SEQUENCE),
    ("GlobalAveragePooling1D", {}, SEQUENCE),
    ("BatchNormalization", {"training": True}, VECTOR),
    ("BatchNormalization", {}, IMAGE),
    ("LayerNormalization", {}, SEQUENCE),
    ("SimpleRNN", {"units": 2}, SEQUENCE),
    ("LSTM", {"units": 2, "return_sequences": True}, SEQUENCE),
    ("GRU", {"units": 2}, SEQUENCE),
    ("GRU", {"units": 2, "reset_after": False, "go_backwards": True}, SEQUENCE),
    ("LeakyReLU", {}, VECTOR),
    ("ReLU", {"negative_slope": 0.1}, VECTOR),
    ("Softmax", {}, VECTOR),
    ("Activation", {"activation": "gelu"}, VECTOR),
    ("Flatten", {}, IMAGE),
    ("Reshape", {"target_shape": (-1, 2)}, VECTOR),
    ("UpSampling2D", {}, IMAGE),
    ("ZeroPadding2D", {}, IMAGE),
    ("Rescaling", {"scale": 2.0}, VECTOR),
    ("Normalization", {"mean": 1.0, "variance": 4.0}, VECTOR),
]


@pytest.mark.parametrize(("name", "args", "shape"), LAYERS, ids=lambda one: one if isinstance(one, str) else "")
def test_gradient_is_the_slope_along_a_direction(name: str, args: dict[str, Any], shape: tuple[int, ...]) -> None:
    args = dict(args)
    how = {"training": True} if args.pop("training", False) else {}
    layer = getattr(L, name)(**args, dtype="float64")
    random = np.random.default_rng(0)
    x, along = random.normal(size=shape), random.normal(size=shape)
    layer(x)
    ways = [random.normal(size=weight.shape) for weight in layer.trainable_weights]
    begin = [weight.numpy() for weight in layer.trainable_weights]
    factors = random.normal(size=layer(x).shape)

    def value(step: float) -> Any:
        for weight, first, way in zip(layer.trainable_weights, begin, ways, strict=True):
            weight.assign(first + step * way)
        return tf.reduce_sum(layer(x + step * along, **how) * factors)

    point = tf.constant(x)
    value(0.0)
    with tf.GradientTape() as tape:
        tape.watch(point)
        target = tf.reduce_sum(layer(point, **how) * factors)
    gradients = tape.gradient(target, [point, *layer.trainable_weights])
    slope = sum(float(np.sum(np.asarray(g) * way)) for g, way in zip(gradients, [along, *ways], strict=True))

    step = 1e-6  # in float64 the difference of two values then has an error of about 1e-9 / 1e-6
    assert float(value(step) - value(-step)) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-6)
