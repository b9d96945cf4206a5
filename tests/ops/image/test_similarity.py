"""Is the similarity of images TensorFlow's? Its numbers were recorded from TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError
from tests.ops.refusals import refused


def pair(*shape: int) -> tuple[Any, Any]:
    """Returns images, and the same images with noise."""
    first = np.random.RandomState(0).rand(*shape).astype(np.float32)
    second = np.clip(first + 0.1 * np.random.RandomState(1).randn(*shape), 0, 1)
    return first, second.astype(np.float32)


FIRST, SECOND = pair(2, 16, 16, 3)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: tf.image.ssim(FIRST, SECOND, 1.0), [0.948543, 0.955802]),
        (
            lambda: tf.image.ssim(FIRST, SECOND, 1.0, filter_size=5, filter_sigma=1.0, k1=0.02, k2=0.05),
            [0.945459, 0.95105],
        ),
        (lambda: tf.image.ssim(FIRST[0], SECOND[0], 1.0), 0.948543),
        (
            lambda: tf.image.ssim(FIRST, SECOND, 1.0, return_index_map=True, filter_size=15),
            [[[0.952559, 0.945178], [0.953628, 0.946303]], [[0.952901, 0.960851], [0.955805, 0.959806]]],
        ),
        (
            lambda: tf.image.ssim(tf.cast(FIRST * 255, tf.uint8), tf.cast(SECOND * 255, tf.uint8), 255),
            [0.948654, 0.955913],
        ),
        (lambda: tf.image.ssim(FIRST.astype(float), SECOND.astype(float), 1.0), [0.948543, 0.955802]),
        (lambda: tf.function(tf.image.ssim)(FIRST, SECOND, 1.0), [0.948543, 0.955802]),
        (
            lambda: tf.image.ssim_multiscale(*pair(1, 40, 40, 1), 1.0, power_factors=(0.3, 0.7), filter_size=5),
            [0.941654],
        ),
    ],
)
def test_similarity_is_tensorflows(call: Callable[[], Any], expected: Any) -> None:
    result = call()

    assert tf.float32 is result.dtype
    np.testing.assert_allclose(result.numpy(), expected, 1e-5)


def test_open_lengths_are_read_when_a_function_runs() -> None:
    spec = tf.TensorSpec([None, None, None, 1], tf.float32)
    traced = tf.function(
        lambda x, y: tf.image.ssim_multiscale(x, y, 1.0, power_factors=(0.3, 0.7), filter_size=5),
        input_signature=[spec, spec],
    )
    for length in (20, 21):
        images = pair(1, length, length, 1)
        eager = tf.image.ssim_multiscale(*images, 1.0, power_factors=(0.3, 0.7), filter_size=5)
        np.testing.assert_allclose(traced(*images).numpy(), eager.numpy(), 1e-6)


def test_gradients_are_tensorflows() -> None:
    x = tf.constant(FIRST)
    with tf.GradientTape() as tape:
        tape.watch(x)
        similarity = tf.image.ssim(x, SECOND, 1.0)
    gradient = tape.gradient(similarity, x)

    sums = [[-0.000316, -0.002337, -0.004426], [0.009602, 0.013822, 0.010903]]
    np.testing.assert_allclose(tf.reduce_sum(gradient, [1, 2]).numpy(), sums, 1e-3, 2e-6)
    np.testing.assert_allclose(gradient[0, 5, 5].numpy(), [-0.003123, 0.008036, 0.001846], 1e-3)


@pytest.mark.parametrize(
    ("call", "text", "error"),
    [
        (
            lambda: tf.image.ssim(FIRST[:, :4], SECOND[:, :4], 1.0),
            "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: 2, 4, 16, 3\n11",
            InvalidArgumentError,
        ),
        (
            lambda: tf.image.ssim(FIRST, SECOND[:, :4], 1.0),
            "Shapes (16, 16, 3) and (4, 16, 3) are incompatible",
            ValueError,
        ),
        (lambda: tf.image.ssim(FIRST[0, 0], SECOND[0, 0], 1.0), "Shape (16, 3) must have rank at least 3", ValueError),
        (
            lambda: tf.image.ssim(FIRST, np.concatenate([SECOND, SECOND]), 1.0),
            "Two images are not compatible: (2, 16, 16, 3) and (4, 16, 16, 3)",
            ValueError,
        ),
        (
            lambda: tf.image.ssim(FIRST, SECOND.astype(float), 1.0),
            "cannot compute ShapeN as input #1(zero-based) was expected to be a float tensor but is a double tensor",
            InvalidArgumentError,
        ),
    ],
)
def test_what_tensorflow_refuses_is_refused(call: Callable[[], Any], text: str, error: type[Exception]) -> None:
    refused(call, text, error)
