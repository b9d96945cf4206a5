"""Do initializers fill any shape, and does `Constant` repeat what it is given?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

keras = tf.keras
_FILLERS = ["Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "LecunUniform", "Ones", "RandomUniform", "Zeros"]


@pytest.mark.parametrize("name", _FILLERS)
@pytest.mark.parametrize("shape", [(), (2,), (0, 2), (3, 3), (1, 1, 3, 3)], ids=str)
def test_an_initializer_fills_a_shape(name: str, shape: tuple[int, ...]) -> None:
    initializer: Any = getattr(keras.initializers, name)()

    assert initializer(shape, dtype="float64").shape == shape
    assert initializer(tf.TensorShape(shape)).shape == shape


@pytest.mark.parametrize(
    ("value", "expected"), [(2, [[2, 2], [2, 2]]), ([1, 2], [[1, 2], [1, 2]])], ids=["number", "row"]
)
def test_a_constant_is_repeated_to_the_shape(value: Any, expected: Any) -> None:
    np.testing.assert_array_equal(keras.initializers.Constant(value)((2, 2)), np.array(expected, "float32"))


def test_a_constant_that_does_not_fit_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        keras.initializers.Constant([1, 2, 3, 4])((2, 2))


def test_a_layer_begins_with_a_constant() -> None:
    layer = keras.layers.Dense(2, bias_initializer=keras.initializers.Constant(0.5))

    np.testing.assert_array_equal(layer(tf.zeros((1, 3))), [[0.5, 0.5]])
