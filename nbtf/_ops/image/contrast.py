"""Contrast of images."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.math.arithmetic import cast, multiply
from nbtf._ops.math.magnitude import clip_by_value, saturate_cast
from nbtf._ops.op import op, unregistered
from nbtf._ops.reductions.lines import join
from nbtf._ops.specs import bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike, float16, float32
from nbtf.errors import InvalidArgumentError


@op("T float32 -> T", T=frozenset({float16, float32}))
def AdjustContrastv2(xp: Any, images: Any, contrast_factor: Any) -> Any:
    if images.ndim < 3 or contrast_factor.ndim:
        raise ValueError("images must have at least three axes")
    height, width = images.shape[-3:-1]
    mean = join(xp, xp.add, images, (-3, -2), xp.float32, True) / xp.float32(max(height * width, 1))
    return ((images - mean) * contrast_factor + mean).astype(images.dtype)


@AdjustContrastv2.infer
def _(images: Spec, contrast_factor: Spec) -> Spec:
    if len(images.shape) < 3:
        raise InvalidArgumentError(f"input must be at least 3-D, got shape{bracketed(images.shape)}")
    if contrast_factor.shape:
        raise InvalidArgumentError(f"contrast_factor must be scalar: {bracketed(contrast_factor.shape)}")
    return images


unregistered(AdjustContrastv2)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Returns images with a changed contrast: values move away from each channel's mean, or towards it.

    As in TensorFlow, this op has no gradient: requesting one raises LookupError.

    Args:
      images: images, shape `[..., height, width, channels]`; integers count as fractions of the largest integer.
      contrast_factor: the factor of the distance from the mean: 1 changes nothing, 0 leaves only the mean.

    Returns:
      The images, with the same shape and dtype.

    Raises:
      InvalidArgumentError: if `images` has fewer than three axes, or `contrast_factor` is not a scalar.

    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().tolist()
    [[[0.0], [4.0]]]
    """
    pictures = as_tensor(images)
    factor = cast(contrast_factor, float32)
    picture_dtype = pictures.dtype
    if picture_dtype is float16 or picture_dtype is float32:
        return AdjustContrastv2(pictures, factor)
    largest = float(picture_dtype.max) if picture_dtype.is_integer else 1.0
    changed = AdjustContrastv2(multiply(cast(pictures, float32), 1 / largest), factor)
    if not picture_dtype.is_integer:
        return cast(changed, picture_dtype)
    # Source: TensorFlow's convert_image_dtype: half a step is added before truncation.
    return saturate_cast(clip_by_value(multiply(changed, largest + 0.5), 0.0, largest), picture_dtype)
