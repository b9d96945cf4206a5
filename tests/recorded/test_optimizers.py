"""Do optimizers make the steps that those of Keras 3 make on TensorFlow? Six each, with gradients that change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "optimizers.json").read_text())


def gradients(step: int) -> list[Any]:
    """Returns the gradients that the recording used."""
    vector = np.sin(np.arange(3) * 1.3 + step * 0.7) * (1 + step % 3)
    return [tf.constant(vector, tf.float32), tf.constant([[np.cos(step * 0.9)]], tf.float32)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["optimizer"] + json.dumps(row["arguments"]))
def test_steps_are_those_of_keras(row: dict[str, Any]) -> None:
    weights = [tf.Variable([1.0, -2.0, 0.5]), tf.Variable([[0.3]])]
    optimizer = getattr(tf.keras.optimizers, row["optimizer"])(learning_rate=0.1, **row["arguments"])
    values = []
    for step in range(len(row["values"])):
        optimizer.apply_gradients(zip(gradients(step), weights, strict=True))
        values.append([float(number) for weight in weights for number in np.ravel(weight.numpy())])

    # Keras takes powers of the betas in float32, which is good for five digits of a step of 0.1
    np.testing.assert_allclose(values, row["values"], rtol=0, atol=5e-6)
