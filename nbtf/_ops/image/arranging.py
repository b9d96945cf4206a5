"""Mirrors and crops images."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.shapes import transpose as exchanged
from nbtf._ops.arrays.slicing import reverse
from nbtf._ops.attributes import as_int
from nbtf._ops.math.arithmetic import cast
from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, float64, int32


def _images(image: Any) -> Tensor:
    pictures = as_tensor(image)
    if pictures.shape.rank not in (3, 4, None):
        raise ValueError(f"'image' (shape {pictures.shape}) must have either 3 or 4 dimensions.")
    return pictures


def flip_left_right(image: TensorLike) -> Tensor:
    """Returns images with their columns in reverse order.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.

    Raises:
      ValueError: if `image` does not have 3 or 4 axes.

    >>> tf.image.flip_left_right([[[1], [2], [3]]]).numpy().ravel()
    array([3, 2, 1], dtype=int32)
    """
    return reverse(_images(image), [-2])


def flip_up_down(image: TensorLike) -> Tensor:
    """Returns images with their rows in reverse order.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.

    Raises:
      ValueError: if `image` does not have 3 or 4 axes.

    >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy().ravel()
    array([2, 1], dtype=int32)
    """
    return reverse(_images(image), [-3])


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Returns images with rows and columns exchanged.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      name: accepted and ignored.

    Raises:
      ValueError: if `image` does not have 3 or 4 axes.

    >>> tf.image.transpose([[[1], [2], [3]]]).shape
    TensorShape([3, 1, 1])
    """
    pictures = _images(image)
    return exchanged(pictures, [0, 2, 1, 3] if pictures.shape.rank == 4 else [1, 0, 2], name=name)


def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """Returns images turned counter-clockwise by quarters of a full turn.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      k: number of quarter turns; 1 by default.
      name: accepted and ignored.

    Raises:
      ValueError: if `image` does not have 3 or 4 axes.

    >>> tf.image.rot90([[[1], [2]], [[3], [4]]]).numpy()[..., 0]
    array([[2, 4],
           [1, 3]], dtype=int32)
    """
    pictures, turns = _images(image), as_int(k) % 4
    if turns == 2:
        return reverse(pictures, [-3, -2], name)
    if turns % 2:
        return transpose(reverse(pictures, [-2])) if turns == 1 else reverse(transpose(pictures), [-2], name)
    return pictures


def central_crop(image: TensorLike, central_fraction: Any) -> Tensor:
    """Returns the middle part of images.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      central_fraction: the fraction of height and width to keep, above 0 and up to 1.

    Raises:
      TypeError: if `central_fraction` is not a number.
      ValueError: if `central_fraction` is out of range, or `image` does not have 3 or 4 axes.

    >>> tf.image.central_crop(tf.reshape(tf.range(16), [4, 4, 1]), 0.5).numpy().ravel()
    array([ 5,  6,  9, 10], dtype=int32)
    """
    fraction = float(check_number(central_fraction, "central_fraction"))
    if not 0.0 < fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    if fraction == 1.0:
        return as_tensor(image)
    pictures = _images(image)
    (top, height), (left, width) = (_middle(pictures, axis, fraction) for axis in (-3, -2))
    return pictures[..., top : top + height, left : left + width, :]


def _middle(images: Tensor, axis: int, fraction: float) -> tuple[Any, Any]:
    """Returns the start and length of the middle part of an axis."""
    static_length = None if images.shape.rank is None else images.shape[axis]
    if static_length is not None:
        start = int((static_length - static_length * fraction) / 2)
        return start, static_length - 2 * start
    length = shape_of(images)[axis]
    start = cast((cast(length, float64) - cast(length, float64) * fraction) / 2, int32)
    return start, length - 2 * start
