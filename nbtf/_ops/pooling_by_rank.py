"""Pooling by the number of axes: of sequences, and of whatever comes."""

from __future__ import annotations

from typing import Any

from nbtf._ops.pooling import avg_pool2d, max_pool2d
from nbtf._ops.shape import expand_dims, squeeze
from nbtf._ops.windows import Padding, pair
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike


def _of_sequences(pool: Any, input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any) -> Tensor:
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")
    first = data_format == "NCW"
    height = 2 if first else 1
    size, stride = (1, pair(ksize, "ksize", False)[1]), (1, pair(strides, "strides", False)[1])
    images = expand_dims(input, height)
    return squeeze(pool(images, size, stride, padding, "NCHW" if first else "NHWC", name), [height])


def max_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Returns the largest element under each place of a window that moves along sequences.

    Args:
      input: real numbers, shape `[batch, width, channels]`, or channels second with `"NCW"`.
      ksize: the window's size.
      strides: how far it moves.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` or `"NCW"`.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of shape `[batch, places, channels]`.

    >>> tf.nn.max_pool1d([[[1.0], [3.0], [2.0], [0.0]]], 2, 2, "VALID").numpy().tolist()
    [[[3.0], [2.0]]]
    """
    return _of_sequences(max_pool2d, input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Returns the mean of the elements under each place of a window that moves along sequences.

    Args:
      input: floats, shape `[batch, width, channels]`, or channels second with `"NCW"`.
      ksize: the window's size.
      strides: how far it moves.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` or `"NCW"`.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor of shape `[batch, places, channels]`.

    >>> tf.nn.avg_pool1d([[[1.0], [3.0], [2.0], [0.0]]], 2, 2, "VALID").numpy().tolist()
    [[[2.0], [1.0]]]
    """
    return _of_sequences(avg_pool2d, input, ksize, strides, padding, data_format, name)


def max_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the largest element under each place of a window: `max_pool1d` or `max_pool2d`, by the number of axes.

    Args:
      input: real numbers, with 3 or 4 axes.
      ksize: the window's size.
      strides: how far it moves.
      padding: `"SAME"` or `"VALID"`.
      data_format: of the function that it calls.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor with as many axes as `input`.

    Raises:
      ValueError: another number of axes.

    >>> tf.nn.max_pool(tf.ones([1, 4, 4, 1]), 2, 2, "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    return _by_rank(max_pool1d, max_pool2d, input, ksize, strides, padding, data_format, name)


def avg_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the mean of the elements under each place of a window: `avg_pool1d` or `avg_pool2d`, by the axes.

    Args:
      input: floats, with 3 or 4 axes.
      ksize: the window's size.
      strides: how far it moves.
      padding: `"SAME"` or `"VALID"`.
      data_format: of the function that it calls.
      name: accepted and ignored; eager ops have no names.

    Returns:
      A tensor with as many axes as `input`.

    Raises:
      ValueError: another number of axes.

    >>> tf.nn.avg_pool(tf.ones([1, 4, 4, 1]), 2, 2, "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    return _by_rank(avg_pool1d, avg_pool2d, input, ksize, strides, padding, data_format, name)


def _by_rank(
    one: Any, two: Any, input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any
) -> Tensor:
    images = as_tensor(input)
    if len(images.shape) == 3:
        return one(images, ksize, strides, padding, data_format or "NWC", name)
    if len(images.shape) == 4:
        return two(images, ksize, strides, padding, data_format or "NHWC", name)
    raise ValueError(f"`input` must have 3 or 4 axes here. Received: input.shape={images.shape}")
