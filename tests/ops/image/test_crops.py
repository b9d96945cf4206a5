"""Crops are those of a formula in NumPy, for boxes inside, beyond and upside down; patches and edges are slices."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf

IMAGES = np.random.default_rng(0).uniform(0, 9, (2, 5, 6, 3)).astype(np.float32)
BOXES = np.array([[0, 0, 1, 1], [0.1, 0.23, 0.8, 0.9], [-0.3, 0.2, 1.4, 0.6], [0.9, 0.9, 0.2, 0.1]], np.float32)
OF_IMAGES = np.array([0, 1, 1, 0], np.int32)


def along(start: float, end: float, length: int, count: int) -> Any:
    """Positions in pixels of the lines of a crop."""
    return np.linspace(start, end, count) * (length - 1) if count > 1 else [(start + end) / 2 * (length - 1)]


def pixel(image: Any, y: float, x: float, method: str) -> Any:
    height, width, _ = image.shape
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return np.full(3, -2.0)
    if method == "nearest":
        return image[int(y + 0.5), int(x + 0.5)]
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[top, left] * (1 - x + left) + image[top, right] * (x - left)
    lower = image[bottom, left] * (1 - x + left) + image[bottom, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


@pytest.mark.parametrize(("height", "width", "method"), [*product((1, 3), (1, 7), ("bilinear", "nearest"))])
def test_crops_are_pixels_between_pixels(height: int, width: int, method: str) -> None:
    found = tf.image.crop_and_resize(IMAGES, BOXES, OF_IMAGES, [height, width], method, -2.0)

    for crop, (y1, x1, y2, x2), number in zip(found.numpy(), BOXES.astype(float), OF_IMAGES, strict=True):
        places = product(along(y1, y2, 5, height), along(x1, x2, 6, width))
        expected = [pixel(IMAGES[number], round(y, 5), round(x, 5), method) for y, x in places]
        np.testing.assert_allclose(crop.reshape(-1, 3), expected, atol=1e-4)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_gradients_towards_images_and_boxes_are_differences(method: str) -> None:
    images, boxes = tf.constant(IMAGES), tf.constant(BOXES[1:2])
    weights = np.random.default_rng(1).normal(size=(1, 3, 4, 3)).astype(np.float32)

    def total(pixels: Any, places: Any, how: str) -> Any:
        return tf.reduce_sum(tf.image.crop_and_resize(pixels, places, OF_IMAGES[1:2], [3, 4], how) * weights)

    with tf.GradientTape() as tape:
        tape.watch([images, boxes])
        result = total(images, boxes, method)
    of_images, of_boxes = tape.gradient(result, [images, boxes])

    change = IMAGES[:, ::-1, ::-1] - 4
    np.testing.assert_allclose(
        tf.reduce_sum(of_images * change), total(images + change, boxes, method) - result, rtol=1e-3
    )
    for place in range(4):  # as in TensorFlow, always those of the bilinear method
        step = np.zeros((1, 4), np.float32)
        step[0, place] = 2**-8
        difference = total(images, boxes + step, "bilinear") - total(images, boxes - step, "bilinear")
        np.testing.assert_allclose(of_boxes[0, place], difference * 2**7, rtol=2e-2, atol=0.1)


@pytest.mark.parametrize(("down", "right", "apart", "padding"), [*product((1, 2), (1, 3), (1, 2), ("SAME", "VALID"))])
def test_patches_are_slices(down: int, right: int, apart: int, padding: str) -> None:
    arguments: Any = [1, 3, 2, 1], [1, down, right, 1], [1, apart, apart, 1], padding
    found = tf.image.extract_patches(IMAGES, *arguments).numpy()

    high, wide = 2 * apart + 1, apart + 1
    padded = IMAGES
    if padding == "SAME":
        missing = [max(0, (-(-n // s) - 1) * s + size - n) for n, s, size in ((5, down, high), (6, right, wide))]
        padded = np.pad(IMAGES, [(0, 0), *((n // 2, n - n // 2) for n in missing), (0, 0)])
    rows, columns = (padded.shape[1] - high) // down + 1, (padded.shape[2] - wide) // right + 1
    assert found.shape == (2, rows, columns, 18)
    for row, column in product(range(rows), range(columns)):
        y, x = row * down, column * right
        patch = padded[:, y : y + high : apart, x : x + wide : apart]
        np.testing.assert_array_equal(found[:, row, column], patch.reshape(2, -1))


def test_the_gradient_of_patches_counts_each_pixel() -> None:
    images = tf.constant(IMAGES)
    with tf.GradientTape() as tape:
        tape.watch(images)
        patches = tf.image.extract_patches(images, [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    counts = np.multiply.outer([2, 3, 3, 3, 2], [2, 3, 3, 3, 3, 2])

    np.testing.assert_array_equal(tape.gradient(patches, images), np.broadcast_to(counts[..., None], IMAGES.shape))


def test_edges_are_differences() -> None:
    padded = np.pad(IMAGES, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    smooth_x = padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]
    smooth_y = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    expected = np.stack([smooth_x[:, 2:] - smooth_x[:, :-2], smooth_y[:, :, 2:] - smooth_y[:, :, :-2]], -1)

    np.testing.assert_allclose(tf.image.sobel_edges(tf.constant(IMAGES)), expected, atol=1e-4)


def test_faults_are_named() -> None:
    crop = tf.image.crop_and_resize
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input image must be 4-D\[5,6,3\]"):
        crop(IMAGES[0], BOXES, OF_IMAGES, [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 columns"):
        crop(IMAGES, BOXES[:, :3], OF_IMAGES, [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shape"):
        crop(IMAGES, BOXES, OF_IMAGES[:2], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        crop(IMAGES, BOXES, OF_IMAGES, [2, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match='"cubic" is not in the list'):
        crop(IMAGES, BOXES, OF_IMAGES, [2, 2], method="cubic")
    with pytest.raises(tf.errors.OutOfRangeError, match="outside"):
        crop(IMAGES, BOXES, OF_IMAGES + 1, [2, 2])
    with pytest.raises(tf.errors.UnimplementedError, match="Only support ksizes across space"):
        tf.image.extract_patches(IMAGES, [2, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    with pytest.raises(tf.errors.InvalidArgumentError, match="4-dimensional"):
        tf.image.extract_patches(IMAGES[0], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
