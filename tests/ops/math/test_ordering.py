"""Orders and the largest elements: nan, zeros of both signs, equal ones, the ends of the dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [(0,), (1,), (40,), (1000,), (7, 400), (2, 3, 300), (0, 100)]


def drawn(dtype: str, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    """Numbers of which many are equal, or at an end of the dtype, or no numbers."""
    if dtype.startswith("f"):
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        numbers = random.choice([random.standard_normal(shape), random.integers(-2, 3, shape)]).astype(dtype)
    else:
        special = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
        numbers = random.integers(0, random.choice([3, 127]), shape).astype(dtype)
    return np.where(random.random(shape) < random.choice([0.0, 0.02, 0.6]), random.choice(special, shape), numbers)


def largest_first(array: Any, k: int) -> Any:
    """The positions of the largest, element by element: nan first, of equal ones the first."""
    rows = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1]).tolist()
    orders = [
        sorted(range(len(row)), key=lambda i: (row[i] == row[i], -row[i] if row[i] == row[i] else 0))[:k]
        for row in rows
    ]
    return np.array(orders, np.int32).reshape(*array.shape[:-1], k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_largest_come_in_order_and_the_first_of_equal_ones_first(dtype: str, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(dtype) + sum(shape))
    for k in {0, min(1, shape[-1]), min(9, shape[-1]), shape[-1] // 3, shape[-1]}:
        array = drawn(dtype, shape, random)
        expected = largest_first(array, k)
        values, indices = tf.math.top_k(array, k)

        assert expected.tolist() == indices.numpy().tolist()
        assert np.take_along_axis(array, expected.astype(np.int64), -1).tobytes() == values.numpy().tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_sorted_both_ways(dtype: str) -> None:
    array = drawn(dtype, (3, 200), np.random.default_rng(5))
    array[array != array] = 0
    for axis in (0, 1):
        assert np.array_equal(np.sort(array, axis), tf.sort(array, axis))
        assert np.array_equal(np.flip(np.sort(array, axis), axis), tf.sort(array, axis, "DESCENDING"))
        assert np.array_equal(np.argsort(array, axis, kind="stable"), tf.argsort(array, axis))


@pytest.mark.parametrize(
    ("values", "ascending", "descending"),
    [
        ([0.0, -0.0, 0.0, -1.0], [-1.0, 0.0, -0.0, 0.0], [0.0, -0.0, 0.0, -1.0]),
        ([1.0, np.nan, -np.inf], [np.nan, -np.inf, 1.0], [np.nan, 1.0, -np.inf]),
        ([-0.0, 2.0, -0.0], [-0.0, -0.0, 2.0], [2.0, -0.0, -0.0]),
        ([], [], []),
        ([np.nan], [np.nan], [np.nan]),
    ],
    ids=["zeros of both signs", "nan", "negative zeros", "nothing", "only nan"],
)
def test_nan_comes_first_and_zeros_of_both_signs_keep_their_order(
    values: list[float], ascending: list[float], descending: list[float]
) -> None:
    tensor = tf.constant(values, tf.float32)
    for direction, expected in (("ASCENDING", ascending), ("DESCENDING", descending)):
        actual = tf.sort(tensor, -1, direction).numpy()
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(np.signbit(actual[actual == 0]), np.signbit([x for x in expected if x == 0]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_a_traced_function_sorts_axes_of_any_length(axis: int, direction: str) -> None:
    numbers = np.random.default_rng(0).integers(0, 9, (2, 3, 4)).astype(np.float32)

    for function in (tf.sort, tf.argsort):
        traced = tf.function(
            lambda values, function=function: function(values, axis, direction),
            input_signature=[tf.TensorSpec([None, None, None], tf.float32)],
        )
        concrete = traced.get_concrete_function()
        np.testing.assert_array_equal(concrete(tf.constant(numbers)), function(numbers, axis, direction))
