"""Do the initializers of the root namespace return what TensorFlow 2.21's return? Its answers are recorded here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

PART: dict[str, Any] = {"partition_shape": (2, 3), "partition_offset": (2, 0)}

VALUES: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "zeros": (lambda: tf.zeros_initializer()((2,)), tf.float32, [0, 0]),
    "zeros of bool": (lambda: tf.zeros_initializer()((2,), tf.bool), tf.bool, [False, False]),
    "ones of a length": (lambda: tf.ones_initializer()(3, dtype="float64"), tf.float64, [1, 1, 1]),
    "part of zeros": (lambda: tf.zeros_initializer()((4, 3), **PART), tf.float32, np.zeros((2, 3))),
    "constant": (lambda: tf.constant_initializer()((2,)), tf.int32, [0, 0]),
    "constant list": (lambda: tf.constant_initializer([1, 2])((1, 2), tf.int64), tf.int64, [[1, 2]]),
    "constant text": (lambda: tf.constant_initializer("a")((2,), tf.string), tf.string, [b"a", b"a"]),
    "uniform": (
        lambda: tf.random_uniform_initializer(-1, 1, seed=3)((3,)),
        tf.float32,
        [-0.6081743, 0.8786905, 0.0645504],
    ),
    "uniform integers": (lambda: tf.random_uniform_initializer(0, 10, seed=3)((3,), tf.int32), tf.int32, [8, 7, 2]),
    "normal": (
        lambda: tf.random_normal_initializer(seed=3)((3,)),
        tf.float32,
        [-0.03357924, 0.08380252, -0.04721227],
    ),
    "normal doubles": (
        lambda: tf.random_normal_initializer(seed=3)((3,), tf.float64),
        tf.float64,
        [0.05316754, -0.00274251, 0.01221],
    ),
    "in a function": (
        tf.function(lambda: tf.random_normal_initializer(seed=1)((2,))),
        tf.float32,
        [0.00633252, -0.02465083],
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_tensorflow(name: str) -> None:
    call, dtype, expected = VALUES[name]
    result = call()

    assert dtype is result.dtype
    if dtype is tf.string:
        assert expected == result.numpy().tolist()
    else:
        np.testing.assert_allclose(result.numpy(), expected, rtol=2e-6, atol=1e-8)


def test_values_without_a_seed_follow_the_global_one() -> None:
    tf.random.set_seed(1)
    draw = tf.random_normal_initializer()

    np.testing.assert_allclose(draw((3,)).numpy(), [-0.05506101, 0.07728758, 0.0191822], rtol=2e-6)
    np.testing.assert_allclose(draw((3,)).numpy(), [0.02015439, -0.05440104, -0.00315477], rtol=2e-6)


ERRORS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "zeros of texts": (
        lambda: tf.zeros_initializer()((2,), tf.string),
        ValueError,
        "Argument `dtype` expected to be numeric or boolean. Received <dtype: 'string'>.",
    ),
    "uniform bool": (
        lambda: tf.random_uniform_initializer()((2,), tf.bool),
        ValueError,
        "Argument `dtype` expected to be numeric or boolean. Received <dtype: 'bool'>.",
    ),
    "normal integers": (
        lambda: tf.random_normal_initializer()((2,), tf.int32),
        ValueError,
        "Argument `dtype` is expected to be floating point. Received: <dtype: 'int32'>.",
    ),
    "tensor": (lambda: tf.constant_initializer(tf.constant(2.0)), TypeError, "Invalid type for initial value"),
    "other keyword": (
        lambda: tf.zeros_initializer()((2,), foo=1),
        TypeError,
        "Keyword argument should be one of ['partition_shape', 'partition_offset']. Received: foo",
    ),
    "part of a constant": (
        lambda: tf.constant_initializer([1.0])((2,), partition_shape=(1,), partition_offset=(1,)),
        ValueError,
        "Constant initializer doesn't support partition-related arguments",
    ),
    "too few elements": (lambda: tf.constant_initializer([1, 2, 3])((2, 2)), TypeError, "unsupported shape"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_tensorflow(name: str) -> None:
    call, error, text = ERRORS[name]

    with pytest.raises(error) as raised:
        call()

    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("initializer", "config"),
    [
        (tf.zeros_initializer, {}),
        (tf.constant_initializer, {"value": 2}),
        (tf.random_uniform_initializer, {"minval": 0.0, "maxval": 1.0, "seed": 2}),
        (tf.random_normal_initializer, {"mean": 0.0, "stddev": 1.0, "seed": None}),
    ],
)
def test_configs_come_back(initializer: Any, config: Any) -> None:
    assert config == initializer.from_config({**config, "dtype": "float32"}).get_config()


def test_layers_take_them() -> None:
    layer = tf.keras.layers.Dense(2, kernel_initializer=tf.ones_initializer())

    assert [[2.0, 2.0]] == layer(tf.ones((1, 2))).numpy().tolist()
