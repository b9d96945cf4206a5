"""What convolutions and pooling refuse, and the odd shapes they take."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf

IMAGES = np.ones((2, 5, 5, 3), np.float32)
FILTERS = np.ones((3, 3, 3, 4), np.float32)


@pytest.mark.parametrize(
    ("filters", "strides", "padding", "text"),
    [
        (np.ones((3, 3, 2, 4), np.float32), 1, "SAME", "input depth must be evenly divisible by filter depth: 3 vs 2"),
        (
            np.ones((7, 3, 3, 4), np.float32),
            1,
            "VALID",
            "Computed output size would be negative: -1 [input_size: 5, effective_filter_size: 7, stride: 1]",
        ),
        (np.ones((3, 3, 4), np.float32), 1, "VALID", "convolution filter must be 4-dimensional: [3,3,4]"),
        (FILTERS, 0, "SAME", "Row and column strides should be larger than 0."),
        (FILTERS, 1, "same", "Value for attr 'padding' of \"same\" is not in the list of allowed values"),
    ],
)
def test_a_convolution_that_cannot_be_says_why(filters: Any, strides: Any, padding: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.nn.conv2d(IMAGES, filters, strides, padding)

    assert text in str(caught.value)


def test_strides_are_one_two_or_four_numbers() -> None:
    text = r"strides should be of length 1, 2 or 4. Received: strides=\[1, 2, 3\] of length 3"

    with pytest.raises(ValueError, match=text):
        tf.nn.conv2d(IMAGES, FILTERS, [1, 2, 3], "SAME")


def test_a_transposed_convolution_must_fit_the_shape_it_is_to_have() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="actual = 5, computed = 6 spatial_dim: 1"):
        tf.nn.conv2d_transpose(IMAGES, np.ones((3, 3, 7, 3), np.float32), [2, 12, 10, 7], 2)


def test_no_images_give_no_images() -> None:
    assert tf.nn.conv2d(IMAGES[:0], FILTERS, 1, "SAME").shape == (0, 5, 5, 4)
    assert tf.nn.max_pool2d(IMAGES[:0], 2, 2, "SAME").shape == (0, 3, 3, 3)
    assert tf.nn.avg_pool2d(IMAGES[:0], 2, 2, "VALID").shape == (0, 2, 2, 3)


def test_more_axes_in_front_are_batch() -> None:
    assert tf.nn.conv2d(np.ones((2, 3, 5, 5, 3), np.float32), FILTERS, 1, "SAME").shape == (2, 3, 5, 5, 4)


def test_lengths_to_add_are_given_for_each_axis() -> None:
    assert tf.nn.conv2d(IMAGES, FILTERS, 1, [[0, 0], [1, 1], [2, 1], [0, 0]]).shape == (2, 5, 6, 4)


def test_what_is_added_is_never_the_largest() -> None:
    least = tf.fill([1, 3, 3, 1], -5.0)

    assert tf.nn.max_pool2d(least, 3, 1, "SAME").numpy().max() == -5.0


def test_the_first_of_equal_elements_gets_the_gradient() -> None:
    same = tf.ones([1, 2, 2, 1])
    attrs: dict[str, Any] = {"ksize": 2, "strides": 2, "padding": "VALID", "data_format": "NHWC"}
    grad = tf.raw_ops.MaxPoolGrad(same, tf.ones([1, 1, 1, 1]), tf.constant([[[[3.0]]]]), **attrs)

    assert grad.numpy().ravel().tolist() == [3.0, 0.0, 0.0, 0.0]


def test_a_window_larger_than_the_image_stands_nowhere() -> None:
    assert tf.nn.max_pool2d(IMAGES, 6, 2, "VALID").shape == (2, 0, 0, 3)


@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
def test_pooling_wants_four_axes_and_a_window(pool: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have 2 spatial dimensions"):
        pool(IMAGES[0], 2, 2, "VALID")
    with pytest.raises(tf.errors.InvalidArgumentError, match="ksize must be positive"):
        pool(IMAGES, 0, 2, "VALID")
    with pytest.raises(ValueError, match="ksize should be of length 1, 2 or 4"):
        pool(IMAGES, [2, 2, 2], 2, "SAME")


def test_the_mean_is_of_floats() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Value for attr 'T' of int32"):
        tf.nn.avg_pool2d(IMAGES.astype(np.int32), 2, 2, "SAME")


def test_convolutions_with_holes_are_dilated_ones() -> None:
    generator = np.random.default_rng(0)
    images, filters = generator.normal(size=(2, 9, 8, 3)), generator.normal(size=(3, 2, 3, 4))
    for rate, padding in product((1, 2, (2, 3)), ("SAME", "VALID")):
        expected = tf.nn.conv2d(images, filters, 1, padding, dilations=rate)
        np.testing.assert_array_equal(tf.nn.atrous_conv2d(images, filters, rate, padding), expected)
    with pytest.raises(ValueError, match="padding=FULL"):
        tf.nn.atrous_conv2d(images, filters, 2, "FULL")
    with pytest.raises(ValueError, match="must be positive"):
        tf.nn.atrous_conv2d(images, filters, 0, "SAME")
