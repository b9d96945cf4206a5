"""Convolutions by the number of axes: of sequences, and of whatever comes."""

from __future__ import annotations

from typing import Any

from nbtf._ops.attributes import as_ints
from nbtf._ops.convolution import conv2d
from nbtf._ops.shape import expand_dims, squeeze
from nbtf._ops.windows import Padding
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: Any,
    padding: Padding,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes 1-D convolutions of sequences, as images of height 1.

    Args:
      input: floats, shape `[batch, width, channels]`, or `[batch, channels, width]` with `"NCW"`.
      filters: the same dtype, shape `[width, channels, results]`.
      stride: how far the window moves.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` or `"NCW"`.
      dilations: how far apart the elements of the window stand; 1 when None.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of shape `[batch, places, results]`.

    Raises:
      ValueError: an unknown data format.
      InvalidArgumentError: the shapes do not fit each other.

    >>> tf.nn.conv1d([[[1.0], [2.0], [4.0]]], [[[1.0]], [[10.0]]], stride=1, padding="VALID").numpy().tolist()
    [[[21.0], [42.0]]]
    """
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")
    first = data_format == "NCW"
    height = 2 if first else 1
    images = expand_dims(input, height)
    over_height = expand_dims(filters, 0)
    strides, dilations = (1, _one(stride)), (1, 1 if dilations is None else _one(dilations))
    made = conv2d(images, over_height, strides, padding, "NCHW" if first else "NHWC", dilations, name)
    return squeeze(made, [height])


def _one(value: Any) -> int:
    """Returns the number for the width: a number itself, or one of a list of one, or for each axis."""
    if hasattr(value, "__index__"):
        return value.__index__()
    numbers = as_ints(value)
    if not numbers:
        raise ValueError("stride and dilations must be numbers, got none")
    return max(numbers)


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes convolutions of sequences or images: `conv1d` or `conv2d`, by the number of axes.

    Args:
      input: floats, with 3 or 4 axes.
      filters: the same dtype, as many axes.
      strides: how far the window moves; 1 when None.
      padding: `"SAME"` or `"VALID"`.
      data_format: of the function that it calls.
      dilations: how far apart the elements of the window stand; 1 when None.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor with as many axes as `input`.

    Raises:
      ValueError: another number of axes.

    >>> tf.nn.convolution(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])).shape
    TensorShape([1, 3, 3, 1])
    """
    images = as_tensor(input)
    strides = 1 if strides is None else strides
    if len(images.shape) == 3:
        return conv1d(images, filters, strides, padding, data_format or "NWC", dilations, name)
    if len(images.shape) == 4:
        return conv2d(images, filters, strides, padding, data_format or "NHWC", dilations, name)
    raise ValueError(f"`input` must have 3 or 4 axes here. Received: input.shape={images.shape}")
