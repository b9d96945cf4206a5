"""Are resized and converted images those of TensorFlow? Its answers are in `tests/recorded/images.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "images.json").read_text())
IMAGE = np.array(RECORDED["image"], np.float32)


@pytest.mark.parametrize(
    "case", RECORDED["resize"], ids=lambda case: f"{case['method']} {case['antialias']} {case['size']}"
)
def test_resized_images_and_gradients_are_those_of_tensorflow(case: Any) -> None:
    image, size = tf.constant(IMAGE), case["size"]
    weights = np.arange(1, size[0] * size[1] * 2 + 1, dtype=np.float32).reshape(1, *size, 2) / 10
    with tf.GradientTape() as tape:
        tape.watch(image)
        resized = tf.image.resize(image, size, case["method"], antialias=case["antialias"])
        total = tf.reduce_sum(resized * weights)

    np.testing.assert_allclose(resized.numpy().ravel(), case["values"], atol=2e-5)
    if case["gradient"] is None:
        with pytest.raises(LookupError, match="gradient registry has no entry for: ResizeArea"):
            tape.gradient(total, image)
    else:
        np.testing.assert_allclose(tape.gradient(total, image).numpy().ravel(), case["gradient"], rtol=1e-4, atol=5e-5)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "lanczos3", "mitchellcubic"])
def test_pixels_that_are_no_numbers_stay_where_they_are(method: str) -> None:
    """A weight of zero for an infinite pixel must not spread NaN."""
    image = IMAGE.copy()
    image[0, 0, 0, 0] = np.inf
    resized = tf.image.resize(image, [10, 12], method).numpy()

    assert np.isfinite(resized[..., 1]).all()
    assert np.isfinite(resized[:, 8:, 10:]).all()


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "gaussian"])
@pytest.mark.parametrize("is_open", [False, True])
def test_functions_resize_images(method: str, is_open: bool) -> None:
    shape = [None, None, None, 2] if is_open else IMAGE.shape
    lengths: list[Any] = []

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float32)])
    def resize(image: Any) -> Any:
        resized = tf.image.resize(image, [2, 3], method)
        lengths.append(resized.shape.as_list())
        return resized, tf.image.resize(image, tf.shape(image)[1:3] * 2, method)

    smaller, larger = resize(tf.constant(IMAGE))

    assert [None if is_open else 1, 2, 3, 2] == lengths[0]
    np.testing.assert_array_equal(tf.image.resize(IMAGE, [2, 3], method).numpy(), smaller.numpy())
    np.testing.assert_array_equal(tf.image.resize(IMAGE, [10, 12], method).numpy(), larger.numpy())


def test_proportions_are_kept() -> None:
    sizes = [tf.image.resize(IMAGE[0], size, preserve_aspect_ratio=True).shape for size in ([3, 3], [10, 3], [7, 20])]

    assert [[2, 3, 2], [2, 3, 2], [7, 8, 2]] == [size.as_list() for size in sizes]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64", "int64"])
def test_dtypes_are_those_of_tensorflow(dtype: str) -> None:
    image = np.ones((4, 4, 1), dtype)

    assert ("float32", dtype) == (tf.image.resize(image, [2, 2]).dtype, tf.image.resize(image, [2, 2], "nearest").dtype)


@pytest.mark.parametrize(
    ("shape", "size", "method", "error", "text"),
    [
        ((5, 6), [2, 3], "bilinear", ValueError, "'images' must have either 3 or 4 dimensions."),
        ((5, 6, 1), [2], "bilinear", ValueError, "'size' must be a 1-D Tensor of 2 elements: new_height, new_width"),
        ((5, 6, 1), [2.5, 3], "bilinear", ValueError, "'size' must be a 1-D int32 Tensor"),
        ((5, 6, 1), [-2, 3], "bilinear", ValueError, "Dimension -2 must be >= 0"),
        ((5, 6, 1), [0, 3], "bilinear", tf.errors.InvalidArgumentError, "output dimensions must be positive"),
        ((5, 6, 1), [0, 3], "area", tf.errors.InvalidArgumentError, "output dimensions must be positive"),
        ((0, 6, 1), [2, 3], "nearest", tf.errors.InvalidArgumentError, "input image must be of non-zero size"),
        ((5, 6, 1), [2, 3], "foo", ValueError, "Resize method is not implemented: foo"),
    ],
)
def test_what_cannot_be_resized_is_refused(shape: Any, size: Any, method: str, error: Any, text: str) -> None:
    with pytest.raises(error) as raised:
        tf.image.resize(np.ones(shape, np.float32), size, method)

    assert text in str(raised.value)


@pytest.mark.parametrize(
    "case", RECORDED["convert_image_dtype"], ids=lambda case: f"{case['from']} {case['dtype']} {case['saturate']}"
)
def test_converted_images_are_those_of_tensorflow(case: Any) -> None:
    image = np.array(case["image"], case["from"])
    result = tf.image.convert_image_dtype(image, case["dtype"], case["saturate"])

    assert case["dtype"] == result.dtype
    np.testing.assert_allclose(result.numpy().astype(np.float64), case["values"], rtol=1e-6)


@pytest.mark.parametrize("dtype", [tf.string, tf.bool, tf.complex64])
def test_other_dtypes_are_no_images(dtype: Any) -> None:
    with pytest.raises(AttributeError, match=r"^dtype must be either floating point or integer$"):
        tf.image.convert_image_dtype([0.5], dtype)
    with pytest.raises(AttributeError, match=r"^image dtype must be either floating point or integer$"):
        tf.image.convert_image_dtype([True], tf.float32)


def test_images_are_arranged_and_colored() -> None:
    x = tf.reshape(tf.range(16, dtype=tf.float32), (1, 4, 4, 1))

    assert [3.0, 2.0, 1.0, 0.0] == tf.image.flip_left_right(x)[0, 0, :, 0].numpy().tolist()
    assert [12.0, 8.0, 4.0, 0.0] == tf.image.flip_up_down(x)[0, :, 0, 0].numpy().tolist()
    assert [5.0, 6.0, 9.0, 10.0] == tf.image.central_crop(x, 0.5).numpy().ravel().tolist()
    assert [1.0] == tf.image.adjust_brightness(x, 1.0)[0, 0, 0].numpy().tolist()
    assert [255, 3] == tf.image.adjust_brightness(np.array([[[254], [0]]], np.uint8), 3 / 255).numpy().ravel().tolist()
    assert [[[29]]] == tf.image.rgb_to_grayscale(np.array([[[0, 0, 255]]], np.uint8)).numpy().tolist()
