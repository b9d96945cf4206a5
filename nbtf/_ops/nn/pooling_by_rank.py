"""Pooling of sequences, and pooling that depends on the number of axes: sequences, images or volumes."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.shapes import expand_dims, squeeze
from nbtf._ops.nn.dilation import check_steps, listed, without_dilation
from nbtf._ops.nn.pooling import avg_pool2d, max_pool2d
from nbtf._ops.nn.pooling_3d import avg_pool3d, max_pool3d
from nbtf._ops.nn.windows import Padding, pair
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
    """Returns the maximum under each position of a window that moves along sequences.

    Args:
      input: real numbers, shape `[batch, width, channels]`, or channels second with `"NCW"`.
      ksize: the window's size.
      strides: the window's step.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` (default) or `"NCW"`.

    Returns:
      A tensor of shape `[batch, positions, channels]`.

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
    """Returns the mean under each position of a window that moves along sequences.

    Args:
      input: floats, shape `[batch, width, channels]`, or channels second with `"NCW"`.
      ksize: the window's size.
      strides: the window's step.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` (default) or `"NCW"`.

    Returns:
      A tensor of shape `[batch, positions, channels]`.

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
    """Returns the maximum under each position of a window, by `max_pool1d`, `max_pool2d` or `max_pool3d`.

    Args:
      input: real numbers, with 3, 4 or 5 axes.
      ksize: the window's size.
      strides: the window's step.
      padding: `"SAME"` or `"VALID"`.
      data_format: as in the function with the suffix `1d`, `2d` or `3d`.

    Returns:
      A tensor with the rank of `input`.

    Raises:
      ValueError: if `input` does not have 3, 4 or 5 axes.

    >>> tf.nn.max_pool(tf.ones([1, 4, 4, 1]), 2, 2, "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    return _by_rank("MAX", input, ksize, strides, padding, data_format, name)


def avg_pool(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the mean under each position of a window, by `avg_pool1d`, `avg_pool2d` or `avg_pool3d`.

    Args:
      input: floats, with 3, 4 or 5 axes.
      ksize: the window's size.
      strides: the window's step.
      padding: `"SAME"` or `"VALID"`.
      data_format: as in the function with the suffix `1d`, `2d` or `3d`.

    Returns:
      A tensor with the rank of `input`.

    Raises:
      ValueError: if `input` does not have 3, 4 or 5 axes.

    >>> tf.nn.avg_pool(tf.ones([1, 4, 4, 1]), 2, 2, "SAME").shape
    TensorShape([1, 2, 2, 1])
    """
    return _by_rank("AVG", input, ksize, strides, padding, data_format, name)


_POOLS = {
    "MAX": {3: max_pool1d, 4: max_pool2d, 5: max_pool3d},
    "AVG": {3: avg_pool1d, 4: avg_pool2d, 5: avg_pool3d},
}
"""The functions of a pooling by the number of axes."""

_LAYOUTS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}


def _by_rank(reduction: str, input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, name: Any) -> Tensor:
    elements = as_tensor(input)
    rank = elements.shape.rank
    if rank not in _LAYOUTS:
        received = f"Received: input.shape={elements.shape} of rank {rank}."
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. {received}")
    return _POOLS[reduction][rank](elements, ksize, strides, padding, data_format or _LAYOUTS[rank], name)


def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the maximum or mean under each position of a window, whose elements may be apart.

    Args:
      input: numbers, shape `[batch, *lengths, channels]` with one, two or three lengths, or channels second.
      window_shape: the window's size, a list with a number per length.
      pooling_type: `"MAX"` or `"AVG"`.
      strides: the window's step, a list with a number per length; 1 by default.
      padding: `"SAME"` or `"VALID"` (default).
      data_format: as in the function with the suffix `1d`, `2d` or `3d`.
      dilations: the distance between elements of the window, a list with a number per length; 1 by default.
      name: accepted and ignored.

    Returns:
      A tensor with the rank of `input`.

    Raises:
      ValueError: if the lists do not fit the input, the type is unknown, or a dilation above 1 is combined with a
        stride above 1 or with `"SAME"`.

    >>> tf.nn.pool([[[1.0], [3.0], [2.0], [0.0]]], [2], "MAX", dilations=[2]).numpy().ravel()
    array([2., 3.], dtype=float32)
    """
    elements, size = as_tensor(input), list(window_shape)
    axes = len(size)
    if elements.shape.rank not in (None, axes + 2):
        raise ValueError(f"Shape {elements.shape} must have rank {axes + 2}")
    if pooling_type not in _POOLS or axes + 2 not in _LAYOUTS:
        raise ValueError(f"{axes}-D {pooling_type} pooling is not supported.")
    steps = [1] * axes if strides is None else list(strides)
    distances = [1] * axes if dilations is None else list(dilations)
    for argument, numbers in (("strides", steps), ("dilations", distances)):
        if len(numbers) != axes:
            raise ValueError(f"`{argument}` must have {axes} numbers, one per length. Received: {numbers}")
    check_steps(steps, distances)
    if any(step > length for step, length in zip(steps, size, strict=True)):
        text = "`strides` > `window_shape` not supported due to inconsistency between CPU and GPU implementations."
        raise ValueError(f"{text} Received: strides={listed(steps)} and window_shape={size}")
    if max(distances) > 1 and padding == "SAME":
        received = f"Received: padding={padding} and dilation_rate={listed(distances)}"
        raise ValueError(f"pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. {received}")
    layout = data_format or _LAYOUTS[axes + 2]

    def over(apart: Any, pad: Any) -> Tensor:
        return _POOLS[pooling_type][axes + 2](apart, size, steps, pad, layout, name)

    return without_dilation(elements, over, size, distances, padding, layout.startswith("NC"))
