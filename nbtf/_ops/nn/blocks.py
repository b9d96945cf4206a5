"""Moves square blocks of pixels into channels, and channels into blocks of pixels."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_int
from nbtf._ops.nn.windows import channels_first, image_shape, shaped
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import of_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import ALL, TensorLike
from nbtf.errors import InvalidArgumentError


def _as_block(value: Any) -> int:
    size = as_int(value)
    if size < 2:
        raise InvalidArgumentError(f"Value for attr 'block_size' of {size} must be at least minimum 2")
    return size


def _images(xp: Any, array: Any, first: bool) -> Any:
    if array.ndim != 4:
        raise ValueError("images must have four axes")
    return xp.transpose(array, (0, 2, 3, 1)) if first else array


def _as_given(xp: Any, array: Any, first: bool) -> Any:
    return xp.ascontiguousarray(xp.transpose(array, (0, 3, 1, 2)) if first else array)


@op("T -> T", T=ALL, plain={"block_size": _as_block}, partly=of_rank(4))
def DepthToSpace(xp: Any, input: Any, block_size: int, data_format: Any) -> Any:
    first = channels_first(data_format)
    images = _images(xp, input, first)
    batch, height, width, channels = images.shape
    depth = channels // block_size**2
    apart = images.reshape(batch, height, width, block_size, block_size, depth)
    result = xp.transpose(apart, (0, 1, 3, 2, 4, 5)).reshape(batch, height * block_size, width * block_size, depth)
    return _as_given(xp, result, first)


@DepthToSpace.infer
def _(input: Spec, block_size: int, data_format: Any) -> Spec:
    if len(input.shape) != 4:
        raise InvalidArgumentError(f"Input rank should be: 4 instead of: {len(input.shape)}")
    first = channels_first(data_format)
    batch, height, width, channels = image_shape(input.shape, first)
    if channels is not None and channels % block_size**2:
        raise InvalidArgumentError(f"Input depth dimension {channels} should be divisible by: {block_size**2}")
    rows, columns = (None if length is None else length * block_size for length in (height, width))
    depth = None if channels is None else channels // block_size**2
    return Spec(shaped(batch, rows, columns, depth, first), input.dtype)


def depth_to_space(
    input: TensorLike, block_size: int, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Returns images with the channels of each pixel arranged as a square block of pixels.

    Args:
      input: images, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`, which TensorFlow
        supports on GPUs only. The square of `block_size` divides the number of channels.
      block_size: the side of a block in pixels, at least 2.
      data_format: `"NHWC"` (default) or `"NCHW"`.
      name: accepted and ignored.

    Returns:
      Images with `block_size` times the height and width.

    Raises:
      InvalidArgumentError: if the channels do not fit, `input` does not have four axes, or `block_size` is below 2.

    >>> tf.nn.depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy().reshape(2, 2)
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)


@DepthToSpace.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [SpaceToDepth(grad, **call.attrs)]


@op("T -> T", T=ALL, plain={"block_size": _as_block}, partly=of_rank(4))
def SpaceToDepth(xp: Any, input: Any, block_size: int, data_format: Any) -> Any:
    first = channels_first(data_format)
    images = _images(xp, input, first)
    batch, height, width, channels = images.shape
    rows, columns, depth = height // block_size, width // block_size, channels * block_size**2
    apart = images.reshape(batch, rows, block_size, columns, block_size, channels)
    return _as_given(xp, xp.transpose(apart, (0, 1, 3, 2, 4, 5)).reshape(batch, rows, columns, depth), first)


@SpaceToDepth.infer
def _(input: Spec, block_size: int, data_format: Any) -> Spec:
    if len(input.shape) != 4:
        raise InvalidArgumentError(f"Input rank should be 4 instead of {len(input.shape)}")
    first = channels_first(data_format)
    batch, height, width, channels = image_shape(input.shape, first)
    if (height or 0) % block_size or (width or 0) % block_size:
        text = f"Image width {width} and height {height} should be divisible by block_size: {block_size}"
        raise InvalidArgumentError(text)
    rows, columns = (None if length is None else length // block_size for length in (height, width))
    depth = None if channels is None else channels * block_size**2
    return Spec(shaped(batch, rows, columns, depth, first), input.dtype)


def space_to_depth(
    input: TensorLike, block_size: int, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Returns images with each square block of pixels arranged as the channels of one pixel.

    Args:
      input: images, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`, which TensorFlow
        supports on GPUs only. `block_size` divides height and width.
      block_size: the side of a block in pixels, at least 2.
      data_format: `"NHWC"` (default) or `"NCHW"`.
      name: accepted and ignored.

    Returns:
      Images with the square of `block_size` times the channels.

    Raises:
      InvalidArgumentError: if the lengths do not fit, `input` does not have four axes, or `block_size` is below 2.

    >>> tf.nn.space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy().ravel()
    array([1, 2, 3, 4], dtype=int32)
    """
    return SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


@SpaceToDepth.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    return [DepthToSpace(grad, **call.attrs)]
