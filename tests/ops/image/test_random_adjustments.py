"""Random brightness, contrast, hue and saturation are adjustments by a number within the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

IMAGES = np.random.default_rng(0).uniform(0, 1, (2, 4, 5, 3)).astype(np.float32)
KINDS: dict[str, tuple[tuple[float, ...], tuple[float, float]]] = {
    "brightness": ((0.3,), (-0.3, 0.3)),
    "contrast": ((0.2, 0.9), (0.2, 0.9)),
    "hue": ((0.4,), (-0.4, 0.4)),
    "saturation": ((0.2, 0.9), (0.2, 0.9)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_adjustments_by_a_random_number(kind: str) -> None:
    arguments, (low, high) = KINDS[kind]
    adjust: Any = getattr(tf.image, f"adjust_{kind}")
    by_stream: Any = getattr(tf.image, f"random_{kind}")
    by_seed: Any = getattr(tf.image, f"stateless_random_{kind}")

    tf.random.set_seed(3)
    drawn = by_stream(IMAGES, *arguments, seed=5)
    tf.random.set_seed(3)
    amount = tf.random.uniform([], low, high, seed=5)

    np.testing.assert_array_equal(drawn, adjust(IMAGES, amount))
    for seed in ([1, 2], [3, 4]):
        amount = tf.random.stateless_uniform([], seed, low, high)
        np.testing.assert_array_equal(by_seed(IMAGES, *arguments, seed=seed), adjust(IMAGES, amount))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", ["random_", "stateless_random_"])
def test_bounds_are_checked(kind: str, prefix: str) -> None:
    function: Any = getattr(tf.image, prefix + kind)
    seed = None if prefix == "random_" else [1, 2]
    if len(KINDS[kind][0]) == 1:
        wrong = {(-0.1,): "non-negative", **({(0.6,): "must be <= 0.5"} if kind == "hue" else {})}
    else:
        wrong = {(0.5, 0.5): "upper must be > lower", (-0.5, 0.5): "lower must be non-negative"}
    for arguments, text in wrong.items():
        with pytest.raises(ValueError, match=text):
            function(IMAGES, *arguments, seed=seed)
    for value in ("0.1", None, [0.1], 1j):
        arguments = [value] if len(KINDS[kind][0]) == 1 else [0.0, value]
        with pytest.raises(TypeError, match="must be a number"):
            function(IMAGES, *arguments, seed=seed)
