"""Converts the dtype, brightness and colour of images."""

from __future__ import annotations

from numbers import Real
from typing import Any

from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.debugging.values import Assert
from nbtf._ops.linalg.einsum import tensordot
from nbtf._ops.math.arithmetic import add, cast, multiply
from nbtf._ops.math.comparison import greater_equal
from nbtf._ops.math.division import floordiv
from nbtf._ops.math.exponentials import pow
from nbtf._ops.math.magnitude import saturate_cast
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTypeLike, TensorLike, as_dtype, float16, float32

_SHARES = [0.2989, 0.587, 0.114]
"""The weights of red, green and blue in the brightness. Source: TensorFlow, `python/ops/image_ops_impl.py`."""


def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """Returns an image in another dtype, with values scaled to its range.

    Floating-point images have values from 0 to 1; integer images up to the largest integer of their dtype.

    Args:
      image: an image of a floating-point or integer dtype.
      dtype: the dtype of the result.
      saturate: whether to clip values outside the range; False by default.
      name: accepted and ignored.

    Raises:
      AttributeError: if a dtype is neither floating-point nor integer.

    >>> tf.image.convert_image_dtype([[[0.0], [1.0]]], tf.uint8).numpy().ravel()
    array([  0, 255], dtype=uint8)
    """
    picture, target = as_tensor(image), as_dtype(dtype)
    source = picture.dtype
    if not target.is_floating and not target.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if not source.is_floating and not source.is_integer:
        raise AttributeError("image dtype must be either floating point or integer")
    if source is target:
        return identity(picture)
    convert: Any = saturate_cast if saturate else cast
    if source.is_floating:
        return cast(picture, target) if target.is_floating else convert(multiply(picture, target.max + 0.5), target)
    if target.is_floating:
        return multiply(cast(picture, target), 1.0 / source.max)
    if source.max > target.max:
        return convert(floordiv(picture, (source.max + 1) // (target.max + 1)), target)
    return multiply(convert(picture, target), (target.max + 1) // (source.max + 1))


def adjust_brightness(image: TensorLike, delta: Any) -> Tensor:
    """Returns an image with an amount added to its values.

    Args:
      image: an image; integers count as fractions of the largest integer.
      delta: the amount, a scalar; useful from -1 to 1.

    Raises:
      AttributeError: if the dtype is neither floating-point nor integer.

    >>> tf.image.adjust_brightness([[[0.25]]], 0.5).numpy().ravel()
    array([0.75], dtype=float32)
    """
    picture = as_tensor(image)
    source = picture.dtype
    values = picture if source in (float16, float32) else convert_image_dtype(picture, float32)
    return convert_image_dtype(add(values, cast(delta, values.dtype)), source, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Returns `gain * image ** gamma`, the gamma correction of images.

    Args:
      image: an image; integers count as fractions of the largest integer.
      gamma: the exponent, not negative; 1 by default. Above 1, the result is darker.
      gain: the factor; 1 by default.

    Returns:
      An image of the same shape and dtype.

    Raises:
      AttributeError: if the dtype is neither floating-point nor integer.
      ValueError: if `gamma` is a negative number.
      InvalidArgumentError: if `gamma` is a tensor or an array with a negative number.

    >>> tf.image.adjust_gamma([[[0.5]]], 2.0).numpy().ravel()
    array([0.25], dtype=float32)
    """
    picture = as_tensor(image)
    floats = picture if picture.dtype in (float16, float32) else convert_image_dtype(picture, float32)
    is_number = issubclass(type(gamma), Real)
    if not is_number:
        Assert(greater_equal(gamma, 0), ["Gamma should be a non-negative real number."])
    elif gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    return convert_image_dtype(multiply(gain, pow(floats, gamma)), picture.dtype, saturate=True)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Returns the brightness of images with the channels red, green and blue.

    Args:
      images: images, shape `[..., 3]`.
      name: accepted and ignored.

    Returns:
      Images of shape `[..., 1]` and the same dtype.

    Raises:
      AttributeError: if the dtype is neither floating-point nor integer.

    >>> tf.image.rgb_to_grayscale([[[1.0, 1.0, 1.0]]]).shape
    TensorShape([1, 1, 1])
    """
    pictures = as_tensor(images)
    values = convert_image_dtype(pictures, float32)
    gray = expand_dims(tensordot(values, _SHARES, [-1, -1]), -1)
    return convert_image_dtype(gray, pictures.dtype)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Returns images with their only channel three times.

    Args:
      images: images, shape `[..., 1]`.
      name: accepted and ignored.

    Raises:
      ValueError: if the last axis is not of length 1.

    >>> tf.image.grayscale_to_rgb([[[5]]]).numpy()
    array([[[5, 5, 5]]], dtype=int32)
    """
    pictures = as_tensor(images)
    if pictures.shape.rank == 0 or (pictures.shape.rank and pictures.shape[-1] not in (1, None)):
        raise ValueError(f"Last dimension of a grayscale image should be size 1. Received: {pictures.shape}")
    return concat([pictures] * 3, -1, name)
