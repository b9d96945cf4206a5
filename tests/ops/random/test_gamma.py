"""Gamma and binomial numbers have their distributions' moments, and gamma numbers move as their quantiles do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbtf as tf


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 2.5, 40.0, 1e4])
def test_gamma_numbers_have_the_moments_of_their_distribution(shape: float) -> None:
    numbers = tf.random.stateless_gamma([20000], [1, 2], shape, 2.0, tf.float64).numpy()

    deviation = math.sqrt(shape) / 2
    assert numbers.min() > 0
    assert abs(numbers.mean() - shape / 2) < 4 * deviation / math.sqrt(len(numbers))
    assert abs(numbers.std() / deviation - 1) < 0.06 * (1 + 1 / shape) ** 0.5


def distribution(shape: float, number: float) -> float:
    """The share of gamma numbers up to a number, by the trapezoidal rule over the logarithm of the number."""
    t = np.linspace(math.log(number) - 60 / min(shape, 1), math.log(number), 400001)
    density = np.exp(shape * t - np.exp(t) - math.lgamma(shape))
    return float(((density[1:] + density[:-1]) / 2 * np.diff(t)).sum())


@pytest.mark.parametrize(
    ("shape", "number"), [(0.5, 0.3), (1.0, 1.5), (2.0, 0.1), (2.0, 12.0), (30.0, 40.0), (300.0, 310.0)]
)
def test_a_gamma_number_moves_with_its_quantile(shape: float, number: float) -> None:
    step = 1e-3 * math.sqrt(shape)
    by_shape = (distribution(shape + step, number) - distribution(shape - step, number)) / (2 * step)
    density = math.exp((shape - 1) * math.log(number) - number - math.lgamma(shape))

    found = tf.raw_ops.RandomGammaGrad(alpha=shape, sample=tf.constant(number, tf.float64))

    assert found.numpy() == pytest.approx(-by_shape / density, rel=1e-4)


def test_gradients_reach_the_parameters() -> None:
    shapes, rates = tf.constant([0.5, 1.0, 7.0], tf.float64), tf.constant([[2.0], [3.0]], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([shapes, rates])
        numbers = tf.random.stateless_gamma([5, 2, 3], [1, 2], shapes, rates, tf.float64)
    of_shapes, of_rates = tape.gradient(numbers, [shapes, rates])

    slopes = tf.raw_ops.RandomGammaGrad(shapes, numbers * rates) / rates
    np.testing.assert_allclose(of_shapes, slopes.numpy().sum((0, 1)))
    np.testing.assert_allclose(of_rates, (-numbers / rates).numpy().sum((0, 2))[:, None])


@pytest.mark.parametrize(("trials", "chance"), [(20.0, 0.1), (9.0, 0.8), (100.0, 0.3), (1000.0, 0.7)])
def test_binomial_numbers_have_the_moments_of_their_distribution(trials: float, chance: float) -> None:
    numbers = tf.random.stateless_binomial([4000], [1, 2], trials, chance).numpy()

    deviation = math.sqrt(trials * chance * (1 - chance))
    assert 0 <= numbers.min() <= numbers.max() <= trials
    assert abs(numbers.mean() - trials * chance) < 4 * deviation / math.sqrt(len(numbers))
    assert abs(numbers.std() / deviation - 1) < 0.08


def test_parameters_beyond_their_range_give_what_tensorflow_gives() -> None:
    drawn = tf.random.stateless_binomial([4], [1, 2], [-3.0, 5.0, 5.0, 5.0], [0.5, -0.5, 1.5, np.nan], tf.float32)

    np.testing.assert_array_equal(drawn, [0, 0, 5, np.nan])
    assert tf.random.stateless_gamma([2], [1, 2], [0.0, np.nan]).numpy().tolist() == pytest.approx(
        [2.0**-126, np.nan], nan_ok=True
    )


def test_faults_are_named() -> None:
    gamma, binomial = tf.random.stateless_gamma, tf.random.stateless_binomial
    for draw in (
        lambda shape, seed: gamma(shape, seed, [1.0, 2.0]),
        lambda shape, seed: binomial(shape, seed, [1.0, 2.0], 0.5),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"seed must have shape \[2\], not \[3\]"):
            draw([2], [1, 2, 3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must end with broadcasted shape"):
            draw([3], [1, 2])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dimension -1 must be >= 0"):
            draw([-1, 2], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="bfloat16 is not in the list"):
        gamma([2], [1, 2], 1.0, dtype=tf.bfloat16)
    with pytest.raises(tf.errors.InvalidArgumentError, match="uint8 is not in the list"):
        binomial([2], [1, 2], 1.0, 0.5, tf.uint8)
