"""Patches of images: the pixels under each position of a window, and edges."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.padding import pad, tile
from nbtf._ops.arrays.ranges import range as numbers_in
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.arrays.shapes import size, transpose
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import cast
from nbtf._ops.math.unsorted_segments import unsorted_segment_sum
from nbtf._ops.nn.depthwise_convolution import depthwise_conv2d
from nbtf._ops.nn.windows import Padding, Window, length_after, padded, steps, views, window
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import bracketed
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import COMPLEXES, FLOATS, REALS, TensorLike, float32, int64
from nbtf.errors import InvalidArgumentError, UnimplementedError


def _window(ksizes: Any, strides: Any, rates: Any, padding: Padding) -> Window:
    for name, lengths in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if len(lengths) != 4:
            raise InvalidArgumentError(f"Length for attr '{name}' of {len(lengths)} must be at least minimum 4")
        if lengths[0] != 1 or lengths[3] != 1:
            raise UnimplementedError(f"Only support {name} across space.")
    if padding not in ("SAME", "VALID"):
        allowed = '"SAME", "VALID"'
        raise InvalidArgumentError(
            f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: {allowed}"
        )
    return window((ksizes[1], ksizes[2]), strides, padding, "NHWC", rates)


def _patches_partly(images: Any, ksizes: Any, strides: Any, rates: Any, padding: Padding) -> Any:
    return (None,) * 4


@op(
    "T -> T",
    T=REALS | COMPLEXES,
    plain={"ksizes": as_ints, "strides": as_ints, "rates": as_ints},
    cpu_only=REALS - FLOATS,
    partly=_patches_partly,
)
def ExtractImagePatches(xp: Any, images: Any, ksizes: Any, strides: Any, rates: Any, padding: Padding) -> Any:
    w = _window(ksizes, strides, rates, padding)
    if images.ndim != 4:
        raise ValueError("images must have four axes")
    rows, columns = steps(images.shape[1], 0, w), steps(images.shape[2], 1, w)
    return xp.concatenate([view for _, _, view in views(padded(xp, images, rows, columns), w, rows, columns)], -1)


@ExtractImagePatches.infer
def _(images: Spec, ksizes: Any, strides: Any, rates: Any, padding: Padding) -> Spec:
    w = _window(ksizes, strides, rates, padding)
    if len(images.shape) != 4:
        raise InvalidArgumentError(f"input must be 4-dimensional{bracketed(images.shape)}")
    batch, height, width, channels = images.shape
    depth = None if channels is None else channels * w.size[0] * w.size[1]
    return Spec((batch, length_after(height, 0, w), length_after(width, 1, w), depth), images.dtype)


def extract_patches(
    images: TensorLike, sizes: Any, strides: Any, rates: Any, padding: Padding, name: str | None = None
) -> Tensor:
    """Returns the pixels under each position of a window, one after another in the last axis.

    Args:
      images: numbers, shape `[batch, height, width, channels]`.
      sizes: the window's size, `[1, height, width, 1]`.
      strides: the window's step, `[1, down, right, 1]`.
      rates: the distance between elements of the window, `[1, down, right, 1]`.
      padding: `"SAME"`, which pads with zeros, or `"VALID"`.

    Returns:
      A tensor of shape `[batch, rows, columns, window height * window width * channels]`.

    Raises:
      InvalidArgumentError: if `images` does not have four axes, or an argument is not four numbers.
      UnimplementedError: if the first or last number of an argument is not 1.

    >>> image = tf.reshape(tf.range(9), [1, 3, 3, 1])
    >>> tf.image.extract_patches(image, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID").numpy()[0, 0]
    array([[0, 1, 3, 4],
           [1, 2, 4, 5]], dtype=int32)
    """
    return ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


@ExtractImagePatches.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    images = call.inputs[0]
    lengths = shape_of(images)
    static_lengths = images.shape.as_list()
    batch, height, width, channels = lengths if None in static_lengths else static_lengths
    numbers = reshape(numbers_in(1, height * width + 1, dtype=float32), [1, height, width, 1])
    pixels = cast(reshape(ExtractImagePatches(numbers, **call.attrs), [-1]), int64) - 1  # -1 for padding
    shares = transpose(reshape(grad, [batch, size(pixels), channels]), [1, 0, 2])
    sums = unsorted_segment_sum(shares, pixels, height * width)
    return [reshape(transpose(sums, [1, 0, 2]), lengths)]


_DOWN_AND_RIGHT = [[[-1, -1], [-2, 0], [-1, 1]], [[0, -2], [0, 0], [0, 2]], [[1, -1], [2, 0], [1, 1]]]
"""Sobel's two filters: the differences downwards and to the right, in the last axis."""


def sobel_edges(image: Tensor) -> Tensor:
    """Returns how much images change downwards and to the right: Sobel's edges.

    Args:
      image: a tensor of floats, shape `[batch, height, width, channels]`; height and width are at least 2.

    Returns:
      A tensor of shape `[batch, height, width, channels, 2]` with `[dy, dx]` in the last axis. Pixels beyond the
      border are those mirrored at it.

    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.sobel_edges(image).numpy()[0, 1, 1, 0]
    array([24.,  8.], dtype=float32)
    """
    pictures = as_tensor(image)
    mirrored = pad(pictures, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    lengths = shape_of(pictures)
    filters = reshape(as_tensor(_DOWN_AND_RIGHT, pictures.dtype), [3, 3, 1, 2])
    channels = lengths[-1] if pictures.shape[-1] is None else pictures.shape[-1]
    edges = depthwise_conv2d(mirrored, tile(filters, [1, 1, channels, 1]), [1, 1, 1, 1], "VALID")
    static_lengths = pictures.shape.as_list()
    return reshape(edges, concat([lengths, [2]], 0) if None in static_lengths else [*static_lengths, 2])
