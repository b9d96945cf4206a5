"""Are values divided by their neighbours among the channels, and is the gradient that of the formula?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

X = np.linspace(-1, 1.5, 12, dtype=np.float32).reshape(1, 1, 2, 6)


@pytest.mark.parametrize("settings", [{}, {"depth_radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.75}])
def test_gradient_is_that_of_differences(settings: dict[str, Any]) -> None:
    weights = np.cos(np.arange(X.size, dtype=np.float32)).reshape(X.shape)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(weights * tf.nn.lrn(x, **settings))

    expected = [
        np.sum(weights * (tf.nn.lrn(X + step, **settings).numpy() - tf.nn.lrn(X - step, **settings).numpy())) / 0.02
        for step in 0.01 * np.eye(X.size, dtype=np.float32).reshape(-1, *X.shape)
    ]
    assert tape.gradient(y, x).numpy().ravel() == pytest.approx(expected, abs=2e-3)


def test_channels_far_away_do_not_count() -> None:
    y = tf.nn.lrn([[[[1.0, 0.0, 2.0]]]], depth_radius=1, bias=0.0, beta=1.0).numpy().ravel()

    assert y == pytest.approx([1.0, 0.0, 0.5])


def test_second_gradient_is_not_there_as_in_tensorflow() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.nn.lrn(x)
        slope = inner.gradient(y, x)

    with pytest.raises(LookupError, match="gradient registry has no entry for: LRNGrad"):
        outer.gradient(slope, x)


@pytest.mark.parametrize(
    ("x", "text"), [(X[0], "in must be 4-dimensional"), (X.astype(np.int32), "Value for attr 'T' of int32")]
)
def test_what_is_no_picture_is_refused(x: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.nn.lrn(x)
