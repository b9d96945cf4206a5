"""Pooling of images with the positions of the maxima."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._ops.arrays.index_writes import joined_at
from nbtf._ops.attributes import not_allowed
from nbtf._ops.nn.pooling import lowest, padded_images, pool_window, pooled_spec
from nbtf._ops.nn.windows import Padding, Window, views
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.specs import Dims, bracketed, of_rank
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, REALS, DType, DTypeLike, TensorLike, as_dtype, int32, int64
from nbtf.errors import InvalidArgumentError, UnimplementedError


def _as_position(value: Any) -> DType:
    dtype = as_dtype(value)
    if dtype is not int32 and dtype is not int64:
        raise not_allowed("Targmax", dtype)
    return dtype


def _window(ksize: Any, strides: Any, padding: Padding) -> Window:
    if hasattr(ksize, "__len__") and len(ksize) == 4 and tuple(ksize)[::3] != (1, 1):
        text = "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
        raise UnimplementedError(text)
    return pool_window(ksize, strides, padding, "NHWC")


def _positions(xp: Any, shape: tuple[int, ...], with_batch: bool) -> Any:
    """Returns the number of each element of images, counted through each image or through the batch."""
    batch, *lengths = shape
    first_image = xp.arange(lengths[0] * lengths[1] * lengths[2]).reshape(1, *lengths)
    return first_image + xp.arange(batch).reshape(batch, 1, 1, 1) * (first_image.size if with_batch else 0)


@op(
    "T -> T Targmax",
    T=REALS,
    plain={"Targmax": _as_position, "include_batch_in_index": bool},
    cpu_only=REALS - FLOATS,
    partly=of_rank(4),
)
def MaxPoolWithArgmax(
    xp: Any,
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Padding,
    Targmax: DType,  # noqa: N803  # TensorFlow's name
    include_batch_in_index: bool,
) -> Any:
    if input.ndim != 4 or not input.size:
        raise ValueError("images must have four axes and elements")
    w = _window(ksize, strides, padding)
    wide, rows, columns = padded_images(xp, input, w, lowest(xp, input.dtype))
    numbers = padded_images(xp, _positions(xp, input.shape, include_batch_in_index), w, -1)[0]
    shape = (len(wide), rows.windows, columns.windows, wide.shape[-1])
    largest, positions = xp.full(shape, lowest(xp, wide.dtype), wide.dtype), xp.full(shape, -1)
    for (_, _, pixels), (_, _, indices) in zip(
        views(wide, w, rows, columns), views(numbers, w, rows, columns), strict=True
    ):
        wins = (indices >= 0) & ((positions < 0) | (pixels > largest))
        largest, positions = xp.where(wins, pixels, largest), xp.where(wins, indices, positions)
    return largest, positions.astype(Targmax.np_dtype)


@MaxPoolWithArgmax.infer
def _(input: Spec, ksize: Any, strides: Any, padding: Any, Targmax: DType, include_batch_in_index: bool) -> list[Spec]:  # noqa: N803
    if len(input.shape) != 4:
        raise InvalidArgumentError("tensor_in must be 4-dimensional (2)")
    if 0 in input.shape:
        raise InvalidArgumentError("tensor_in must not be empty (2)")
    _window(ksize, strides, padding)
    largest = pooled_spec(input, ksize, strides, padding, "NHWC")
    return [largest, Spec(largest.shape, Targmax)]


class MaximaWithPositions(NamedTuple):
    """The largest values of windows, and their positions."""

    output: Tensor
    argmax: Tensor


MaximaWithPositions.__name__ = "MaxPoolWithArgmax"  # the class name that TensorFlow prints


def max_pool_with_argmax(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaximaWithPositions:
    """Returns the maximum under each position of a window, per channel, and where in the image it is.

    Args:
      input: real numbers, shape `[batch, height, width, channels]`.
      ksize: the window's size: one number, two for height and width, or one per axis.
      strides: the window's step, in the same form.
      padding: `"SAME"` or `"VALID"`; padding is never the maximum.
      data_format: only `"NHWC"`.
      output_dtype: the dtype of the positions, `tf.int64` (default) or `tf.int32`.
      include_batch_in_index: whether positions count through the batch; by default they count in each image.

    Returns:
      A named tuple of `output`, the maxima, and `argmax`, the first position of each: `(y * width + x) * channels +
      channel`. Both have the shape `[batch, rows, columns, channels]`. On GPUs, only floats and int64 have a kernel.

    Raises:
      ValueError: if `data_format` is not `"NHWC"`, or `ksize` or `strides` are not 1, 2 or 4 numbers.
      InvalidArgumentError: if `input` does not have four axes or is empty, or a size is not positive.

    >>> output, argmax = tf.nn.max_pool_with_argmax([[[[1.0], [9.0]], [[4.0], [2.0]]]], 2, 2, "VALID")
    >>> output.numpy().item(), argmax.numpy().item()
    (9.0, 1)
    """
    if data_format != "NHWC":
        text = "`data_format` values other  than 'NHWC' are not supported. "
        raise ValueError(f"{text}Received: data_format={data_format}")
    attrs = {"ksize": ksize, "strides": strides, "padding": padding, "include_batch_in_index": include_batch_in_index}
    return MaximaWithPositions(*MaxPoolWithArgmax(input, Targmax=output_dtype, name=name, **attrs))


@MaxPoolWithArgmax.gradient_keeping("inputs", "outputs")
def _(call: Call, grad: Tensor | None, of_positions: Tensor | None) -> Gradients:
    if grad is None:
        return [None]
    attrs = {name: value for name, value in call.attrs.items() if name != "Targmax"}
    return [MaxPoolGradWithArgmax(call.inputs[0], grad, call.outputs[1], **attrs)]


def _like_images(input: Any, grad: Any, argmax: Any, **attrs: Any) -> Dims:
    return input.shape


@op("T T I -> T", T=REALS, I=frozenset({int32, int64}), cpu_only=REALS - FLOATS, partly=_like_images)
def MaxPoolGradWithArgmax(
    xp: Any,
    input: Any,
    grad: Any,
    argmax: Any,
    ksize: Any,
    strides: Any,
    padding: Padding,
    include_batch_in_index: bool,
) -> Any:
    if grad.shape != argmax.shape:
        raise ValueError("each gradient must have a position")
    size = input.size // max(1, len(input))
    first = 0 if include_batch_in_index else xp.arange(len(input)).reshape(-1, 1, 1, 1) * size
    indices = (argmax + first).reshape(-1)
    flat = xp.zeros(input.size, grad.dtype)
    return joined_at(xp, xp.add, flat, [indices], grad.reshape(-1), fresh=True).reshape(input.shape)


@MaxPoolGradWithArgmax.infer
def _(input: Spec, grad: Spec, argmax: Spec, **attrs: Any) -> Spec:
    if len(argmax.shape) != len(grad.shape):
        raise InvalidArgumentError(f"argmax must have the shape {bracketed(grad.shape)}, not {bracketed(argmax.shape)}")
    return input


unregistered(MaxPoolGradWithArgmax)
