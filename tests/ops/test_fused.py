"""Does a kernel that stands for several ops compute what they do, and is it not to be seen?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.fused import Fused
from nbtf._ops.math.ordering import _sorted
from nbtf._ops.nn import activations, losses
from nbtf._ops.nn.normalization import layer_normalization
from nbtf._ops.nn.recurrent import gru, lstm
from tests.ops.differences import differences
from tests.ops.listening import listening


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.5, scale, shape).astype("float32")


def lines(shape: tuple[int, ...], axes: list[int]) -> tuple[Fused, list[np.ndarray], dict[str, Any]]:
    lengths = [shape[axis] for axis in axes]
    inputs = [numbers(*shape), numbers(*lengths, seed=1), numbers(*lengths, seed=2)]
    return layer_normalization, inputs, {"axes": axes, "epsilon": 1e-3}


def walks(gates: int, states: int, biases: int, **attrs: bool) -> list[Any]:
    kernel, bias = numbers(4, 4 * gates, seed=5), [numbers(2, 4 * gates, seed=6)] * biases
    inputs = [numbers(3, 5, 4 * gates), *[numbers(3, 4, seed=7 + n) for n in range(states)], kernel, *bias]
    return [inputs, {"backwards": False, "sequences": True, **attrs}]


CASES: dict[str, tuple[Fused, list[np.ndarray], dict[str, Any]]] = {
    "gelu": (activations._gelu, [numbers(40, 5, scale=4.0)], {}),
    "gelu of many": (activations._gelu, [numbers(70_000, scale=4.0)], {}),
    "gelu of nothing": (activations._gelu, [numbers(0, 3)], {}),
    "layer normalization": lines((6, 9), [1]),
    "layer normalization of many": lines((300, 3, 250), [2]),
    "layer normalization, few numbers": lines((301, 7, 30), [2]),
    "layer normalization, two axes": lines((4, 3, 5), [1, 2]),
    "layer normalization, no line": lines((0, 5), [1]),
    "sparse losses": (losses._sparse_losses, [numbers(7, 3)], {"labels": np.array([0, 2, 1, 1, 0, 2, 2])}),
    "lstm": (lstm, *walks(4, 2, 0)),
    "lstm from the end": (lstm, *walks(4, 2, 0, backwards=True)),
    "lstm, last step": (lstm, *walks(4, 2, 0, sequences=False)),
    "gru": (gru, *walks(3, 1, 1)),
    "gru from the end": (gru, *walks(3, 1, 1, backwards=True)),
    "gru, last step": (gru, *walks(3, 1, 1, sequences=False)),
    "gru without bias": (gru, *walks(3, 1, 0)),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def parts(case: tuple[Fused, list[np.ndarray], dict[str, Any]]) -> tuple[Fused, list[np.ndarray], dict[str, Any]]:
    """Returns a case whose labels are a tensor of the devices that there are now."""
    function, arrays, attrs = case
    return function, arrays, {name: tf.constant(value) if name == "labels" else value for name, value in attrs.items()}


def results_and_gradients(function: Any, arrays: list[np.ndarray], attrs: dict[str, Any]) -> list[np.ndarray]:
    inputs = [tf.constant(array) for array in arrays]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        results = tf.nest.flatten(function(*inputs, **attrs))
    upstream = [tf.constant(numbers(*result.shape, seed=3)) for result in results]
    gradients = tape.gradient(results, inputs, upstream)
    return [tensor.numpy() for tensor in (*results, *gradients)]


def assert_same(actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for left, right in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(left, right)


@each_case
def test_values_and_gradients_are_those_of_the_ops(case: Any) -> None:
    function, inputs, attrs = parts(case)

    assert_same(
        results_and_gradients(function, inputs, attrs), results_and_gradients(function._composed, inputs, attrs)
    )


@each_case
def test_second_gradients_are_those_of_the_ops(case: Any) -> None:
    function, arrays, attrs = parts(case)
    inputs = [tf.constant(array) for array in arrays]

    def slopes(function: Any) -> list[np.ndarray]:
        with tf.GradientTape() as outer:
            outer.watch(inputs)
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                results = function(*inputs, **attrs)
            slope = tape.gradient(results, inputs[0])
        return [outer.gradient(slope, inputs[0]).numpy()]

    assert_same(slopes(function), slopes(function._composed))


@pytest.mark.parametrize("name", ["lstm", "lstm, last step", "gru", "gru, last step"])
def test_a_result_that_nobody_used_changes_nothing(name: str) -> None:
    function, inputs, attrs = parts(CASES[name])

    for number in range(len(function(*map(tf.constant, inputs), **attrs))):

        def single(*tensors: tf.Tensor, function: Any, number: int = number, **attrs: Any) -> tf.Tensor:
            return function(*tensors, **attrs)[number]

        expected = results_and_gradients(single, inputs, {"function": function._composed, **attrs})
        assert_same(results_and_gradients(single, inputs, {"function": function, **attrs}), expected)


@pytest.mark.parametrize("name", ["gelu", "layer normalization", "layer normalization, two axes"])
def test_gradients_are_differences_of_the_ops_in_double_precision(name: str) -> None:
    function, inputs, attrs = parts(CASES[name])
    wide = [array.astype("float64") for array in inputs]
    upstream = numbers(*function(*map(tf.constant, inputs), **attrs).shape, seed=3)
    gradients = results_and_gradients(function, inputs, attrs)[1:]

    for position, actual in enumerate(gradients):
        tensors = [tf.constant(array) for array in wide]

        def total(position: int = position, tensors: list[tf.Tensor] = tensors) -> float:
            tensors[position] = tf.constant(wide[position])
            return float((function._composed(*tensors, **attrs).numpy() * upstream).sum())

        expected = differences(total, wide[position])

        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_in_order_are_those_of_the_ops(axis: int, dtype: str, direction: str) -> None:
    tensor = tf.constant((numbers(30, 20, scale=9.0) % 50).astype(dtype))

    actual = tf.sort(tensor, axis, direction)

    np.testing.assert_array_equal(actual, _sorted._composed(tensor, axis, direction == "DESCENDING"))


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("values", [[0.0, -0.0, 0.0, -1.0], [1.0, np.nan, -np.inf], [-0.0, 2.0, -0.0], [], [np.nan]])
def test_nan_and_zeros_of_both_signs_are_in_the_order_of_the_ops(values: list[float], direction: str) -> None:
    tensor = tf.constant(values, tf.float32)

    actual, expected = tf.sort(tensor, -1, direction), _sorted._composed(tensor, -1, direction == "DESCENDING")

    assert actual.numpy().tobytes() == expected.numpy().tobytes()


def test_infinities_are_those_of_the_ops() -> None:
    values = tf.constant([np.inf, -np.inf, np.nan, 3e38, -3e38, 0.0, 14.5, -14.5], tf.float32)

    actual, expected = tf.nn.gelu(values).numpy(), activations._gelu._composed(values).numpy()

    np.testing.assert_array_equal(actual, expected)


def test_who_listens_hears_of_each_op() -> None:
    with listening() as calls:
        tf.nn.gelu(numbers(3))

    assert ["Mul", "Neg", "Mul", "Erfc", "Mul"] == [call.op.type for call in calls]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float64])
def test_other_dtypes_take_the_ops(dtype: tf.DType) -> None:
    values = tf.cast(tf.constant(numbers(100)), dtype)

    assert tf.nn.gelu(values).numpy().tolist() == activations._gelu._composed(values).numpy().tolist()


def test_a_mistake_of_numpys_settings_is_not_seen() -> None:
    with np.errstate(all="raise"):
        actual = tf.nn.gelu(tf.constant([100.0, -100.0, 0.0])).numpy()

    assert actual.tolist() == [100.0, 0.0, 0.0]
