"""Hue and saturation of images."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import executing_eagerly
from nbtf._ops.arrays.ranges import one_hot
from nbtf._ops.arrays.slicing import reverse, roll
from nbtf._ops.image.values import convert_image_dtype
from nbtf._ops.math.arithmetic import cast, preferring
from nbtf._ops.math.comparison import greater
from nbtf._ops.math.division import divide_no_nan
from nbtf._ops.op import Gradients, Op, no_gradient, op, unregistered
from nbtf._ops.reductions.extreme_indices import argmax, argmin
from nbtf._ops.reductions.means_and_extremes import reduce_max, reduce_min
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.specs import bracketed, like_first
from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike, bfloat16, float16, float32
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

# Conversion. Source: Smith, "Color gamut transform pairs", 1978, with hue, saturation and value from 0 to 1.

_WITHOUT_GPU = frozenset({float16, bfloat16})


def _three_channels(images: Spec) -> Spec:
    if not images.shape:
        raise InvalidArgumentError(f"input must be at least 1D{bracketed(images.shape)}")
    if images.shape[-1] not in (3, None):
        raise InvalidArgumentError(f"Dimension must be 3 but is {images.shape[-1]}")
    return Spec((*images.shape[:-1], 3), images.dtype)


_conversion = op("T -> T", T=FLOATS, cpu_only=_WITHOUT_GPU, infer=_three_channels)


def _channels(images: Any) -> tuple[Any, Any, Any]:
    if not images.ndim:
        raise ValueError("images must have channels")
    if images.shape[-1] != 3:
        text = f"input must have 3 channels but input only has {images.shape[-1]} channels."
        raise FailedPreconditionError(text)
    return images[..., 0], images[..., 1], images[..., 2]


def _hue_and_extremes(xp: Any, images: Any) -> tuple[Any, Any, Any]:
    """Returns hues from 0 to 1 and the smallest and largest value of each pixel."""
    red, green, blue = _channels(images)
    largest, smallest = images.max(-1), images.min(-1)
    width = largest - smallest
    share = images.dtype.type(1) / xp.where(width > 0, 6 * width, 1)
    third = images.dtype.type(2) / images.dtype.type(6)
    hue = xp.where(
        red == largest,
        share * (green - blue),
        xp.where(green == largest, share * (blue - red) + third, share * (red - green) + 2 * third),
    )
    hue = xp.where(width > 0, hue, 0)
    return xp.where(hue < 0, hue + 1, hue).astype(images.dtype), smallest, largest


def _shares_of_channels(xp: Any, hue: Any) -> Any:
    """Returns how far red, green and blue of a hue are from the smallest value (0) to the largest (1)."""
    sixths = hue * 6
    red = xp.absolute(sixths - 3) - 1
    green, blue = 2 - xp.absolute(sixths - 2), 2 - xp.absolute(sixths - 4)
    return xp.clip(xp.stack((red, green, blue), -1), 0, 1).astype(hue.dtype)


@_conversion
def RGBToHSV(xp: Any, images: Any) -> Any:
    hue, smallest, largest = _hue_and_extremes(xp, images)
    saturation = xp.where(largest > 0, (largest - smallest) / xp.where(largest > 0, largest, 1), 0)
    return xp.stack((hue, saturation.astype(images.dtype), largest), -1)


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts images with the channels red, green and blue into hue, saturation and value.

    Args:
      images: floats from 0 to 1, shape `[..., 3]`.

    Returns:
      A tensor of the same shape and dtype, with hues (from red at 0 by green and blue back to red at 1), saturations
      and values from 0 to 1.

    Raises:
      FailedPreconditionError: if the last axis is not of length 3.

    >>> tf.image.rgb_to_hsv([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5]]]).numpy()[0]
    array([[0. , 1. , 1. ],
           [0. , 0. , 0.5]], dtype=float32)
    """
    return RGBToHSV(preferring(images, float32), name=name)


def _extreme_channels(images: Tensor) -> tuple[Tensor, Tensor]:
    """Returns ones at the first largest and at the last smallest channel of each pixel, and zeros elsewhere."""
    dtype = images.dtype
    smallest = one_hot(argmin(reverse(images, [-1]), -1), 3, dtype=dtype)
    return one_hot(argmax(images, -1), 3, dtype=dtype), reverse(smallest, [-1])


@RGBToHSV.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    images = call.inputs[0]
    saturation, value = call.output[..., 1:2], call.output[..., 2:]
    largest, smallest = _extreme_channels(images)
    width = reduce_max(images, -1, keepdims=True) - reduce_min(images, -1, keepdims=True)
    slope_of_width = largest - smallest
    # The hue is a difference of two channels, divided by the width: those after the largest channel, in a circle.
    difference = reduce_sum(largest * (roll(images, -1, -1) - roll(images, 1, -1)), -1, keepdims=True)
    slope_of_difference = roll(largest, 1, -1) - roll(largest, -1, -1)
    slope_of_hue = divide_no_nan(slope_of_difference - divide_no_nan(difference, width) * slope_of_width, 6 * width)
    slope_of_saturation = divide_no_nan(slope_of_width - saturation * largest, value)
    is_lit, is_positive = cast(greater(value, 0), images.dtype), cast(greater(images, 0), images.dtype)
    # As in TensorFlow, the saturation has no slope towards a channel that is not positive.
    return [
        grad[..., :1] * is_lit * slope_of_hue
        + grad[..., 1:2] * is_positive * slope_of_saturation
        + grad[..., 2:] * largest
    ]


@_conversion
def HSVToRGB(xp: Any, images: Any) -> Any:
    hue, saturation, value = _channels(images)
    shares = _shares_of_channels(xp, hue)
    return ((1 - saturation[..., None] + saturation[..., None] * shares) * value[..., None]).astype(images.dtype)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts images with the channels hue, saturation and value into red, green and blue.

    As in TensorFlow, gradients do not flow through this op.

    Args:
      images: floats from 0 to 1, shape `[..., 3]`; see `tf.image.rgb_to_hsv`.

    Returns:
      A tensor of the same shape and dtype, with values from 0 to 1.

    Raises:
      FailedPreconditionError: if the last axis is not of length 3.

    >>> tf.image.hsv_to_rgb([[[0.0, 1.0, 1.0], [0.5, 1.0, 0.5]]]).numpy()[0]
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0.5]], dtype=float32)
    """
    return HSVToRGB(preferring(images, float32), name=name)


# Adjustment


def _adjustment(factor: str) -> Any:
    """Returns the decorator of ops that change the pixels of images by a factor, a scalar of this name."""

    def infer(images: Spec, factor_spec: Spec) -> Spec:
        if len(images.shape) < 3:
            raise InvalidArgumentError(f"input must be at least 3-D, got shape{bracketed(images.shape)}")
        if factor_spec.shape:
            raise InvalidArgumentError(f"{factor} must be scalar: {bracketed(factor_spec.shape)}")
        return images

    return op("T float32 -> T", T=frozenset({float16, float32}), infer=infer, partly=like_first)


def _check_pixels(images: Any, factor: Any) -> None:
    if images.ndim < 3 or factor.ndim:
        raise ValueError("images must have at least three axes")
    if images.shape[-1] != 3:
        raise InvalidArgumentError(f"input must have 3 channels but instead has {images.shape[-1]} channels.")


def _recoloured(xp: Any, images: Any, hue: Any, smallest: Any, largest: Any) -> Any:
    """Returns pixels of new hues and extreme values."""
    width = (largest - smallest)[..., None]
    return (smallest[..., None] + width * _shares_of_channels(xp, hue)).astype(images.dtype)


@_adjustment("delta")
def AdjustHue(xp: Any, images: Any, delta: Any) -> Any:
    _check_pixels(images, delta)
    hue, smallest, largest = _hue_and_extremes(xp, images)
    turned = hue + delta
    return _recoloured(xp, images, turned - xp.floor(turned), smallest, largest)


@_adjustment("scale")
def AdjustSaturation(xp: Any, images: Any, scale: Any) -> Any:
    _check_pixels(images, scale)
    hue, smallest, largest = _hue_and_extremes(xp, images)
    saturation = xp.where(largest > 0, (largest - smallest) / xp.where(largest > 0, largest, 1), 0)
    return _recoloured(xp, images, hue, largest - xp.clip(saturation * scale, 0, 1) * largest, largest)


no_gradient(HSVToRGB)
unregistered(AdjustHue, AdjustSaturation)


def _in_floats(adjust: Op, image: TensorLike, factor: TensorLike, name: str | None) -> Tensor:
    """Adjusts images of any dtype; integers count as fractions of the largest integer."""
    pictures = as_tensor(image)
    floats = pictures if pictures.dtype in (float16, float32) else convert_image_dtype(pictures, float32)
    return convert_image_dtype(adjust(floats, as_tensor(factor, float32), name=name), pictures.dtype)


def adjust_hue(image: TensorLike, delta: Any, name: str | None = None) -> Tensor:
    """Returns images whose hues are moved along the circle of colours.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      delta: the part of the circle to move by, a scalar from -1 to 1.

    Returns:
      The images, with the same shape and dtype.

    Raises:
      AttributeError: if the dtype is neither floating-point nor integer.
      TypeError: if `delta` is not a number.
      ValueError: if `delta` is not from -1 to 1.
      InvalidArgumentError: if `image` has fewer than three axes, or its last axis is not of length 3.

    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).numpy().ravel()
    array([0., 1., 1.], dtype=float32)
    """
    if executing_eagerly() and (check_number(delta, "delta") < -1 or delta > 1):
        raise ValueError("delta must be in the interval [-1, 1]")
    return _in_floats(AdjustHue, image, delta, name)


def adjust_saturation(image: TensorLike, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Returns images whose saturation is multiplied by a factor.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      image: images, shape `[..., height, width, 3]`; integers count as fractions of the largest integer.
      saturation_factor: the factor, a scalar: 1 changes nothing, 0 leaves only grey.

    Returns:
      The images, with the same shape and dtype; saturations are clipped to the range from 0 to 1.

    Raises:
      AttributeError: if the dtype is neither floating-point nor integer.
      InvalidArgumentError: if `image` has fewer than three axes, or its last axis is not of length 3.

    >>> tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 2.0).numpy().ravel()
    array([1., 0., 0.], dtype=float32)
    """
    return _in_floats(AdjustSaturation, image, saturation_factor, name)
