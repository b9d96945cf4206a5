"""Pooling by any window: values by definition, gradients by the inner product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.nn.windows import padded, steps, views, window

SEEDS = range(40)


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    """Images and attributes that fit each other."""
    random = np.random.default_rng(seed)
    size, strides = random.integers(1, 5, 2).tolist(), random.integers(1, 4, 2).tolist()
    lengths = random.integers(4, 9, 2)
    images = random.standard_normal((2, *lengths, int(random.choice([1, 3, 20]))))
    return images, {"ksize": size, "strides": strides, "padding": ["SAME", "VALID"][random.integers(2)]}


def under(images: Any, attrs: dict[str, Any]) -> Any:
    """What lies under the window, one array for each of its elements; nan where nothing does."""
    w = window(tuple(attrs["ksize"]), attrs["strides"], attrs["padding"], "NHWC")
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    return np.stack([view for _, _, view in views(padded(np, images, rows, columns, np.nan), w, rows, columns)])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_and_the_mean_are_what_their_definitions_say(seed: int) -> None:
    images, attrs = drawn(seed)

    assert np.array_equal(np.nanmax(under(images, attrs), 0), tf.nn.max_pool2d(images, **attrs))
    np.testing.assert_allclose(tf.nn.avg_pool2d(images, **attrs), np.nanmean(under(images, attrs), 0), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_gradients_are_the_transposes(name: str, seed: int) -> None:
    images, attrs = drawn(seed)
    x, pool = tf.constant(images), getattr(tf.nn, name)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = pool(x, **attrs)
    random = np.random.default_rng(seed)
    grad, change = random.standard_normal(y.numpy().shape), random.standard_normal(images.shape) * 1e-7
    moved = (pool(images + change, **attrs) - y).numpy()  # so small a change does not change which is the largest

    assert np.sum(moved * grad) == pytest.approx(
        np.sum(change * tape.gradient(y, x, tf.constant(grad))), rel=1e-4, abs=1e-12
    )
