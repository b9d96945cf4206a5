"""Are boxes of images what NumPy cuts out and pads, and which boxes are refused?"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import nbtf as tf

IMAGE = np.arange(12).reshape(3, 4, 1)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_and_turns_are_those_of_numpy(seed: int) -> None:
    random = np.random.default_rng(seed)
    image = random.standard_normal((*random.integers(2, 8, 2), 2))
    top, left = random.integers(0, 2, 2).tolist()
    height, width = image.shape[0] - top, image.shape[1] - left

    np.testing.assert_array_equal(tf.image.rot90(image, seed), np.rot90(image, seed))
    np.testing.assert_array_equal(tf.image.transpose(image), image.swapaxes(0, 1))
    cut = tf.image.crop_to_bounding_box(image, top, left, height, width)
    np.testing.assert_array_equal(cut, image[top:, left:])
    wide = tf.image.pad_to_bounding_box(cut, top, left, *image.shape[:2])
    np.testing.assert_array_equal(wide[top:, left:], image[top:, left:])
    assert not wide[:top].numpy().any()
    assert not wide[:, :left].numpy().any()
    larger, smaller = (image.shape[0] + seed, image.shape[1] + 3), image.shape[:2]
    around = tf.image.resize_with_crop_or_pad(image, *larger)
    np.testing.assert_array_equal(tf.image.resize_with_crop_or_pad(around, *smaller), image)


def test_resizing_with_zeros_keeps_the_proportions() -> None:
    resized = tf.image.resize_with_pad(tf.ones([4, 2, 1]), 4, 4)

    assert resized.numpy()[..., 0].tolist() == [[0.0, 1.0, 1.0, 0.0]] * 4


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.image.crop_to_bounding_box(IMAGE, 2, 0, 2, 2), "height must be >= target"),
        (lambda: tf.image.crop_to_bounding_box(IMAGE, 0, -1, 2, 2), "offset_width must be >= 0."),
        (lambda: tf.image.pad_to_bounding_box(IMAGE, 1, 0, 3, 4), "height must be <= target - offset"),
        (lambda: tf.image.resize_with_pad(IMAGE, 0, 4), "target_height must be > 0."),
        (lambda: tf.image.rot90(IMAGE[0]), "must have either 3 or 4 dimensions"),
        (lambda: tf.image.grayscale_to_rgb(np.ones((2, 2, 3))), "should be size 1"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


LENGTHS = {"offset_height": 0, "offset_width": 0, "target_height": 4, "target_width": 4}


@pytest.mark.parametrize("name", [name for name in dir(tf.image) if "bounding" in name or "resize_with" in name])
def test_lengths_that_are_no_integers_are_refused_in_words(name: str) -> None:
    function: Any = getattr(tf.image, name)
    lengths = {key: value for key, value in LENGTHS.items() if key in inspect.signature(function).parameters}
    assert function(np.ones((4, 4, 1), np.float32), **lengths).shape == [4, 4, 1]
    for argument in lengths:
        for wrong in ("a", b"x", None, 2.5, 2.0, 3j, [3], {}, np.array("ab"), np.float32(2), tf.constant(2.0)):
            with pytest.raises(TypeError, match=f"`{argument}` must be an integer"):
                function(np.ones((4, 4, 1), np.float32), **{**lengths, argument: wrong})
        for length in (np.int64(4), tf.constant(4)):
            if "target" in argument:
                assert function(np.ones((4, 4, 1), np.float32), **{**lengths, argument: length}).shape == [4, 4, 1]
