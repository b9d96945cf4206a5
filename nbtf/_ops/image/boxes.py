"""Cuts boxes out of images and places images in boxes."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.padding import pad
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.image.resizing import ResizeMethod, resize
from nbtf._runtime.arguments import check_whole, unexpected
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, TensorLike


def _images(image: Any) -> tuple[Tensor, Any, Any]:
    """Returns images with their height and width: integers, or scalars if known only at run time."""
    pictures = as_tensor(image)
    rank = pictures.shape.rank
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {pictures.shape}) must have either 3 or 4 dimensions.")
    height, width = pictures.shape.as_list()[-3:-1]
    lengths = None if None not in (height, width) else shape_of(pictures)
    return pictures, height if lengths is None else lengths[-3], width if lengths is None else lengths[-2]


def _as_length(value: Any, argument: str) -> Any:
    """Returns a length or position: an integer, or an integer tensor, whose value may be known only at run time."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, DType):
        return check_whole(value, argument)
    if not dtype.is_integer:
        raise unexpected(value, argument, "an integer")
    return value


def _target(value: Any, argument: str) -> int:
    """Returns the height or width of a result."""
    length = check_whole(value, argument)
    _check(length > 0, f"{argument} must be > 0.")
    return length


def _check(holds: Any, text: str) -> None:
    """Raises ValueError if a condition on known numbers is false; a tensor's value is left to the op that uses it."""
    if holds is False:
        raise ValueError(text)


def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Returns the part of images inside a box.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      offset_height: the first row of the box.
      offset_width: the first column of the box.
      target_height: number of rows, at least 1.
      target_width: number of columns, at least 1.

    Raises:
      TypeError: if a length or position is not an integer.
      ValueError: if the box is not inside the images, or `image` does not have 3 or 4 axes.

    >>> tf.image.crop_to_bounding_box(tf.reshape(tf.range(9), [3, 3, 1]), 1, 0, 2, 2).numpy().ravel()
    array([3, 4, 6, 7], dtype=int32)
    """
    pictures, height, width = _images(image)
    offset_height, offset_width = _as_length(offset_height, "offset_height"), _as_length(offset_width, "offset_width")
    target_height, target_width = _as_length(target_height, "target_height"), _as_length(target_width, "target_width")
    _check(offset_width >= 0, "offset_width must be >= 0.")
    _check(offset_height >= 0, "offset_height must be >= 0.")
    _check(target_width > 0, "target_width must be > 0.")
    _check(target_height > 0, "target_height must be > 0.")
    _check(width >= target_width + offset_width, "width must be >= target + offset.")
    _check(height >= target_height + offset_height, "height must be >= target + offset.")
    bottom, right = offset_height + target_height, offset_width + target_width
    return pictures[..., offset_height:bottom, offset_width:right, :]


def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Returns images with zeros around them.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`.
      offset_height: number of rows of zeros above.
      offset_width: number of columns of zeros on the left.
      target_height: the height of the result.
      target_width: the width of the result.

    Raises:
      TypeError: if a length or position is not an integer.
      ValueError: if the images do not fit into the result, or `image` does not have 3 or 4 axes.

    >>> tf.image.pad_to_bounding_box([[[5]]], 0, 1, 2, 2).numpy()[..., 0]
    array([[0, 5],
           [0, 0]], dtype=int32)
    """
    pictures, height, width = _images(image)
    offset_height, offset_width = _as_length(offset_height, "offset_height"), _as_length(offset_width, "offset_width")
    target_height, target_width = _as_length(target_height, "target_height"), _as_length(target_width, "target_width")
    below, right_margin = target_height - offset_height - height, target_width - offset_width - width
    _check(offset_height >= 0, "offset_height must be >= 0")
    _check(offset_width >= 0, "offset_width must be >= 0")
    _check(right_margin >= 0, "width must be <= target - offset")
    _check(below >= 0, "height must be <= target - offset")
    batch = [[0, 0]] * (len(pictures.shape) - 3)
    return pad(pictures, [*batch, [offset_height, below], [offset_width, right_margin], [0, 0]])


def resize_with_crop_or_pad(image: TensorLike, target_height: int, target_width: int) -> Tensor:
    """Returns images of another size: their middle is cut out where they are larger, and zeros surround it otherwise.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`; the lengths are known.
      target_height: the height of the result, at least 1.
      target_width: the width of the result, at least 1.

    Raises:
      TypeError: if a length or position is not an integer.
      ValueError: if a target is not positive, or `image` does not have 3 or 4 axes.

    >>> tf.image.resize_with_crop_or_pad(tf.reshape(tf.range(3), [1, 3, 1]), 3, 1).numpy().ravel()
    array([0, 1, 0], dtype=int32)
    """
    target_height, target_width = _target(target_height, "target_height"), _target(target_width, "target_width")
    pictures, height, width = _images(image)
    if not isinstance(height, int) or not isinstance(width, int):
        raise ValueError(f"The images' height and width must be known. Received: image.shape={pictures.shape}")
    (top, above), (left_side, left_margin) = (
        (max(extra // 2, 0), max(-extra // 2, 0)) for extra in (height - target_height, width - target_width)
    )
    rows, columns = min(target_height, height), min(target_width, width)
    cut = crop_to_bounding_box(pictures, top, left_side, rows, columns)
    return pad_to_bounding_box(cut, above, left_margin, target_height, target_width)


def resize_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Returns images resized without changing their proportions, with zeros around them.

    Args:
      image: images, shape `[batch, height, width, channels]` or `[height, width, channels]`; the lengths are known.
      target_height: the height of the result, at least 1.
      target_width: the width of the result, at least 1.
      method: a method of `tf.image.resize`; `"bilinear"` by default.
      antialias: whether to apply a filter when downscaling; False by default.

    Raises:
      TypeError: if a length or position is not an integer.
      ValueError: if a target is not positive, or `image` does not have 3 or 4 axes.

    >>> tf.image.resize_with_pad(tf.ones([2, 4, 1]), 2, 2).numpy().ravel()
    array([1., 1., 0., 0.], dtype=float32)
    """
    target_height, target_width = _target(target_height, "target_height"), _target(target_width, "target_width")
    pictures, height, width = _images(image)
    if not isinstance(height, int) or not isinstance(width, int):
        raise ValueError(f"The images' height and width must be known. Received: image.shape={pictures.shape}")
    scale = max(width / target_width, height / target_height)
    rows, columns = int(height / scale), int(width / scale)
    above = max(int((target_height - height / scale) // 2), 0)
    left_margin = max(int((target_width - width / scale) // 2), 0)
    resized = resize(pictures, [rows, columns], method, antialias=antialias)
    return pad_to_bounding_box(resized, above, left_margin, target_height, target_width)
