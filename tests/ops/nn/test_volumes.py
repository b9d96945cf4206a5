"""What convolutions and pooling of volumes refuse, and what ops that move blocks refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.ops.refusals import refused

VOLUMES = np.ones((1, 4, 4, 4, 2), np.float32)
FILTERS = np.ones((2, 2, 2, 2, 4), np.float32)
IMAGES = np.ones((1, 5, 5, 2), np.float32)
PER_CHANNEL = np.ones((3, 3, 2, 2), np.float32)
ONES = [1] * 5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.nn.conv3d(VOLUMES[0], FILTERS, ONES, "SAME"), "input must be 5-dimensional"),
        (lambda: tf.nn.conv3d(VOLUMES, FILTERS[0], ONES, "SAME"), "filter must be 5-dimensional"),
        (lambda: tf.nn.conv3d(VOLUMES, FILTERS, [1, 1, 1], "SAME"), "Length for attr 'strides' of 3 must be at least"),
        (lambda: tf.nn.conv3d(VOLUMES, FILTERS, [2, 1, 1, 1, 1], "SAME"), "Current implementation does not yet"),
        (lambda: tf.nn.conv3d(VOLUMES, FILTERS, [1, 0, 1, 1, 1], "SAME"), "Spatial strides should be larger than 0."),
        (lambda: tf.nn.conv3d(VOLUMES, np.ones((2, 2, 2, 3, 1), np.float32), ONES, "SAME"), "Input depth must be"),
        (lambda: tf.nn.conv3d(VOLUMES, FILTERS, ONES, "same"), "Value for attr 'padding' of \"same\" is not in"),
        (lambda: tf.nn.max_pool3d(VOLUMES[0], 2, 2, "SAME"), "tensor_in must be 5-dimensional"),
        (lambda: tf.nn.max_pool3d(VOLUMES, 2, 0, "SAME"), "Stride must be > 0, but got 0"),
        (lambda: tf.nn.depthwise_conv2d(IMAGES, PER_CHANNEL, [1, 1, 2, 1], "SAME"), "Current implementation only"),
        (lambda: tf.nn.depthwise_conv2d(IMAGES, PER_CHANNEL[:, :, :1], [1] * 4, "SAME"), "input and filter must have"),
        (lambda: tf.nn.depthwise_conv2d(IMAGES, PER_CHANNEL, [1, 1], "SAME"), "Sliding window strides field must"),
        (lambda: tf.nn.depth_to_space(IMAGES, 2), "Input depth dimension 2 should be divisible by: 4"),
        (lambda: tf.nn.space_to_depth(IMAGES, 2), "Image width 5 and height 5 should be divisible by block_size: 2"),
        (lambda: tf.nn.space_to_depth(IMAGES, 1), "Value for attr 'block_size' of 1 must be at least minimum 2"),
        (lambda: tf.space_to_batch(IMAGES, [2], [[0, 0]]), "padded_shape[0]=5 is not divisible by block_shape[0]=2"),
        (lambda: tf.space_to_batch(IMAGES, [2], [[0, -1]]), "Paddings must be non-negative"),
        (lambda: tf.space_to_batch(IMAGES, [0], [[0, 0]]), "All values in block_shape must be positive, got value, 0"),
        (lambda: tf.batch_to_space(IMAGES, [2], [[0, 0]]), "Input batch dimension (1) is not divisible by product"),
        (lambda: tf.batch_to_space(IMAGES, [1], [[4, 2]]), "cropped_shape[0]=-1 must be non-negative"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str) -> None:
    refused(call, text)


def test_strides_of_single_functions_are_lists() -> None:
    untyped: Any = tf.nn
    with pytest.raises(TypeError, match="Expected list for 'strides' argument to 'conv3d' Op, not 1"):
        untyped.conv3d(VOLUMES, FILTERS, 1, "SAME")
    with pytest.raises(TypeError, match="Expected list for 'strides' argument to 'depthwise_conv2d_native' Op"):
        untyped.depthwise_conv2d(IMAGES, PER_CHANNEL, 1, "SAME")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"pooling_type": "LEAST"}, "3-D LEAST pooling is not supported."),
        ({"strides": [2, 2, 2], "dilations": [2, 1, 1]}, "`strides > 1` not supported in conjunction"),
        ({"padding": "SAME", "dilations": [2, 1, 1]}, "pooling with 'SAME' padding is not implemented"),
        ({"strides": [3, 1, 1]}, "`strides` > `window_shape` not supported"),
        ({"window_shape": [2, 2]}, "must have rank 4"),
    ],
)
def test_pooling_by_rank_refuses_what_tensorflow_refuses(arguments: dict[str, Any], text: str) -> None:
    pool: Any = tf.nn.pool
    with pytest.raises(ValueError, match=text):
        pool(VOLUMES, **{"window_shape": [2, 2, 2], "pooling_type": "MAX"} | arguments)


def test_every_maximum_of_a_volume_gets_the_gradient() -> None:
    volume = tf.zeros([1, 2, 2, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(volume)
        pooled = tf.nn.max_pool3d(volume, 2, 1, "SAME")

    assert tape.gradient(pooled, volume).numpy().ravel().tolist() == [1, 2, 2, 4, 2, 4, 4, 8]


@pytest.mark.parametrize("seed", range(20))
def test_dilation_by_batches_is_dilation_of_the_window(seed: int) -> None:
    random = np.random.default_rng(seed)
    images = random.standard_normal((2, *random.integers(5, 9, 2), 2))
    filters = random.standard_normal((*random.integers(1, 4, 2), 2, 2))
    distances, padding = random.integers(1, 4, 2).tolist(), ["SAME", "VALID"][seed % 2]
    grouped = filters.reshape(*filters.shape[:2], 1, 4)
    if padding == "VALID" and any((n - 1) * d >= 5 for n, d in zip(filters.shape, distances, strict=False)):
        padding = "SAME"
    run = tf.function(
        lambda x: tf.nn.depthwise_conv2d(x, filters, [1] * 4, padding, dilations=distances),
        input_signature=[tf.TensorSpec([None, None, None, 2], tf.float64)],
    )

    expected = tf.nn.conv2d(images, grouped, 1, padding, dilations=distances)

    apart = tf.nn.depthwise_conv2d(images, filters, [1] * 4, padding, dilations=distances)
    np.testing.assert_allclose(apart, expected, atol=1e-12)
    np.testing.assert_allclose(run(images), expected, atol=1e-12)


def test_no_volumes_give_no_volumes() -> None:
    assert tf.nn.conv3d(VOLUMES[:0], FILTERS, ONES, "SAME").shape == (0, 4, 4, 4, 4)
    assert tf.nn.max_pool3d(VOLUMES[:0], 2, 2, "SAME").shape == (0, 2, 2, 2, 2)
    assert tf.nn.max_pool3d(VOLUMES, 7, 4, "VALID").shape == (1, 0, 0, 0, 2)
    assert tf.space_to_batch(IMAGES[:0], [5], [[0, 0]]).shape == (0, 1, 5, 2)
