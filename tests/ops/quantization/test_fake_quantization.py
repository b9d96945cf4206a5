"""Numbers are rounded to a grid with 0 in it, gradients pass within the bounds, and errors are TensorFlow's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf

NUMBERS = np.linspace(-8, 8, 33).astype(np.float32)
BOUNDS = [(-6.0, 6.0), (0.0, 5.0), (0.5, 3.0), (-3.0, -1.0), (-1.0, 2.0)]
CASES = [*product(BOUNDS, (2, 4, 8, 16), (False, True))]


def grid(low: float, high: float, bits: int, narrow: bool) -> Any:
    """The numbers that are represented, from the definition in double precision."""
    count = 2**bits - 1 - narrow
    width = (high - low) / count
    below = np.clip(np.floor(-low / width + 0.5), 0, count)
    return (np.arange(count + 1) - below) * width


@pytest.mark.parametrize(("bounds", "bits", "narrow"), CASES)
def test_numbers_move_to_the_nearest_of_the_grid(bounds: tuple[float, float], bits: int, narrow: bool) -> None:
    points = grid(*bounds, bits, narrow)
    options: Any = {"num_bits": bits, "narrow_range": narrow}
    matrix = np.stack([NUMBERS, -NUMBERS], -1)
    lows, highs = (np.full(2, bound, np.float32) for bound in bounds)

    results = [
        tf.quantization.fake_quant_with_min_max_args(matrix, *bounds, **options),
        tf.quantization.fake_quant_with_min_max_vars(matrix, *bounds, **options),
        tf.quantization.fake_quant_with_min_max_vars_per_channel(matrix, lows, highs, **options),
    ]

    assert 0 in points
    nearest = abs(np.clip(matrix, points[0], points[-1])[..., None] - points).min(-1)
    for result in results:
        np.testing.assert_allclose(abs(result.numpy()[..., None] - points).min(-1), 0, atol=2e-6)
        np.testing.assert_allclose(
            abs(result.numpy() - np.clip(matrix, points[0], points[-1])), nearest, atol=1e-5 * (points[-1] - points[0])
        )


@pytest.mark.parametrize(("bounds", "bits", "narrow"), CASES)
def test_gradients_pass_within_the_bounds_and_go_to_the_bounds_beyond(
    bounds: tuple[float, float], bits: int, narrow: bool
) -> None:
    points = grid(*bounds, bits, narrow)
    matrix = np.stack([NUMBERS + 0.01, 0.01 - NUMBERS], -1)
    weights = np.random.default_rng(0).normal(size=matrix.shape).astype(np.float32)
    numbers, lows, highs = tf.constant(matrix), tf.fill([2], bounds[0]), tf.fill([2], bounds[1])
    with tf.GradientTape() as tape:
        tape.watch([numbers, lows, highs])
        result = tf.quantization.fake_quant_with_min_max_vars_per_channel(numbers, lows, highs, bits, narrow)
    of_numbers, of_low, of_high = tape.gradient(result, [numbers, lows, highs], weights)

    within = (matrix >= points[0]) & (matrix <= points[-1])
    np.testing.assert_array_equal(of_numbers, weights * within)
    np.testing.assert_allclose(of_low, (weights * (matrix < points[0])).sum(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_high, (weights * (matrix > points[-1])).sum(0), rtol=1e-5, atol=1e-6)


def test_bounds_of_zero_give_zeros_and_all_gradients() -> None:
    inputs = tf.constant(NUMBERS)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        result = tf.quantization.fake_quant_with_min_max_vars(inputs, 0.0, 0.0)

    assert not result.numpy().any()
    np.testing.assert_array_equal(tape.gradient(result, inputs), np.ones_like(NUMBERS))


def test_faults_are_named() -> None:
    args, both = tf.quantization.fake_quant_with_min_max_args, tf.quantization.fake_quant_with_min_max_vars
    each = tf.quantization.fake_quant_with_min_max_vars_per_channel
    for bits in (1, 17):
        with pytest.raises(tf.errors.InvalidArgumentError, match="between 2 and 16, inclusive"):
            args(NUMBERS, num_bits=bits)
    with pytest.raises(tf.errors.InvalidArgumentError, match="min has to be smaller than max, was: 3 >= 1"):
        args(NUMBERS, min=3, max=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`min` must be rank 0 but is rank 1"):
        both(NUMBERS, [1.0], 2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`min` must be rank 1 but is rank 0"):
        each(NUMBERS, 1.0, 2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="min has incorrect size, expected 33 was 2"):
        each(NUMBERS, [1.0, 2.0], [2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one axis"):
        each(1.0, [1.0], [2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="same size"):
        tf.quantization.fake_quant_with_min_max_vars_gradient(NUMBERS[:2], NUMBERS, 0.0, 1.0)
