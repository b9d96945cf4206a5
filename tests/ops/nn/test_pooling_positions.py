"""Positions of maxima: they are where the maxima are, come first, and gradients go there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import nbtf as tf

IMAGES = np.random.default_rng(0).integers(0, 5, (2, 5, 6, 3)).astype(np.float32)
"""Images in which many pixels are equal."""


@pytest.mark.parametrize(
    ("size", "stride", "padding", "through"), [*product((1, 2, 3), (1, 2), ("SAME", "VALID"), (False, True))]
)
def test_they_are_where_the_maxima_are(size: int, stride: int, padding: str, through: bool) -> None:
    images = tf.constant(IMAGES)
    with tf.GradientTape() as tape:
        tape.watch(images)
        output, argmax = tf.nn.max_pool_with_argmax(images, size, stride, padding, include_batch_in_index=through)
    positions = argmax.numpy()
    absolute = positions if through else positions + np.array([0, 90]).reshape(2, 1, 1, 1)

    np.testing.assert_array_equal(output, tf.nn.max_pool2d(images, size, stride, padding))
    np.testing.assert_array_equal(IMAGES.reshape(-1)[absolute], output)
    counts = np.bincount(absolute.reshape(-1), minlength=IMAGES.size).reshape(IMAGES.shape)
    np.testing.assert_array_equal(tape.gradient(output, images), counts)


def test_the_first_of_equal_pixels_is_named() -> None:
    flat = np.zeros((1, 4, 4, 1), np.int32)

    argmax = tf.nn.max_pool_with_argmax(flat, 2, 2, "VALID", output_dtype=tf.int32).argmax

    assert argmax.dtype is tf.int32
    assert argmax.numpy().ravel().tolist() == [0, 2, 8, 10]


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match="NCHW"):
        tf.nn.max_pool_with_argmax(IMAGES, 2, 2, "VALID", data_format="NCHW")
    with pytest.raises(tf.errors.InvalidArgumentError, match="4-dimensional"):
        tf.nn.max_pool_with_argmax(IMAGES[0], 2, 2, "VALID")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not be empty"):
        tf.nn.max_pool_with_argmax(IMAGES[:0], 2, 2, "VALID")
    with pytest.raises(tf.errors.UnimplementedError, match="across depth"):
        tf.nn.max_pool_with_argmax(IMAGES, [1, 2, 2, 2], 2, "VALID")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Targmax"):
        tf.nn.max_pool_with_argmax(IMAGES, 2, 2, "VALID", output_dtype=tf.float32)
