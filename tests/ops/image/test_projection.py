"""`ImageProjectiveTransformV3`: shifted images are padded as NumPy pads them, and errors are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError

PADDING: dict[str, Any] = {"REFLECT": "symmetric", "NEAREST": "edge", "WRAP": "wrap", "CONSTANT": "constant"}
IMAGES = np.random.default_rng(0).integers(0, 200, (2, 4, 5, 3))


def moved(images: Any, transforms: Any, **options: Any) -> Any:
    options = {"output_shape": [4, 5], "fill_value": 0.0, "interpolation": "NEAREST", **options}
    return tf.raw_ops.ImageProjectiveTransformV3(images=images, transforms=transforms, **options).numpy()


@pytest.mark.parametrize("fill_mode", PADDING)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_shifted_images_are_padded(fill_mode: str, dtype: str, interpolation: str) -> None:
    images = IMAGES.astype(dtype)
    padded = np.pad(images, [(0, 0), (4, 4), (5, 5), (0, 0)], PADDING[fill_mode])
    for down in range(-2, 3):  # beyond, TensorFlow's WRAP repeats the last line
        for right in range(-2, 3):
            shift = np.array([[1, 0, right, 0, 1, down, 0, 0]], np.float32)
            expected = padded[:, 4 + down : 8 + down, 5 + right : 10 + right]
            result = moved(images, shift, fill_mode=fill_mode, interpolation=interpolation)
            assert images.dtype == result.dtype
            np.testing.assert_array_equal(expected, result)


def test_each_image_has_its_own_transformation_and_a_line_at_infinity_is_filled() -> None:
    shifts = np.array([[1, 0, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0, -1, 0]], np.float32)
    result = moved(IMAGES.astype(np.float32), shifts, fill_value=7.0)

    np.testing.assert_array_equal(IMAGES[0], result[0])
    assert (result[1][:, 1] == 7.0).all()


def test_lengths_may_be_unknown_while_a_function_is_traced() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 3])])
    def same(images: Any) -> Any:
        return tf.raw_ops.ImageProjectiveTransformV3(
            images=images,
            transforms=tf.constant([[1.0, 0, 0, 0, 1, 0, 0, 0]]),
            output_shape=tf.shape(images)[1:3],
            fill_value=0.0,
            interpolation="BILINEAR",
        )

    np.testing.assert_array_equal(IMAGES, same(IMAGES.astype(np.float32)).numpy())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"transforms": np.ones((3, 8), np.float32)}, "num_images x 8 or 1 x 8"),
        ({"interpolation": "CUBIC"}, "Invalid interpolation CUBIC"),
        ({"fill_mode": "NONE"}, "Invalid mode NONE"),
        ({"output_shape": [0, 2]}, "new dimensions must be positive"),
        ({"images": IMAGES[0].astype(np.float32)}, "must be rank 4"),
    ],
)
def test_wrong_arguments_are_rejected(options: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        moved(**{"images": IMAGES.astype(np.float32), "transforms": np.ones((1, 8), np.float32), **options})


@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_gradients_move_back(interpolation: str) -> None:
    images, weights = tf.constant(IMAGES.astype(np.float32)), np.arange(20, dtype=np.float32).reshape(1, 4, 5, 1)
    shift = np.array([[1, 0, 1, 0, 1, 2, 0, 0]], np.float32)
    with tf.GradientTape() as tape:
        tape.watch(images)
        result = tf.raw_ops.ImageProjectiveTransformV3(
            images=images, transforms=shift, output_shape=[4, 5], fill_value=9.0, interpolation=interpolation
        )
        total = tf.reduce_sum(result * weights)
    expected = np.zeros((1, 4, 5, 1), np.float32)
    expected[:, 2:, 1:] = weights[:, :2, :4]

    np.testing.assert_array_equal(np.broadcast_to(expected, images.shape), tape.gradient(total, images).numpy())
