"""Convolutions of images and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.attributes import HostInput, as_shape, of_integers
from nbtf._ops.nn import depthwise, layouts
from nbtf._ops.nn.windows import (
    Padding,
    Window,
    as_given,
    channels_last,
    check_rank,
    image_shape,
    length_after,
    padded,
    shaped,
    steps,
    window,
)
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import as_asked, may_be_equal, of_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike, int32
from nbtf.errors import InvalidArgumentError

KINDS = FLOATS | {int32}


def count_groups(channels: int, depth: int, filters: int, subject: str = "input") -> int:
    """Returns the number of channel groups; each filter processes one group.

    Raises:
      InvalidArgumentError: if the channels or the filters cannot be split into groups of one size.
    """
    if depth <= 0 or channels % depth:
        raise InvalidArgumentError(f"{subject} depth must be evenly divisible by filter depth: {channels} vs {depth}")
    groups = channels // depth
    if groups and filters % groups:
        raise InvalidArgumentError(f"output depth must be evenly divisible by number of groups: {filters} vs {groups}")
    return max(groups, 1)


def _images(xp: Any, array: Any, w: Window) -> Any:
    """Returns images in the form for computing: NHWC, and 16-bit floats as float32, rounded once at the end."""
    return xp.ascontiguousarray(channels_last(xp, array, w), xp.float32 if array.dtype.itemsize == 2 else None)


def _filters(xp: Any, array: Any) -> Any:
    return array.astype(xp.float32) if array.dtype.itemsize == 2 else array


def _for_each_filter(xp: Any, images: Any, filters: int) -> Any:
    """Returns images with each channel repeated for each of its filters."""
    return images if filters == 1 else xp.repeat(images, filters, 3)


def _groups_of(groups: int, *arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Yields the channels of the arrays, group by group."""
    for g in range(groups):
        yield tuple(array[..., g * (n := array.shape[-1] // groups) : (g + 1) * n] for array in arrays)


@op("T T -> T", T=KINDS, partly=of_rank(4))
def Conv2D(xp: Any, input: Any, filters: Any, strides: Any, padding: Padding, data_format: Any, dilations: Any) -> Any:
    if input.ndim != 4 or filters.ndim != 4:
        raise ValueError("images and filters must have four axes")
    w = window((filters.shape[0], filters.shape[1]), strides, padding, data_format, dilations)
    images, filters = _images(xp, input, w), _filters(xp, filters)
    groups = count_groups(images.shape[3], filters.shape[2], filters.shape[3])
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    if groups > 1 == filters.shape[2]:
        wide = padded(xp, _for_each_filter(xp, images, filters.shape[3] // groups), rows, columns)
        result = depthwise.convolve(xp, wide, filters, w, rows.windows, columns.windows)
    else:
        result = xp.empty((len(images), rows.windows, columns.windows, filters.shape[3]), images.dtype)
        for of_images, of_filters, target in _groups_of(groups, images, filters, result):
            layouts.convolve_images(xp, of_images, of_filters, w, (rows, columns), target)
    return as_given(xp, result.astype(input.dtype, copy=False), w)


@Conv2D.express
def _conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the convolution of a batch of images; see `conv2d`."""
    return Conv2D(
        input, filters, strides=strides, padding=padding, data_format=data_format, dilations=dilations, name=name
    )


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes 2-D convolutions: at each position, the product of the filters and the elements under them.

    Args:
      input: floats or int32, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`, which
        TensorFlow supports on GPUs only. More leading axes count as batch axes.
      filters: the same dtype, shape `[height, width, channels, results]`. If the images have a multiple of these
        channels, each filter processes one group of them.
      strides: the window's step: one number, two for height and width, or one per axis.
      padding: `"SAME"` adds zeros so that every `strides`-th position counts; `"VALID"` adds nothing. Or lengths to
        add, a pair per axis.
      data_format: `"NHWC"` (default) or `"NCHW"`.
      dilations: the distance between elements of the window; 1 by default.

    Returns:
      A tensor of shape `[batch, rows, columns, results]`.

    Raises:
      ValueError: if `strides` or `dilations` are not 1, 2 or 4 numbers.
      InvalidArgumentError: if the shapes do not fit.

    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.nn.conv2d(image, tf.ones([2, 2, 1, 1]), strides=1, padding="VALID").numpy().reshape(2, 2)
    array([[ 8., 12.],
           [20., 24.]], dtype=float32)
    """
    shape = getattr(input, "shape", ())
    if getattr(shape, "rank", 4) is None or len(shape) <= 4:  # in a graph, the rank may be unknown until the run
        return _conv2d(input, filters, strides, padding, data_format, dilations, name)
    images = as_tensor(input)
    batch, image_lengths = tuple(images.shape)[:-3], tuple(images.shape)[-3:]
    result = _conv2d(reshape(images, (-1, *image_lengths)), filters, strides, padding, data_format, dilations, name)
    return reshape(result, (*batch, *tuple(result.shape)[1:]))


def _check(channels: int | None, filters: Spec) -> None:
    if None not in (channels, filters.shape[2], filters.shape[3]):
        count_groups(channels, filters.shape[2], filters.shape[3])  # pyright: ignore[reportArgumentType]


@Conv2D.infer
def _(input: Spec, filters: Spec, strides: Any, padding: Any, data_format: Any, dilations: Any) -> Spec:
    check_rank("convolution input", input.shape)
    check_rank("convolution filter", filters.shape)
    w = window((filters.shape[0], filters.shape[1]), strides, padding, data_format, dilations)
    batch, height, width, channels = image_shape(input.shape, w.first)
    _check(channels, filters)
    rows, columns = length_after(height, 0, w), length_after(width, 1, w)
    return Spec(shaped(batch, rows, columns, filters.shape[3], w.first), input.dtype)


@Conv2D.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, filters = call.inputs
    return [
        Conv2DBackpropInput(filters, grad, input_sizes=input.shape, **call.attrs) if call.needs(0) else None,
        Conv2DBackpropFilter(input, grad, filter_sizes=filters.shape, **call.attrs) if call.needs(1) else None,
    ]


# Gradients


def _check_sizes(grad: Spec, sizes: tuple[Any, ...], filters: tuple[Any, ...], w: Window, op_name: str) -> None:
    """Raises an error if images of this shape cannot have given a result of `grad`'s shape."""
    _, *lengths, _ = image_shape(grad.shape, w.first)
    _, *expected, _ = image_shape(sizes, w.first)
    for axis, (actual, length) in enumerate(zip(lengths, expected, strict=True)):
        computed = length_after(length, axis, w)
        if None not in (actual, computed) and actual != computed:
            details = f"spatial_dim: {axis + 1} input: {length} filter: {filters[axis]} output: {actual} "
            details += f"stride: {w.strides[axis]} dilation: {w.dilations[axis]}"
            text = f"Size of out_backprop doesn't match computed: actual = {actual}, computed = {computed} {details}"
            raise InvalidArgumentError(f"{op_name}: {text}")


_as_sizes = of_integers("Tshape", as_shape)


@op(
    "T T -> T",
    T=KINDS,
    host={"input_sizes": _as_sizes},
    partly=as_asked("input_sizes"),
    inputs={"input_sizes": HostInput("input_sizes", 0)},
)
def Conv2DBackpropInput(
    xp: Any,
    filters: Any,
    grad: Any,
    input_sizes: Any,
    strides: Any,
    padding: Padding,
    data_format: Any,
    dilations: Any,
) -> Any:
    if filters.ndim != 4 or grad.ndim != 4:
        raise ValueError("images and filters must have four axes")
    w = window((filters.shape[0], filters.shape[1]), strides, padding, data_format, dilations)
    back, filters = _images(xp, grad, w), _filters(xp, filters)
    batch, height, width, channels = image_shape(as_shape(input_sizes), w.first)
    groups = count_groups(channels, filters.shape[2], filters.shape[3])
    rows, columns = steps(height, 0, w), steps(width, 1, w)
    if back.shape != (batch, rows.windows, columns.windows, filters.shape[3]):
        raise ValueError("the shapes of gradient and convolution differ")
    if groups > 1 == filters.shape[2] and layouts.has_phases(w):
        result = depthwise.images_gradient(xp, back, filters, w, (height, width), (rows, columns))
        if filters.shape[3] > channels:
            result = xp.add.reduce(result.reshape(batch, height, width, channels, -1), 4)
    else:
        group_results: list[Any] = [
            layouts.images_gradient(xp, of_back, of_filters, w, (height, width), (rows, columns))
            for of_back, of_filters in _groups_of(groups, back, filters)
        ]
        result = group_results[0] if groups == 1 else xp.concatenate(group_results, 3)
    return as_given(xp, xp.ascontiguousarray(result, grad.dtype), w)


@Conv2DBackpropInput.infer
def _(
    filters: Spec, grad: Spec, input_sizes: Any, strides: Any, padding: Any, data_format: Any, dilations: Any
) -> Spec:
    check_rank("filter", filters.shape)
    check_rank("out_backprop", grad.shape)
    w = window((filters.shape[0], filters.shape[1]), strides, padding, data_format, dilations)
    check_rank("input_sizes", input_sizes)
    _check(image_shape(input_sizes, w.first)[3], filters)
    _check_sizes(grad, input_sizes, filters.shape, w, "Conv2DCustomBackpropInput")
    if not may_be_equal([image_shape(grad.shape, w.first)[3]], [filters.shape[3]]):
        raise InvalidArgumentError("Conv2DCustomBackpropInput: filter and out_backprop must have the same out_depth")
    return Spec(tuple(input_sizes), grad.dtype)


@Conv2DBackpropInput.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    filters, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "input_sizes"}
    return [
        Conv2DBackpropFilter(grad, below, filter_sizes=filters.shape, **attrs) if call.needs(0) else None,
        _conv2d(grad, filters, **attrs) if call.needs(1) else None,
    ]


@op(
    "T T -> T",
    T=KINDS,
    host={"filter_sizes": _as_sizes},
    partly=as_asked("filter_sizes"),
    inputs={"filter_sizes": HostInput("filter_sizes", 1)},
)
def Conv2DBackpropFilter(
    xp: Any,
    input: Any,
    grad: Any,
    filter_sizes: Any,
    strides: Any,
    padding: Padding,
    data_format: Any,
    dilations: Any,
) -> Any:
    if input.ndim != 4 or grad.ndim != 4:
        raise ValueError("images must have four axes")
    height, width, depth, filters = as_shape(filter_sizes)
    w = window((height, width), strides, padding, data_format, dilations)
    images, back = _images(xp, input, w), _images(xp, grad, w)
    groups = count_groups(images.shape[3], depth, filters)
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    if back.shape != (len(images), rows.windows, columns.windows, filters):
        raise ValueError("the shapes of gradient and convolution differ")
    if groups > 1 == depth:
        wide = padded(xp, _for_each_filter(xp, images, filters // groups), rows, columns)
        result = depthwise.filters_gradient(xp, wide, back, w)
    else:
        group_results: list[Any] = [
            layouts.filters_gradient(xp, of_images, of_back, w, (rows, columns))
            for of_images, of_back in _groups_of(groups, images, back)
        ]
        result = group_results[0] if groups == 1 else xp.concatenate(group_results, 3)
    return result.astype(grad.dtype, copy=False)


@Conv2DBackpropFilter.infer
def _(input: Spec, grad: Spec, filter_sizes: Any, strides: Any, padding: Any, data_format: Any, dilations: Any) -> Spec:
    check_rank("input", input.shape)
    check_rank("out_backprop", grad.shape)
    check_rank("filter_sizes", filter_sizes)
    w = window(filter_sizes[:2], strides, padding, data_format, dilations)
    _check(image_shape(input.shape, w.first)[3], Spec(tuple(filter_sizes), input.dtype))
    _check_sizes(grad, input.shape, filter_sizes, w, "Conv2DCustomBackpropFilter")
    return Spec(tuple(filter_sizes), input.dtype)


@Conv2DBackpropFilter.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "filter_sizes"}
    return [
        Conv2DBackpropInput(grad, below, input_sizes=input.shape, **attrs) if call.needs(0) else None,
        _conv2d(input, grad, **attrs) if call.needs(1) else None,
    ]


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: Padding = "SAME",
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes the transpose of `conv2d`, its gradient with respect to the images, which enlarges images.

    Args:
      input: floats or int32, shape `[batch, height, width, channels]`.
      filters: the same dtype, shape `[height, width, results, channels]`.
      output_shape: the shape of the result.
      strides: as for `conv2d`.
      padding: as for `conv2d`.
      data_format: as for `conv2d`.
      dilations: as for `conv2d`.

    Returns:
      A tensor of shape `output_shape`.

    Raises:
      InvalidArgumentError: if the shapes do not match each other.

    >>> tf.nn.conv2d_transpose(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1]), [1, 4, 4, 1], 2).numpy().sum()
    np.float32(16.0)
    """
    return Conv2DBackpropInput(
        filters,
        input,
        input_sizes=output_shape,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )
