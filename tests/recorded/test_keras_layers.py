"""Do layers compute what Keras 3 computes on TensorFlow: results, gradients, and weights after the call?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

ROWS = json.loads((Path(__file__).parent / "keras_layers.json").read_text())


def numbers(shape: Any, step: int) -> Any:
    """Returns the numbers that the recording used."""
    count = int(np.prod(shape))
    return (((np.arange(count) * step) % 17 - 8) / 7).reshape(shape).astype("float32")


def named(row: dict[str, Any]) -> str:
    return "-".join([row["layer"], *(f"{key}={value}" for key, value in row["args"].items())])


def tupled(value: Any) -> Any:
    return tuple(tupled(one) for one in value) if isinstance(value, list) else value


def replayed(row: dict[str, Any]) -> dict[str, Any]:
    lists = row["layer"] == "LayerNormalization"
    args = {key: value if lists else tupled(value) for key, value in row["args"].items()}
    layer = getattr(tf.keras.layers, row["layer"])(**args)
    x = tf.constant(numbers(row["shape"], 5))
    if not layer.built:
        layer.build(tuple(row["shape"]))
    variance = ["variance" in weight.path for weight in layer.weights]
    layer.set_weights(
        [
            np.ones(weight.shape) if positive else numbers(weight.shape, 3 + place) * 0.5
            for place, (weight, positive) in enumerate(zip(layer.weights, variance, strict=True))
        ]
    )
    how = {"training": True} if row.get("training") else {}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, **how)
        target = tf.reduce_sum(y * tf.constant(numbers(tuple(y.shape), 7)))
    gradients = tape.gradient(target, [x, *layer.trainable_weights])
    return {"result": y, "gradients": gradients, "weights": [weight.numpy() for weight in layer.weights]}


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_layer_computes_what_keras_computes(row: dict[str, Any]) -> None:
    found = replayed(row)

    assert row["result_shape"] == list(found["result"].shape)
    np.testing.assert_allclose(np.ravel(found["result"]), row["result"], rtol=1e-4, atol=2e-5)
    for expected, actual in zip(row["gradients"], found["gradients"], strict=True):
        assert (expected is None) == (actual is None)
        if expected is not None:
            np.testing.assert_allclose(np.ravel(actual), expected, rtol=1e-3, atol=1e-3)
    for expected, actual in zip(row["weights"], found["weights"], strict=True):
        np.testing.assert_allclose(np.ravel(actual), expected, rtol=1e-4, atol=1e-5)
