"""Pooling of images: the maximum or mean under a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.attributes import as_shape, of_integers
from nbtf._ops.nn.windows import (
    Padding,
    Steps,
    Window,
    as_given,
    channels_first,
    channels_last,
    cropped,
    image_shape,
    length_after,
    padded,
    pair,
    shaped,
    steps,
    views,
    window,
)
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import as_asked, of_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, REALS, TensorLike, uint32, uint64
from nbtf.errors import InvalidArgumentError

LARGEST_OF = REALS - {uint32, uint64}
_as_sizes = of_integers("Tshape", as_shape)


def pool_window(ksize: Any, strides: Any, padding: Padding, data_format: Any) -> Window:
    """Returns the window of a pooling op.

    Raises:
      InvalidArgumentError: if a size is not positive.
    """
    first = channels_first(data_format)
    size = pair(ksize, "ksize", first)
    if min(size) <= 0:
        lengths = ",".join(map(str, shaped(1, *size, 1, first)))
        text = f"Sliding window ksize must be positive. The specified or inferred ksize is: {lengths}"
        raise InvalidArgumentError(text)
    return window(size, strides, padding, data_format)


def pooled_spec(value: Spec, ksize: Any, strides: Any, padding: Any, data_format: Any) -> Spec:
    """Returns the spec of pooled images.

    Raises:
      InvalidArgumentError: if the images do not have four axes, or a size is not positive.
    """
    if len(value.shape) != 4:
        raise InvalidArgumentError(f"tensor_in_shape must have 2 spatial dimensions. {len(value.shape)} 0")
    w = pool_window(ksize, strides, padding, data_format)
    batch, height, width, channels = image_shape(value.shape, w.first)
    return Spec(shaped(batch, length_after(height, 0, w), length_after(width, 1, w), channels, w.first), value.dtype)


def padded_images(xp: Any, value: Any, w: Window, fill: Any) -> tuple[Any, Steps, Steps]:
    """Returns the padded images and the window's positions."""
    if value.ndim != 4:
        raise ValueError("images must have four axes")
    images = channels_last(xp, value, w)
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    return padded(xp, images, rows, columns, fill), rows, columns


def lowest(xp: Any, dtype: Any) -> Any:
    """Returns the value that is never above another of the dtype."""
    return -xp.inf if dtype.kind == "f" else xp.iinfo(dtype).min


def _along(wide: Any, axis: int, w: Window, windows: int) -> Iterator[Any]:
    """Yields a view of the pixels under each window element along rows (axis 1) or columns (axis 2)."""
    stride = w.strides[axis - 1]
    for start in range(w.size[axis - 1]):
        steps_along = slice(start, start + windows * stride, stride)
        yield wide[:, steps_along] if axis == 1 else wide[:, :, steps_along]


def _joined(join: Any, wide: Any, w: Window, rows: Steps, columns: Steps) -> Any:
    """Returns a ufunc's reduction over the window: over whole lines first, since these are contiguous."""
    joined = wide
    for axis, windows in ((1, rows.windows), (2, columns.windows)):
        first, *others = _along(joined, axis, w, windows)
        joined = first
        for number, view in enumerate(others):
            joined = join(joined, view, out=joined) if number else join(joined, view)
    return joined.copy() if w.size == (1, 1) else joined


# Maximum


@op("T -> T", T=LARGEST_OF, partly=of_rank(4), infer=pooled_spec)
def MaxPool(xp: Any, input: Any, ksize: Any, strides: Any, padding: Padding, data_format: Any) -> Any:
    w = pool_window(ksize, strides, padding, data_format)
    wide, rows, columns = padded_images(xp, input, w, lowest(xp, input.dtype))
    return as_given(xp, _joined(xp.maximum, wide, w, rows, columns), w)


@MaxPool.express
def max_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Returns the maximum under each position of a window, per channel.

    Args:
      input: real numbers, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`.
      ksize: the window's size: one number, two for height and width, or one per axis.
      strides: the window's step, in the same form.
      padding: `"SAME"`, `"VALID"`, or lengths to add, a pair per axis; padding is never the maximum.
      data_format: `"NHWC"` (default) or `"NCHW"`.

    Returns:
      A tensor of shape `[batch, rows, columns, channels]`.

    Raises:
      ValueError: if `ksize` or `strides` are not 1, 2 or 4 numbers.
      InvalidArgumentError: if `input` does not have four axes, or a size is not positive.

    >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.max_pool2d(image, ksize=2, strides=2, padding="VALID").numpy().reshape(2, 2)
    array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    """
    return MaxPool(input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


@MaxPool.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor) -> Gradients:
    return [MaxPoolGrad(call.inputs[0], call.output, grad, **call.attrs)]


def _winners(xp: Any, wide: Any, maxima: Any, w: Window, rows: Steps, columns: Steps) -> Any:
    """Yields, for each window element, a mask of the positions where it is the first maximum."""
    free = xp.ones(maxima.shape, bool)
    for i, j, view in views(wide, w, rows, columns):
        wins = free & (view == maxima)
        free &= ~wins
        yield i, j, wins


@op("T T T -> T", T=LARGEST_OF)
def MaxPoolGrad(
    xp: Any, input: Any, output: Any, grad: Any, ksize: Any, strides: Any, padding: Padding, data_format: Any
) -> Any:
    w = pool_window(ksize, strides, padding, data_format)
    wide, rows, columns = padded_images(xp, input, w, lowest(xp, input.dtype))
    largest, back = channels_last(xp, output, w), channels_last(xp, grad, w)
    result = xp.zeros(wide.shape, grad.dtype)
    targets = views(result, w, rows, columns)
    for (_, _, wins), (_, _, target) in zip(_winners(xp, wide, largest, w, rows, columns), targets, strict=True):
        target += xp.where(wins, back, 0).astype(grad.dtype)
    return as_given(xp, xp.ascontiguousarray(cropped(result, rows, columns)), w)


@MaxPoolGrad.infer
def _(input: Spec, output: Spec, grad: Spec, **attrs: Any) -> Spec:
    pooled_spec(input, **attrs)
    return input


@MaxPoolGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, output, _ = call.inputs
    return [None, None, MaxPoolGradGrad(input, output, grad, **call.attrs)]


@op("T T T -> T", T=LARGEST_OF)
def MaxPoolGradGrad(
    xp: Any, input: Any, output: Any, grad: Any, ksize: Any, strides: Any, padding: Padding, data_format: Any
) -> Any:
    w = pool_window(ksize, strides, padding, data_format)
    wide, rows, columns = padded_images(xp, input, w, lowest(xp, input.dtype))
    largest = channels_last(xp, output, w)
    changes = padded(xp, channels_last(xp, grad, w), rows, columns)
    result = xp.zeros(largest.shape, grad.dtype)
    sources = views(changes, w, rows, columns)
    for (_, _, wins), (_, _, source) in zip(_winners(xp, wide, largest, w, rows, columns), sources, strict=True):
        result = xp.where(wins, source, result)
    return as_given(xp, result, w)


@MaxPoolGradGrad.infer
def _(input: Spec, output: Spec, grad: Spec, **attrs: Any) -> Spec:
    return pooled_spec(input, **attrs)


@MaxPoolGradGrad.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    input, output, _ = call.inputs
    return [None, None, MaxPoolGrad(input, output, grad, **call.attrs)]


# Mean


def _counts(xp: Any, height: int, width: int, w: Window, dtype: Any) -> tuple[Any, Steps, Steps]:
    """Returns the number of pixels under each position: a number, or shape [1, rows, columns, 1]."""
    rows, columns = steps(height, 0, w), steps(width, 1, w)
    if not (rows.front or rows.back or columns.front or columns.back):
        return w.size[0] * w.size[1], rows, columns
    units = padded(xp, xp.ones((1, height, width, 1), dtype), rows, columns)
    counts = xp.zeros((1, rows.windows, columns.windows, 1), dtype)
    for _, _, view in views(units, w, rows, columns):
        counts = counts + view
    return counts, rows, columns


@op("T -> T", T=FLOATS, partly=of_rank(4), infer=pooled_spec)
def AvgPool(xp: Any, input: Any, ksize: Any, strides: Any, padding: Padding, data_format: Any) -> Any:
    w = pool_window(ksize, strides, padding, data_format)
    wide, rows, columns = padded_images(xp, input, w, 0)
    total = _joined(xp.add, wide, w, rows, columns)
    _, height, width, _ = image_shape(input.shape, w.first)
    total /= _counts(xp, height, width, w, input.dtype)[0]
    return as_given(xp, total, w)


@AvgPool.express
def avg_pool2d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Returns the mean under each position of a window, per channel.

    Args:
      input: floats, shape `[batch, height, width, channels]`, or channels second with `"NCHW"`.
      ksize: the window's size: one number, two for height and width, or one per axis.
      strides: the window's step, in the same form.
      padding: `"SAME"` or `"VALID"`; padding does not count in the mean.
      data_format: `"NHWC"` (default) or `"NCHW"`.

    Returns:
      A tensor of shape `[batch, rows, columns, channels]`.

    Raises:
      ValueError: if `ksize` or `strides` are not 1, 2 or 4 numbers.
      InvalidArgumentError: if `input` does not have four axes, or a size is not positive.

    >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    >>> tf.nn.avg_pool2d(image, ksize=2, strides=2, padding="VALID").numpy().reshape(2, 2)
    array([[ 2.5,  4.5],
           [10.5, 12.5]], dtype=float32)
    """
    return AvgPool(input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


@AvgPool.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    return [AvgPoolGrad(grad, orig_input_shape=call.inputs[0].shape, **call.attrs)]


@op("T -> T", T=FLOATS, host={"orig_input_shape": _as_sizes}, partly=as_asked("orig_input_shape"))
def AvgPoolGrad(
    xp: Any, grad: Any, orig_input_shape: Any, ksize: Any, strides: Any, padding: Padding, data_format: Any
) -> Any:
    w = pool_window(ksize, strides, padding, data_format)
    batch, height, width, channels = image_shape(as_shape(orig_input_shape), w.first)
    counts, rows, columns = _counts(xp, height, width, w, grad.dtype)
    shares = channels_last(xp, grad, w) / counts
    length, breadth = rows.front + height + rows.back, columns.front + width + columns.back
    lines = xp.zeros((batch, rows.windows, breadth, channels), grad.dtype)
    for view in _along(lines, 2, w, columns.windows):
        view += shares
    wide = xp.zeros((batch, length, breadth, channels), grad.dtype)
    for view in _along(wide, 1, w, rows.windows):
        view += lines
    return as_given(xp, xp.ascontiguousarray(cropped(wide, rows, columns)), w)


@AvgPoolGrad.infer
def _(grad: Spec, orig_input_shape: Any, **attrs: Any) -> Spec:
    return Spec(tuple(orig_input_shape), grad.dtype)


@AvgPoolGrad.gradient_keeping()
def _(call: Call, grad: Tensor) -> Gradients:
    attrs = {name: value for name, value in call.attrs.items() if name != "orig_input_shape"}
    return [avg_pool2d(grad, **attrs)]
