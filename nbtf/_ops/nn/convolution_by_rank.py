"""Convolutions of sequences, and those that depend on the number of axes: sequences, images or volumes."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import expand_dims, squeeze
from nbtf._ops.attributes import as_ints
from nbtf._ops.nn import volumes
from nbtf._ops.nn.convolution import conv2d, conv2d_transpose
from nbtf._ops.nn.convolution_3d import conv3d, conv3d_transpose
from nbtf._ops.nn.dilation import check_steps, listed
from nbtf._ops.nn.windows import Padding, spatial
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
      stride: the window's step.
      padding: `"SAME"` or `"VALID"`.
      data_format: `"NWC"` (default) or `"NCW"`.
      dilations: the distance between elements of the window; 1 by default.

    Returns:
      A tensor of shape `[batch, positions, results]`.

    Raises:
      ValueError: if `data_format` is unknown.
      InvalidArgumentError: if the shapes do not fit.

    >>> tf.nn.conv1d([[[1.0], [2.0], [4.0]]], [[[1.0]], [[10.0]]], stride=1, padding="VALID").numpy().tolist()
    [[[21.0], [42.0]]]
    """
    first = _is_first(data_format)
    height = 2 if first else 1
    images = expand_dims(input, height)
    over_height = expand_dims(filters, 0)
    strides, dilations = (1, _width_of(stride)), (1, 1 if dilations is None else _width_of(dilations))
    result = conv2d(images, over_height, strides, padding, "NCHW" if first else "NHWC", dilations, name)
    return squeeze(result, [height])


def _is_first(data_format: Any) -> bool:
    """Returns whether channels come before the width; None means NWC."""
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")
    return data_format == "NCW"


def _width_of(value: Any) -> int:
    """Returns the number for the width, given one number, a list of one, or one number per axis."""
    if hasattr(value, "__index__"):
        return value.__index__()
    numbers = as_ints(value)
    if not numbers:
        raise ValueError("`stride` and `dilations` must be numbers, not None")
    return max(numbers)


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Padding = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `conv1d` for its sequences: each element adds its multiple of the filters.

    Args:
      input: floats, shape `[batch, width, channels]`, or `[batch, channels, width]` with `"NCW"`.
      filters: the same dtype, shape `[width, results, channels]`.
      output_shape: the shape of the result, three numbers.
      strides: the window's step.
      padding: `"SAME"` (default) or `"VALID"`.
      data_format: `"NWC"` (default) or `"NCW"`.
      dilations: the distance between elements of the window; 1 by default.

    Returns:
      A tensor of shape `output_shape`.

    Raises:
      ValueError: if `data_format` is unknown.
      InvalidArgumentError: if the shapes do not match each other.

    >>> tf.nn.conv1d_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 4, 1], 2).numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    first = _is_first(data_format)
    height = 2 if first else 1
    lengths = output_shape if hasattr(output_shape, "dtype") else list(output_shape)
    if isinstance(lengths, list):
        shape: Any = [*lengths[:height], 1, *lengths[height:]]
    else:
        shape = concat([lengths[:height], [1], lengths[height:]], 0)
    step, distance = (1, _width_of(strides)), (1, 1 if dilations is None else _width_of(dilations))
    images, over_height = expand_dims(input, height), expand_dims(filters, 0)
    layout = "NCHW" if first else "NHWC"
    return squeeze(conv2d_transpose(images, over_height, shape, step, padding, layout, distance, name), [height])


def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes convolutions of sequences, images or volumes: `conv1d`, `conv2d` or `conv3d`, by the filters' axes.

    Args:
      input: floats, with as many axes as `filters`; more leading axes count as batch axes.
      filters: the same dtype, with 3, 4 or 5 axes.
      strides: the window's step: one number, or one per spatial axis; 1 by default.
      padding: `"SAME"` or `"VALID"`.
      data_format: as in the function with the suffix `1d`, `2d` or `3d`.
      dilations: the distance between elements of the window; 1 by default.

    Returns:
      A tensor with the rank of `input`.

    Raises:
      ValueError: if `filters` does not have 3, 4 or 5 axes, or both strides and dilations of volumes are above 1.

    >>> tf.nn.convolution(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])).shape
    TensorShape([1, 3, 3, 1])
    """
    elements, taps = as_tensor(input), as_tensor(filters)
    rank, strides = _rank_of(taps, "filters"), 1 if strides is None else strides
    if elements.shape.rank is not None and elements.shape.rank > rank:
        lengths = tuple(elements.shape)
        batch, inner = lengths[: 1 - rank], lengths[1 - rank :]
        rows = convolution(reshape(elements, (-1, *inner)), taps, strides, padding, data_format, dilations, name)
        return reshape(rows, (*batch, *tuple(rows.shape)[1:]))
    if rank == 3:
        return conv1d(elements, taps, strides, padding, data_format or "NWC", dilations, name)
    if rank == 4:
        return conv2d(elements, taps, strides, padding, data_format or "NHWC", dilations, name)
    first = volumes.channels_first(data_format)
    steps = spatial(strides, 3, "strides", first)
    distances = (1, 1, 1) if dilations is None else spatial(dilations, 3, "dilations", first)
    check_steps(steps, distances)
    strides_3d, apart = (volumes.shaped(1, lengths, 1, first) for lengths in (steps, distances))  # pyright: ignore[reportArgumentType]
    return conv3d(elements, taps, strides_3d, padding, data_format or "NDHWC", apart, name)


def _rank_of(tensor: Tensor, argument: str) -> int:
    rank = tensor.shape.rank
    if rank not in (3, 4, 5):
        raise ValueError(f"`{argument}` must have 3, 4 or 5 axes. Received: {argument}.shape={tensor.shape}")
    return rank


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: Any, padding: Padding, name: str | None = None
) -> Tensor:
    """Computes 2-D convolutions with holes: `conv2d` whose window elements are `rate` apart.

    Args:
      value: floats, shape `[batch, height, width, channels]`.
      filters: the same dtype, shape `[height, width, channels, results]`.
      rate: the distance between elements of the window, a number or two, for height and width.
      padding: `"SAME"` or `"VALID"`.

    Returns:
      A tensor of shape `[batch, rows, columns, results]`.

    Raises:
      ValueError: if `padding` is unknown, or a rate is not positive.
      InvalidArgumentError: if the shapes do not fit.

    >>> tf.nn.atrous_conv2d(tf.ones([1, 5, 5, 1]), tf.ones([3, 3, 1, 1]), 2, "VALID").numpy().item()
    9.0
    """
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}")
    rates = spatial(rate, 2, "rate", False)
    if min(rates) <= 0:
        raise ValueError(f"all values of `dilation_rate` must be positive. Received: dilation_rate={listed(rates)}")
    return convolution(value, filters, padding=padding, dilations=rates, name=name)


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Padding = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `convolution` for its first input: see `conv2d_transpose`.

    Args:
      input: floats, with 3, 4 or 5 axes.
      filters: the same dtype, shape `[*window, results, channels]`.
      output_shape: the shape of the result.
      strides: the window's step.
      padding: `"SAME"` (default) or `"VALID"`.
      data_format: as in the function with the suffix `1d`, `2d` or `3d`.
      dilations: the distance between elements of the window; 1 by default.

    Returns:
      A tensor of shape `output_shape`.

    Raises:
      ValueError: if `output_shape` does not have 3, 4 or 5 lengths.
      InvalidArgumentError: if the shapes do not match each other.

    >>> tf.nn.conv_transpose(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1]), [1, 4, 4, 1], 2).numpy().sum()
    np.float32(16.0)
    """
    count = output_shape.shape[0] if hasattr(output_shape, "dtype") else len(output_shape)
    transposed = {3: conv1d_transpose, 4: conv2d_transpose, 5: conv3d_transpose}.get(count)
    if transposed is None:
        raise ValueError(
            f"`output_shape` must have 3, 4 or 5 lengths, for sequences, images or volumes. Received: {output_shape}"
        )
    layout = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[count]
    return transposed(input, filters, output_shape, strides, padding, layout, dilations, name)
