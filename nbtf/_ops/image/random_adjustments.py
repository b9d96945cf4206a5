"""Changes the brightness, contrast, hue and saturation of images by a random amount, one for all images of a call."""

from __future__ import annotations

from typing import Any

from nbtf._ops.image.colors import adjust_hue, adjust_saturation
from nbtf._ops.image.contrast import adjust_contrast
from nbtf._ops.image.values import adjust_brightness
from nbtf._ops.random.stateless import stateless_uniform
from nbtf._ops.random.streams import uniform
from nbtf._runtime.arguments import check_number
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike


def _around_zero(max_delta: Any, largest: float = float("inf")) -> tuple[Any, Any]:
    """Returns the bounds of an amount that is added."""
    if check_number(max_delta, "max_delta") > largest:
        raise ValueError(f"max_delta must be <= {largest}.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return -max_delta, max_delta


def _of_factor(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Returns the bounds of a factor."""
    if check_number(upper, "upper") <= check_number(lower, "lower"):
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return lower, upper


def random_brightness(image: TensorLike, max_delta: Any, seed: int | None = None) -> Tensor:
    """Returns an image with a random amount added to its values.

    Args:
      image: an image; integers count as fractions of the largest integer.
      max_delta: the amount is drawn from `-max_delta` up to `max_delta`; not negative.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Raises:
      TypeError: if `max_delta` is not a number.
      ValueError: if `max_delta` is negative.

    >>> tf.image.random_brightness([[[0.25]]], 0.0).numpy().ravel()
    array([0.25], dtype=float32)
    """
    return adjust_brightness(image, uniform([], *_around_zero(max_delta), seed=seed))


def stateless_random_brightness(image: TensorLike, max_delta: Any, seed: TensorLike) -> Tensor:
    """Returns an image with a random amount, which depends only on a seed, added to its values.

    Args:
      image: an image; integers count as fractions of the largest integer.
      max_delta: the amount is drawn from `-max_delta` up to `max_delta`; not negative.
      seed: two integers, shape `[2]`.

    Raises:
      TypeError: if `max_delta` is not a number.
      ValueError: if `max_delta` is negative.

    >>> tf.image.stateless_random_brightness([[[0.25]]], 0.5, seed=[1, 2]).numpy().ravel().round(3)
    array([0.594], dtype=float32)
    """
    return adjust_brightness(image, stateless_uniform([], seed, *_around_zero(max_delta)))


def random_contrast(image: TensorLike, lower: Any, upper: Any, seed: int | None = None) -> Tensor:
    """Returns images with a contrast that is changed by a random factor.

    Args:
      image: images, shape `[..., height, width, channels]`; integers count as fractions of the largest integer.
      lower: the smallest factor; not negative.
      upper: the largest factor (excluded).
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Raises:
      TypeError: if a bound is not a number.
      ValueError: if `lower` is negative, or `upper` is not above it.

    >>> tf.image.random_contrast(tf.ones([2, 2, 1]), 0.5, 2.0).numpy().ravel()
    array([1., 1., 1., 1.], dtype=float32)
    """
    return adjust_contrast(image, uniform([], *_of_factor(lower, upper), seed=seed))


def stateless_random_contrast(image: TensorLike, lower: Any, upper: Any, seed: TensorLike) -> Tensor:
    """Returns images with a contrast that is changed by a random factor, which depends only on a seed.

    Args:
      image: images, shape `[..., height, width, channels]`; integers count as fractions of the largest integer.
      lower: the smallest factor; not negative.
      upper: the largest factor (excluded).
      seed: two integers, shape `[2]`.

    Raises:
      TypeError: if a bound is not a number.
      ValueError: if `lower` is negative, or `upper` is not above it.

    >>> tf.image.stateless_random_contrast([[[1.0], [3.0]]], 0.0, 1.0, seed=[1, 2]).numpy().ravel().round(3)
    array([1.156, 2.844], dtype=float32)
    """
    return adjust_contrast(image, stateless_uniform([], seed, *_of_factor(lower, upper)))


def random_hue(image: TensorLike, max_delta: Any, seed: int | None = None) -> Tensor:
    """Returns images whose hues are moved along the circle of colours by a random part of it.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      max_delta: the part is drawn from `-max_delta` up to `max_delta`; from 0 to 0.5.
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Raises:
      TypeError: if `max_delta` is not a number.
      ValueError: if `max_delta` is negative or above 0.5.

    >>> tf.image.random_hue([[[1.0, 1.0, 1.0]]], 0.2).numpy().ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return adjust_hue(image, uniform([], *_around_zero(max_delta, 0.5), seed=seed))


def stateless_random_hue(image: TensorLike, max_delta: Any, seed: TensorLike) -> Tensor:
    """Returns images whose hues are moved along the circle of colours by a part that depends only on a seed.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      max_delta: the part is drawn from `-max_delta` up to `max_delta`; from 0 to 0.5.
      seed: two integers, shape `[2]`.

    Raises:
      TypeError: if `max_delta` is not a number.
      ValueError: if `max_delta` is negative or above 0.5.

    >>> tf.image.stateless_random_hue([[[1.0, 1.0, 1.0]]], 0.2, seed=[1, 2]).numpy().ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return adjust_hue(image, stateless_uniform([], seed, *_around_zero(max_delta, 0.5)))


def random_saturation(image: TensorLike, lower: Any, upper: Any, seed: int | None = None) -> Tensor:
    """Returns images whose saturation is multiplied by a random factor.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      lower: the smallest factor; not negative.
      upper: the largest factor (excluded).
      seed: an integer that selects a stream of its own; see `tf.random.set_seed`.

    Raises:
      TypeError: if a bound is not a number.
      ValueError: if `lower` is negative, or `upper` is not above it.

    >>> tf.image.random_saturation([[[1.0, 1.0, 1.0]]], 0.5, 2.0).numpy().ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return adjust_saturation(image, uniform([], *_of_factor(lower, upper), seed=seed))


def stateless_random_saturation(image: TensorLike, lower: Any, upper: Any, seed: TensorLike) -> Tensor:
    """Returns images whose saturation is multiplied by a random factor, which depends only on a seed.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      lower: the smallest factor; not negative.
      upper: the largest factor (excluded).
      seed: two integers, shape `[2]`.

    Raises:
      TypeError: if a bound is not a number.
      ValueError: if `lower` is negative, or `upper` is not above it.

    >>> tf.image.stateless_random_saturation([[[1.0, 1.0, 1.0]]], 0.5, 2.0, seed=[1, 2]).numpy().ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return adjust_saturation(image, stateless_uniform([], seed, *_of_factor(lower, upper)))
