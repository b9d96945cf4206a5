"""Convolutions of volumes: the sum of one convolution of planes for each element of the window along depth."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import HostInput, as_shape, of_integers
from nbtf._ops.nn.convolution import Conv2D, Conv2DBackpropFilter, Conv2DBackpropInput, count_groups
from nbtf._ops.nn.volumes import (
    Volume,
    as_given,
    as_images,
    channels_last,
    check_rank,
    cropped,
    layers,
    lengths_after,
    padded,
    shaped,
    steps_of,
    volume,
    volume_shape,
)
from nbtf._ops.nn.windows import spatial
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import as_asked, may_be_equal, of_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike
from nbtf.errors import InvalidArgumentError

_as_sizes = of_integers("Tshape", as_shape)


def _volumes(xp: Any, array: Any, v: Volume) -> Any:
    """Returns volumes in the form for computing: NDHWC, and 16-bit floats as float32, rounded once at the end."""
    return xp.ascontiguousarray(channels_last(xp, array, v), xp.float32 if array.dtype.itemsize == 2 else None)


def _filters(xp: Any, array: Any) -> Any:
    return array.astype(xp.float32) if array.dtype.itemsize == 2 else array


def _of_planes(v: Volume) -> dict[str, Any]:
    """Returns the attributes of the convolutions of planes."""
    w = v.plane
    return {"strides": w.strides, "padding": w.padding, "data_format": "NHWC", "dilations": w.dilations}


def _check_ranks(*arrays: Any) -> None:
    if any(array.ndim != 5 for array in arrays):
        raise ValueError("volumes and filters must have five axes")


@op("T T -> T", T=FLOATS, partly=of_rank(5))
def Conv3D(xp: Any, input: Any, filters: Any, strides: Any, padding: str, data_format: Any, dilations: Any) -> Any:
    _check_ranks(input, filters)
    v = volume(filters.shape[:3], strides, padding, data_format, dilations)
    volumes, taps = _volumes(xp, input, v), _filters(xp, filters)
    count_groups(volumes.shape[4], filters.shape[3], filters.shape[4], "Input")
    around = steps_of(volumes.shape[1:4], v)
    windows = tuple([step.windows for step in around])
    result = xp.zeros((len(volumes), *windows, filters.shape[4]), volumes.dtype)
    for of_filters, planes in zip(taps, layers(padded(xp, volumes, around[:1]), v, windows[0]), strict=True):
        result += Conv2D.kernel(xp, as_images(planes), of_filters, **_of_planes(v)).reshape(result.shape)
    return as_given(xp, result.astype(input.dtype, copy=False), v)


@Conv3D.express
def _conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the convolution of a batch of volumes; see `conv3d`."""
    return Conv3D(
        input, filters, strides=strides, padding=padding, data_format=data_format, dilations=dilations, name=name
    )


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes 3-D convolutions: at each position, the product of the filters and the elements under them.

    Args:
      input: floats, shape `[batch, depth, height, width, channels]`, or channels second with `"NCDHW"`, which
        TensorFlow supports on GPUs only.
      filters: the same dtype, shape `[depth, height, width, channels, results]`. If the volumes have a multiple of
        these channels, each filter processes one group of them.
      strides: the window's step: a list of five numbers, the first and the one for channels 1.
      padding: `"SAME"` adds zeros so that every `strides`-th position counts; `"VALID"` adds nothing.
      data_format: `"NDHWC"` (default) or `"NCDHW"`.
      dilations: the distance between elements of the window, a list of five numbers; 1 by default. TensorFlow supports
        others on GPUs only.

    Returns:
      A tensor of shape `[batch, planes, rows, columns, results]`.

    Raises:
      TypeError: if `strides` is not a list.
      InvalidArgumentError: if the shapes do not fit, or `strides` has fewer than five numbers.

    >>> volume = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.nn.conv3d(volume, tf.ones([2, 2, 2, 1, 1]), [1, 1, 1, 1, 1], "VALID").numpy().ravel()
    array([28.], dtype=float32)
    """
    for argument, value in (("strides", strides), ("dilations", [1] * 5 if dilations is None else dilations)):
        if not hasattr(value, "__len__"):
            raise TypeError(f"Expected list for '{argument}' argument to 'conv3d' Op, not {value}.")
        if len(value) < 5:
            raise InvalidArgumentError(f"Length for attr '{argument}' of {len(value)} must be at least minimum 5")
    return _conv3d(input, filters, strides, padding, data_format, dilations, name)


def _check_depth(channels: int | None, filters: Spec) -> None:
    depth, results = filters.shape[3:]
    if channels is not None and depth is not None and results is not None:
        count_groups(channels, depth, results, "Input")


@Conv3D.infer
def _(input: Spec, filters: Spec, strides: Any, padding: Any, data_format: Any, dilations: Any) -> Spec:
    check_rank("input", input.shape)
    check_rank("filter", filters.shape)
    v = volume(filters.shape[:3], strides, padding, data_format, dilations)
    batch, lengths, channels = volume_shape(input.shape, v.first)
    if 0 in filters.shape:
        raise InvalidArgumentError("filter must not have zero elements (i.e. all dimensions must be non-zero)")
    _check_depth(channels, filters)
    return Spec(shaped(batch, lengths_after(lengths, v), filters.shape[4], v.first), input.dtype)


@Conv3D.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, filters = call.inputs
    return [
        Conv3DBackpropInputV2(filters, grad, input_sizes=input.shape, **call.attrs) if call.needs(0) else None,
        Conv3DBackpropFilterV2(input, grad, filter_sizes=filters.shape, **call.attrs) if call.needs(1) else None,
    ]


# Gradients


def _check_sizes(grad: Spec, sizes: tuple[Any, ...], filters: tuple[Any, ...], v: Volume, op_name: str) -> None:
    """Raises an error if volumes and filters of these shapes cannot have given a result of `grad`'s shape."""
    _, gradient_lengths, results = volume_shape(grad.shape, v.first)
    _, lengths, channels = volume_shape(sizes, v.first)
    for axis, (actual, computed) in enumerate(zip(gradient_lengths, lengths_after(lengths, v), strict=True)):
        if None not in (actual, computed) and actual != computed:
            w = v.windows[axis]
            details = f"spatial_dim: {axis + 1} input: {lengths[axis]} filter: {filters[axis]} output: {actual} "
            details += f"stride: {w.strides[axis and axis - 1]} dilation: {w.dilations[axis and axis - 1]}"
            text = f"Size of out_backprop doesn't match computed: actual = {actual}, computed = {computed} {details}"
            raise InvalidArgumentError(f"{op_name}: {text}")
    ends = "and filter_sizes must have the same number of channels. Got"
    if None not in (channels, filters[3]) and channels % max(filters[3], 1):
        raise InvalidArgumentError(f"input {ends} {channels} for input and {filters[3]} for filter_sizes")
    if not may_be_equal([results], [filters[4]]):
        raise InvalidArgumentError(f"out_backprop {ends} {results} for out_backprop and {filters[4]} for filter_sizes")


@op(
    "T T -> T",
    T=FLOATS,
    host={"input_sizes": _as_sizes},
    partly=as_asked("input_sizes"),
    inputs={"input_sizes": HostInput("input_sizes", 0)},
)
def Conv3DBackpropInputV2(
    xp: Any, filters: Any, grad: Any, input_sizes: Any, strides: Any, padding: str, data_format: Any, dilations: Any
) -> Any:
    _check_ranks(filters, grad)
    v = volume(filters.shape[:3], strides, padding, data_format, dilations)
    back, taps = _volumes(xp, grad, v), _filters(xp, filters)
    batch, (depth, height, width), channels = volume_shape(as_shape(input_sizes), v.first)
    around = steps_of((depth, height, width), v)[:1]
    if back.shape[:2] != (batch, around[0].windows):
        raise ValueError("the shapes of gradient and convolution differ")
    wide = xp.zeros((batch, around[0].front + depth + around[0].back, height, width, channels), back.dtype)
    images, sizes = as_images(back), (batch * around[0].windows, height, width, channels)
    for of_filters, planes in zip(taps, layers(wide, v, around[0].windows), strict=True):
        plane_gradient = Conv2DBackpropInput.kernel(xp, of_filters, images, input_sizes=sizes, **_of_planes(v))
        planes += plane_gradient.reshape(planes.shape)
    return as_given(xp, xp.ascontiguousarray(cropped(wide, around), grad.dtype), v)


@Conv3DBackpropInputV2.infer
def _(
    filters: Spec, grad: Spec, input_sizes: Any, strides: Any, padding: Any, data_format: Any, dilations: Any
) -> Spec:
    for subject, shape in (("out_backprop", grad.shape), ("filter", filters.shape), ("input", input_sizes)):
        if len(shape) != 5:
            raise InvalidArgumentError(f"{subject} tensor must have 5 dimensions")
    v = volume(filters.shape[:3], strides, padding, data_format, dilations)
    _check_sizes(grad, tuple(input_sizes), filters.shape, v, "Conv3DBackpropInputOp")
    return Spec(tuple(input_sizes), grad.dtype)


@Conv3DBackpropInputV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    filters, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "input_sizes"}
    return [
        Conv3DBackpropFilterV2(grad, below, filter_sizes=filters.shape, **attrs) if call.needs(0) else None,
        _conv3d(grad, filters, **attrs) if call.needs(1) else None,
    ]


@op(
    "T T -> T",
    T=FLOATS,
    host={"filter_sizes": _as_sizes},
    partly=as_asked("filter_sizes"),
    inputs={"filter_sizes": HostInput("filter_sizes", 1)},
)
def Conv3DBackpropFilterV2(
    xp: Any, input: Any, grad: Any, filter_sizes: Any, strides: Any, padding: str, data_format: Any, dilations: Any
) -> Any:
    _check_ranks(input, grad)
    sizes = as_shape(filter_sizes)
    v = volume(sizes[:3], strides, padding, data_format, dilations)
    volumes, back = _volumes(xp, input, v), _volumes(xp, grad, v)
    around = steps_of(volumes.shape[1:4], v)[:1]
    if back.shape[:2] != (len(volumes), around[0].windows):
        raise ValueError("the shapes of gradient and convolution differ")
    images, of_planes = as_images(back), {"filter_sizes": sizes[1:], **_of_planes(v)}
    filter_slices = [
        Conv2DBackpropFilter.kernel(xp, as_images(planes), images, **of_planes)
        for planes in layers(padded(xp, volumes, around), v, around[0].windows)
    ]
    return xp.stack(filter_slices).astype(grad.dtype, copy=False)


@Conv3DBackpropFilterV2.infer
def _(input: Spec, grad: Spec, filter_sizes: Any, strides: Any, padding: Any, data_format: Any, dilations: Any) -> Spec:
    for subject, shape in (("out_backprop", grad.shape), ("input", input.shape), ("filter", filter_sizes)):
        if len(shape) != 5:
            raise InvalidArgumentError(f"{subject} tensor must have 5 dimensions")
    v = volume(filter_sizes[:3], strides, padding, data_format, dilations)
    _check_sizes(grad, input.shape, tuple(filter_sizes), v, "Conv3DBackpropFilterOp")
    return Spec(tuple(filter_sizes), input.dtype)


@Conv3DBackpropFilterV2.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, below = call.inputs
    attrs = {name: value for name, value in call.attrs.items() if name != "filter_sizes"}
    return [
        Conv3DBackpropInputV2(grad, below, input_sizes=input.shape, **attrs) if call.needs(0) else None,
        _conv3d(input, grad, **attrs) if call.needs(1) else None,
    ]


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns the gradient of `conv3d` for its volumes: each element adds its multiple of the filters.

    Args:
      input: floats, shape `[batch, depth, height, width, channels]`.
      filters: the same dtype, shape `[depth, height, width, results, channels]`.
      output_shape: the shape of the result.
      strides: the window's step: one number, three for depth, height and width, or one per axis.
      padding: `"SAME"` (default) or `"VALID"`.
      data_format: `"NDHWC"` (default) or `"NCDHW"`.
      dilations: the distance between elements of the window, in the same form; 1 by default.

    Returns:
      A tensor of shape `output_shape`.

    Raises:
      ValueError: if `strides` or `dilations` are not 1, 3 or 5 numbers.
      InvalidArgumentError: if the shapes do not match each other.

    >>> small = tf.ones([1, 1, 1, 1, 1])
    >>> tf.nn.conv3d_transpose(small, tf.ones([2, 2, 2, 1, 1]), [1, 2, 2, 2, 1], 2).numpy().sum()
    np.float32(8.0)
    """
    return Conv3DBackpropInputV2(
        filters,
        input,
        input_sizes=output_shape,
        strides=spatial(strides, 3, "strides", data_format == "NCDHW"),
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )
