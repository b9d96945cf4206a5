"""Convolutions whose filters each process one channel, and those followed by a product over the channels."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput, as_ints, as_shape, of_integers
from nbtf._ops.nn.convolution import Conv2D, Conv2DBackpropFilter, Conv2DBackpropInput, conv2d
from nbtf._ops.nn.dilation import without_dilation
from nbtf._ops.nn.windows import Padding, channels_first, check_rank, image_shape, length_after, shaped, window
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import as_asked, bracketed, may_be_equal, of_rank
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike
from nbtf.errors import InvalidArgumentError

_as_sizes = of_integers("Tshape", as_shape)


def _merged(lengths: Any) -> tuple[int, int, int, int]:
    """Returns the shape of the same filters as those of a convolution in groups: [height, width, 1, results]."""
    height, width, channels, multiplier = lengths
    return height, width, 1, channels * multiplier


def _as_strides(value: Any) -> tuple[int, ...]:
    strides = as_ints(value)
    if len(strides) != 4:
        raise InvalidArgumentError("Sliding window strides field must specify 4 dimensions")
    return strides


def _spec(shape: Any, filters: Any, strides: Any, padding: Any, data_format: Any) -> tuple[Any, ...]:
    """Returns the shape of the result for images and filters of these shapes."""
    w = window(tuple(filters[:2]), strides, padding, data_format)
    if w.strides[0] != w.strides[1]:
        text = "Current implementation only supports equal length strides in the row and column dimensions."
        raise InvalidArgumentError(text)
    batch, height, width, channels = image_shape(shape, w.first)
    if not may_be_equal([channels], [filters[2]]):
        text = f"input and filter must have the same depth: {channels} vs {filters[2]}"
        raise InvalidArgumentError(text)
    channels = filters[2] if channels is None else channels
    results = None if channels is None or filters[3] is None else channels * filters[3]
    return shaped(batch, length_after(height, 0, w), length_after(width, 1, w), results, w.first)


@op("T T -> T", T=FLOATS, plain={"strides": _as_strides}, partly=of_rank(4))
def DepthwiseConv2dNative(xp: Any, input: Any, filter: Any, strides: Any, padding: Padding, data_format: Any) -> Any:
    if input.ndim != 4 or filter.ndim != 4:
        raise ValueError("images and filters must have four axes")
    _spec(input.shape, filter.shape, strides, padding, data_format)
    taps = filter.reshape(_merged(filter.shape))
    return Conv2D.kernel(xp, input, taps, strides=strides, padding=padding, data_format=data_format, dilations=None)


@DepthwiseConv2dNative.infer
def _(input: Spec, filter: Spec, strides: Any, padding: Any, data_format: Any) -> Spec:
    if len(input.shape) != 4:
        raise InvalidArgumentError(f"input must be 4-dimensional{bracketed(input.shape)}")
    check_rank("filter", filter.shape)
    return Spec(_spec(input.shape, filter.shape, strides, padding, data_format), input.dtype)


@DepthwiseConv2dNative.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, filter = call.inputs
    to_input, to_filter = DepthwiseConv2dNativeBackpropInput, DepthwiseConv2dNativeBackpropFilter
    return [
        to_input(filter, grad, input_sizes=input.shape, **call.attrs) if call.needs(0) else None,
        to_filter(input, grad, filter_sizes=filter.shape, **call.attrs) if call.needs(1) else None,
    ]


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Padding,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes 2-D convolutions in which each filter processes one channel.

    Args:
      input: floats, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`, which TensorFlow
        supports on GPUs only.
      filter: the same dtype, shape `[height, width, channels, multiplier]`.
      strides: the window's step: a list of four numbers; height and width have the same step.
      padding: `"SAME"`, `"VALID"`, or lengths to add, a pair per axis.
      data_format: `"NHWC"` (default) or `"NCHW"`.
      dilations: the distance between elements of the window, one number per spatial axis; 1 by default.

    Returns:
      A tensor of shape `[batch, rows, columns, channels * multiplier]`; the results of a channel are adjacent.

    Raises:
      TypeError: if `strides` is not a list.
      ValueError: if `dilations` is not two numbers.
      InvalidArgumentError: if the shapes do not fit, or the steps of height and width differ.

    >>> tf.nn.depthwise_conv2d([[[[1.0, 2.0]]]], [[[[1.0, 10.0], [1.0, 10.0]]]], [1, 1, 1, 1], "SAME").numpy().ravel()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """
    images, taps = as_tensor(input), as_tensor(filter)
    if not hasattr(strides, "__len__"):
        raise TypeError(f"Expected list for 'strides' argument to 'depthwise_conv2d_native' Op, not {strides}.")
    distances = (1, 1) if dilations is None else as_ints(dilations)
    if len(distances) != 2:
        raise ValueError(f"`dilations` must be two numbers, for height and width. Received: dilations={dilations}")

    def run(apart: Tensor, pad: Any) -> Tensor:
        return DepthwiseConv2dNative(
            apart, taps, strides=strides, padding=pad, data_format=data_format or "NHWC", name=name
        )

    return without_dilation(images, run, tuple(taps.shape)[:2], distances, padding, channels_first(data_format))


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Padding,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes `depthwise_conv2d`, then a convolution with filters of size 1 that mixes the channels.

    Args:
      input: floats, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`.
      depthwise_filter: the same dtype, shape `[height, width, channels, multiplier]`.
      pointwise_filter: the same dtype, shape `[1, 1, channels * multiplier, results]`.
      strides, padding, dilations: those of `depthwise_conv2d`.
      data_format: `"NHWC"` (default) or `"NCHW"`.

    Returns:
      A tensor of shape `[batch, rows, columns, results]`.

    Raises:
      ValueError: if `pointwise_filter` is not of height and width 1.
      InvalidArgumentError: if the shapes do not fit.

    >>> ones = tf.ones([1, 1, 2, 3])
    >>> tf.nn.separable_conv2d([[[[1.0, 2.0]]]], ones, tf.ones([1, 1, 6, 1]), [1, 1, 1, 1], "SAME").numpy().ravel()
    array([9.], dtype=float32)
    """
    mixing = as_tensor(pointwise_filter)
    if mixing.shape.rank is not None and not may_be_equal(mixing.shape.as_list()[:2], [1, 1]):
        received = f"Received: pointwise_filter.shape={mixing.shape}"
        raise ValueError(f"`pointwise_filter` must have height and width 1. {received}")
    layout = data_format or "NHWC"
    rows = depthwise_conv2d(input, depthwise_filter, strides, padding, layout, dilations)
    return conv2d(rows, mixing, [1, 1, 1, 1], "VALID", layout, None, name)


# Gradients


def _check_sizes(grad: Spec, shape: Any, filters: Any, attrs: Any, op_name: str) -> None:
    """Raises an error if images and filters of these shapes cannot have given a result of `grad`'s shape."""
    check_rank("out_backprop", grad.shape)
    first = channels_first(attrs["data_format"])
    actual, computed = image_shape(grad.shape, first), image_shape(_spec(shape, filters, **attrs), first)
    for axis, axis_name in ((1, "rows"), (2, "columns")):
        if not may_be_equal([actual[axis]], [computed[axis]]):
            text = f"Number of {axis_name} of out_backprop doesn't match computed: "
            raise InvalidArgumentError(f"{op_name}: {text}actual = {actual[axis]}, computed = {computed[axis]}")
    if not may_be_equal([actual[3]], [computed[3]]):
        raise InvalidArgumentError(f"{op_name}: depth_multiplier * in_depth not equal to out_depth")


@op(
    "T T -> T",
    T=FLOATS,
    host={"input_sizes": _as_sizes},
    plain={"strides": _as_strides},
    partly=as_asked("input_sizes"),
    inputs={"input_sizes": HostInput("input_sizes", 0)},
)
def DepthwiseConv2dNativeBackpropInput(
    xp: Any, filter: Any, grad: Any, input_sizes: Any, strides: Any, padding: Padding, data_format: Any
) -> Any:
    _spec(as_shape(input_sizes), filter.shape, strides, padding, data_format)
    taps = filter.reshape(_merged(filter.shape))
    return Conv2DBackpropInput.kernel(
        xp,
        taps,
        grad,
        input_sizes=input_sizes,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=None,
    )


@DepthwiseConv2dNativeBackpropInput.infer
def _(filter: Spec, grad: Spec, input_sizes: Any, **attrs: Any) -> Spec:
    check_rank("filter", filter.shape)
    check_rank("input_sizes", input_sizes)
    _check_sizes(grad, input_sizes, filter.shape, attrs, "DepthwiseConv2DBackpropInput")
    return Spec(tuple(input_sizes), grad.dtype)


@DepthwiseConv2dNativeBackpropInput.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    filter, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "input_sizes"}
    to_filter = DepthwiseConv2dNativeBackpropFilter
    return [
        to_filter(grad, below, filter_sizes=filter.shape, **attrs) if call.needs(0) else None,
        DepthwiseConv2dNative(grad, filter, **attrs) if call.needs(1) else None,
    ]


@op(
    "T T -> T",
    T=FLOATS,
    host={"filter_sizes": _as_sizes},
    plain={"strides": _as_strides},
    partly=as_asked("filter_sizes"),
    inputs={"filter_sizes": HostInput("filter_sizes", 1)},
)
def DepthwiseConv2dNativeBackpropFilter(
    xp: Any, input: Any, grad: Any, filter_sizes: Any, strides: Any, padding: Padding, data_format: Any
) -> Any:
    sizes = as_shape(filter_sizes)
    _spec(input.shape, sizes, strides, padding, data_format)
    return Conv2DBackpropFilter.kernel(
        xp,
        input,
        grad,
        filter_sizes=_merged(sizes),
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=None,
    ).reshape(sizes)


@DepthwiseConv2dNativeBackpropFilter.infer
def _(input: Spec, grad: Spec, filter_sizes: Any, **attrs: Any) -> Spec:
    check_rank("input", input.shape)
    check_rank("filter_sizes", filter_sizes)
    _check_sizes(grad, input.shape, tuple(filter_sizes), attrs, "DepthwiseConv2DBackpropFilter")
    return Spec(tuple(filter_sizes), input.dtype)


@DepthwiseConv2dNativeBackpropFilter.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "filter_sizes"}
    return [
        DepthwiseConv2dNativeBackpropInput(grad, below, input_sizes=input.shape, **attrs) if call.needs(0) else None,
        DepthwiseConv2dNative(input, grad, **attrs) if call.needs(1) else None,
    ]
