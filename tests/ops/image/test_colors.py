"""Hue, saturation and value are those of Python's `colorsys`, also after adjustments, and errors are TensorFlow's."""

from __future__ import annotations

import colorsys
from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf

LEVELS = np.array([*product((0.0, 0.25, 0.5, 1.0), repeat=3)]).reshape(4, 16, 3)
"""All colours of four levels, with equal channels in each way."""


def each(convert: Any) -> Any:
    return np.array([convert(*color) for color in LEVELS.reshape(-1, 3)]).reshape(LEVELS.shape)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_conversions_are_those_of_colorsys(dtype: str) -> None:
    images, tolerance = tf.constant(LEVELS.astype(dtype)), 1e-2 if dtype == "float16" else 1e-6

    hsv, rgb = tf.image.rgb_to_hsv(images), tf.image.hsv_to_rgb(images)

    assert (hsv.dtype.name, rgb.dtype.name) == (dtype, dtype)
    np.testing.assert_allclose(hsv, each(colorsys.rgb_to_hsv), atol=tolerance)
    np.testing.assert_allclose(rgb, each(colorsys.hsv_to_rgb), atol=tolerance)
    np.testing.assert_allclose(tf.image.hsv_to_rgb(hsv), images, atol=tolerance)


@pytest.mark.parametrize("delta", [-1.0, -0.4, 0.0, 0.3, 1.0])
def test_hues_turn(delta: float) -> None:
    def turned(*color: float) -> Any:
        hue, saturation, value = colorsys.rgb_to_hsv(*color)
        return colorsys.hsv_to_rgb((hue + delta) % 1, saturation, value)

    np.testing.assert_allclose(tf.image.adjust_hue(LEVELS, delta), each(turned), atol=1e-6)


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 3.0])
def test_saturations_are_multiplied_and_clipped(factor: float) -> None:
    def saturated(*color: float) -> Any:
        hue, saturation, value = colorsys.rgb_to_hsv(*color)
        return colorsys.hsv_to_rgb(hue, min(1.0, saturation * factor), value)

    np.testing.assert_allclose(tf.image.adjust_saturation(LEVELS, factor), each(saturated), atol=1e-6)


def test_integers_count_as_fractions() -> None:
    images = tf.constant([[[255, 0, 0], [0, 51, 51]]], tf.uint8)

    assert tf.image.adjust_hue(images, 0.5).numpy().tolist() == [[[0, 255, 255], [51, 0, 0]]]
    assert tf.image.adjust_saturation(images, 0.0).numpy().tolist() == [[[255] * 3, [51] * 3]]
    assert tf.image.adjust_gamma(images, 2.0).numpy().tolist() == [[[255, 0, 0], [0, 10, 10]]]


def test_faults_are_named() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="must have 3 channels"):
        tf.image.rgb_to_hsv(np.ones((2, 2), np.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 1D"):
        tf.image.hsv_to_rgb(1.0)
    with pytest.raises(ValueError, match=r"interval \[-1, 1\]"):
        tf.image.adjust_hue(LEVELS, 1.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"at least 3-D, got shape\[16,3\]"):
        tf.image.adjust_hue(LEVELS[0], 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="instead has 2 channels"):
        tf.image.adjust_saturation(LEVELS[..., :2], 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"scale must be scalar: \[1\]"):
        tf.image.adjust_saturation(LEVELS, [0.5])
    with pytest.raises(ValueError, match="non-negative"):
        tf.image.adjust_gamma(LEVELS, -1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        tf.image.adjust_gamma(LEVELS, tf.constant(-1.0))
