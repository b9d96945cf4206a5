"""Pooling of volumes: the maximum or mean under a window, over each plane first, then along depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_shape, of_integers
from nbtf._ops.nn.pooling import AvgPool, AvgPoolGrad, MaxPool
from nbtf._ops.nn.volumes import (
    Volume,
    as_given,
    as_images,
    channels_last,
    cropped,
    layers,
    lengths_after,
    padded,
    pool_volume,
    shaped,
    steps_of,
    volume_shape,
)
from nbtf._ops.nn.windows import Steps, Window
from nbtf._ops.op import Gradients, Op, op
from nbtf._ops.specs import as_asked, of_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, TensorLike
from nbtf.errors import InvalidArgumentError

_as_sizes = of_integers("Tshape", as_shape)


def _infer(value: Spec, ksize: Any, strides: Any, padding: Any, data_format: Any) -> Spec:
    if len(value.shape) != 5:
        raise InvalidArgumentError("tensor_in must be 5-dimensional")
    v = pool_volume(ksize, strides, padding, data_format)
    batch, lengths, channels = volume_shape(value.shape, v.first)
    return Spec(shaped(batch, lengths_after(lengths, v), channels, v.first), value.dtype)


def _volumes(xp: Any, value: Any, v: Volume) -> Any:
    if value.ndim != 5:
        raise ValueError("volumes must have five axes")
    return channels_last(xp, value, v)


def _of_window(w: Window) -> dict[str, Any]:
    """Returns the attributes of a pooling of images."""
    return {"ksize": w.size, "strides": w.strides, "padding": w.padding, "data_format": "NHWC"}


def _pooled(xp: Any, record: Op, value: Any, v: Volume) -> Any:
    """Returns the pooling of volumes by an op that pools images: planes first, then along depth."""
    volumes = xp.ascontiguousarray(_volumes(xp, value, v))
    batch, depth = volumes.shape[:2]
    planes = record.kernel(xp, as_images(volumes), **_of_window(v.plane))
    rows, columns, channels = planes.shape[1:]
    along = planes.reshape(batch, depth, rows * columns, channels)
    result = record.kernel(xp, along, **_of_window(v.depth))
    return as_given(xp, result.reshape(batch, result.shape[1], rows, columns, channels), v)


# Maximum


@op("T -> T", T=FLOATS, partly=of_rank(5), infer=_infer)
def MaxPool3D(xp: Any, input: Any, ksize: Any, strides: Any, padding: str, data_format: Any) -> Any:
    return _pooled(xp, MaxPool, input, pool_volume(ksize, strides, padding, data_format))


@MaxPool3D.express
def max_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Returns the maximum under each position of a window over volumes, per channel.

    Args:
      input: floats, shape `[batch, depth, height, width, channels]`, or channels second with `"NCDHW"`. TensorFlow
        supports float32 and bfloat16 only.
      ksize: the window's size: one number, three for depth, height and width, or one per axis.
      strides: the window's step, in the same form.
      padding: `"SAME"` or `"VALID"`; padding is never the maximum.
      data_format: `"NDHWC"` (default) or `"NCDHW"`.

    Returns:
      A tensor of shape `[batch, planes, rows, columns, channels]`.

    Raises:
      ValueError: if `ksize` or `strides` are not 1, 3 or 5 numbers.
      InvalidArgumentError: if `input` does not have five axes, or a size is not positive.

    >>> volume = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.nn.max_pool3d(volume, ksize=2, strides=2, padding="VALID").numpy().ravel()
    array([7.], dtype=float32)
    """
    return MaxPool3D(input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


@MaxPool3D.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [MaxPool3DGrad(call.inputs[0], call.output, grad, **call.attrs)]


def _views(wide: Any, v: Volume, around: tuple[Steps, ...]) -> Iterator[Any]:
    """Yields, for each window element, a view of the numbers under it: [N, planes, rows, columns, C]."""
    depth, rows, columns = around
    for planes in layers(wide, v, depth.windows):
        for i in range(v.plane.size[0]):
            down = slice(i, i + rows.windows * v.plane.strides[0], v.plane.strides[0])
            for j in range(v.plane.size[1]):
                across = slice(j, j + columns.windows * v.plane.strides[1], v.plane.strides[1])
                yield planes[:, :, down, across]


def _like_input(input: Spec, output: Spec, grad: Spec, **attrs: Any) -> Spec:
    _infer(input, **attrs)
    return input


@op("T T T -> T", T=FLOATS, infer=_like_input)
def MaxPool3DGrad(
    xp: Any, input: Any, output: Any, grad: Any, ksize: Any, strides: Any, padding: str, data_format: Any
) -> Any:
    v = pool_volume(ksize, strides, padding, data_format)
    volumes, largest, back = (_volumes(xp, array, v) for array in (input, output, grad))
    around = steps_of(volumes.shape[1:4], v)
    wide = padded(xp, volumes, around, -xp.inf)
    result = xp.zeros(wide.shape, grad.dtype)
    for view, target in zip(_views(wide, v, around), _views(result, v, around), strict=True):
        target += xp.where(view == largest, back, 0).astype(grad.dtype)  # as in TensorFlow, every maximum gets it
    return as_given(xp, xp.ascontiguousarray(cropped(result, around)), v)


@MaxPool3DGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, output, _ = call.inputs
    return [None, None, MaxPool3DGradGrad(input, output, grad, **call.attrs)]


def _like_output(input: Spec, output: Spec, grad: Spec, **attrs: Any) -> Spec:
    return _infer(input, **attrs)


@op("T T T -> T", T=FLOATS, infer=_like_output)
def MaxPool3DGradGrad(
    xp: Any, input: Any, output: Any, grad: Any, ksize: Any, strides: Any, padding: str, data_format: Any
) -> Any:
    v = pool_volume(ksize, strides, padding, data_format)
    volumes, largest, changes = (_volumes(xp, array, v) for array in (input, output, grad))
    around = steps_of(volumes.shape[1:4], v)
    wide, sources = padded(xp, volumes, around, -xp.inf), padded(xp, changes, around)
    result, free = xp.zeros(largest.shape, grad.dtype), xp.ones(largest.shape, bool)
    for view, source in zip(_views(wide, v, around), _views(sources, v, around), strict=True):
        wins = free & (view == largest)  # the first maximum, as in TensorFlow
        free &= ~wins
        result = xp.where(wins, source, result)
    return as_given(xp, result, v)


@MaxPool3DGradGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, output, _ = call.inputs
    return [None, None, MaxPool3DGrad(input, output, grad, **call.attrs)]


# Mean


@op("T -> T", T=FLOATS, partly=of_rank(5), infer=_infer)
def AvgPool3D(xp: Any, input: Any, ksize: Any, strides: Any, padding: str, data_format: Any) -> Any:
    return _pooled(xp, AvgPool, input, pool_volume(ksize, strides, padding, data_format))


@AvgPool3D.express
def avg_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Returns the mean under each position of a window over volumes, per channel.

    Args:
      input: floats, shape `[batch, depth, height, width, channels]`, or channels second with `"NCDHW"`.
      ksize: the window's size: one number, three for depth, height and width, or one per axis.
      strides: the window's step, in the same form.
      padding: `"SAME"` or `"VALID"`; padding does not count in the mean.
      data_format: `"NDHWC"` (default) or `"NCDHW"`.

    Returns:
      A tensor of shape `[batch, planes, rows, columns, channels]`.

    Raises:
      ValueError: if `ksize` or `strides` are not 1, 3 or 5 numbers.
      InvalidArgumentError: if `input` does not have five axes, or a size is not positive.

    >>> volume = tf.reshape(tf.range(8.0), [1, 2, 2, 2, 1])
    >>> tf.nn.avg_pool3d(volume, ksize=2, strides=2, padding="VALID").numpy().ravel()
    array([3.5], dtype=float32)
    """
    return AvgPool3D(input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


@AvgPool3D.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [AvgPool3DGrad(grad, orig_input_shape=call.inputs[0].shape, **call.attrs)]


@op("T -> T", T=FLOATS, host={"orig_input_shape": _as_sizes}, partly=as_asked("orig_input_shape"))
def AvgPool3DGrad(
    xp: Any, grad: Any, orig_input_shape: Any, ksize: Any, strides: Any, padding: str, data_format: Any
) -> Any:
    v = pool_volume(ksize, strides, padding, data_format)
    back = xp.ascontiguousarray(_volumes(xp, grad, v))
    batch, (depth, height, width), channels = volume_shape(as_shape(orig_input_shape), v.first)
    _, planes, rows, columns, _ = back.shape
    along = back.reshape(batch, planes, rows * columns, channels)
    sizes = batch, depth, rows * columns, channels
    spread = AvgPoolGrad.kernel(xp, along, orig_input_shape=sizes, **_of_window(v.depth))
    images = spread.reshape(batch * depth, rows, columns, channels)
    sizes = batch * depth, height, width, channels
    result = AvgPoolGrad.kernel(xp, images, orig_input_shape=sizes, **_of_window(v.plane))
    return as_given(xp, result.reshape(batch, depth, height, width, channels), v)


@AvgPool3DGrad.infer
def _(grad: Spec, orig_input_shape: Any, **attrs: Any) -> Spec:
    return Spec(tuple(orig_input_shape), grad.dtype)


@AvgPool3DGrad.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    attrs = {name: value for name, value in call.attrs.items() if name != "orig_input_shape"}
    return [avg_pool3d(grad, **attrs)]
