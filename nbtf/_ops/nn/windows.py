"""How a window moves over images: its positions, their number, and the pixels under it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nbtf._ops.attributes import as_ints
from nbtf._ops.specs import bracketed
from nbtf.errors import InvalidArgumentError

Padding = Any
"""`"SAME"`, `"VALID"`, or a pair of lengths for each of the four axes."""

Pair = tuple[Any, Any]


class Window(NamedTuple):
    """A window of `size` (height, width) that moves by `strides` and whose elements are `dilations` apart.

    `padding` is `"SAME"`, `"VALID"` or the lengths to add before and after each of the two axes. `first` is whether
    channels come before height and width.
    """

    size: Pair
    strides: Pair
    dilations: Pair
    padding: str | tuple[Pair, Pair]
    first: bool


class Steps(NamedTuple):
    """A window's positions along one axis: their number, and the padding at the front and back of the axis."""

    windows: int
    front: int
    back: int


def window(size: Pair, strides: Any, padding: Padding, data_format: Any, dilations: Any = None) -> Window:
    """Returns a window, accepting all of the spellings that TensorFlow accepts.

    Raises:
      ValueError: if strides or dilations are not 1, 2 or 4 numbers.
      InvalidArgumentError: if a padding or data format is unknown, or a stride is below 1.
    """
    first = channels_first(data_format)
    strides = pair(strides, "strides", first)
    if min(strides) <= 0:
        raise InvalidArgumentError("Row and column strides should be larger than 0.")
    dilations = (1, 1) if dilations is None else pair(dilations, "dilations", first)
    if min(dilations) <= 0:
        raise InvalidArgumentError("Dilated rates should be larger than 0.")
    return Window(size, strides, dilations, _padding(padding, first), first)


def channels_first(data_format: Any) -> bool:
    """Returns whether channels come before height and width; None means NHWC.

    Raises:
      InvalidArgumentError: if `data_format` is neither NHWC nor NCHW.
    """
    if data_format in (None, "NHWC"):
        return False
    if data_format == "NCHW":
        return True
    text = f'Value for attr \'data_format\' of "{data_format}" is not in the list of allowed values: "NHWC", "NCHW"'
    raise InvalidArgumentError(text)


def pair(value: Any, name: str, first: bool) -> Pair:
    """Returns height and width, given one number, a list of one or two, or one number per axis.

    Raises:
      ValueError: if `value` has another length.
    """
    height, width = spatial(value, 2, name, first)
    return height, width


def spatial(value: Any, axes: int, name: str, first: bool) -> tuple[int, ...]:
    """Returns a number for each spatial axis, given one number, a list of one, one per spatial axis or one per axis.

    Raises:
      ValueError: if `value` has another length.
    """
    if hasattr(value, "__index__"):
        return (value.__index__(),) * axes
    values = as_ints(value)
    if len(values) == 1:
        return values * axes
    if len(values) == axes:
        return values
    if len(values) == axes + 2:
        return values[2:] if first else values[1:-1]
    lengths = f"{name} should be of length 1, {axes} or {axes + 2}"
    raise ValueError(f"{lengths}. Received: {name}={value} of length {len(values)}")


def _padding(value: Padding, first: bool) -> str | tuple[Pair, Pair]:
    if isinstance(value, str):
        if value in ("SAME", "VALID"):
            return value
        allowed = '"SAME", "VALID", "EXPLICIT"'
        text = f"Value for attr 'padding' of \"{value}\" is not in the list of allowed values: {allowed}"
        raise InvalidArgumentError(text)
    (top, bottom), (left_side, right) = value[2:4] if first else value[1:3]
    return (top, bottom), (left_side, right)


def steps(length: int, axis: int, w: Window) -> Steps:
    """Returns the window's positions along height (axis 0) or width (axis 1) of an image.

    Raises:
      InvalidArgumentError: if the number of positions is negative.
    """
    size, stride = (w.size[axis] - 1) * w.dilations[axis] + 1, w.strides[axis]
    if w.padding == "SAME":
        count = -(-length // stride)
        missing = max(0, (count - 1) * stride + size - length)
        return Steps(count, missing // 2, missing - missing // 2)
    front, back = (0, 0) if isinstance(w.padding, str) else w.padding[axis]
    room = length + front + back - size + stride
    count = room // stride if room >= 0 else -(-room // stride)  # as integers are divided in C++
    if count < 0:
        text = f"Computed output size would be negative: {count} "
        text += f"[input_size: {length}, effective_filter_size: {size}, stride: {stride}]"
        raise InvalidArgumentError(text)
    return Steps(count, front, back)


def length_after(length: int | None, axis: int, w: Window) -> int | None:
    """Returns the number of positions; None if the lengths of image or window are unknown."""
    if length is None or (w.size[axis] is None and w.padding != "SAME"):
        return None
    return -(-length // w.strides[axis]) if w.size[axis] is None else steps(length, axis, w).windows


def check_rank(subject: str, shape: tuple[int | None, ...]) -> None:
    """Raises an error unless a shape is that of a batch of images.

    Raises:
      InvalidArgumentError: if `shape` does not have four axes.
    """
    if len(shape) != 4:
        raise InvalidArgumentError(f"{subject} must be 4-dimensional: {bracketed(shape)}")


def image_shape(shape: tuple[Any, ...], first: bool) -> tuple[Any, Any, Any, Any]:
    """Returns a shape's batch, height, width and channels."""
    return (shape[0], shape[2], shape[3], shape[1]) if first else (shape[0], shape[1], shape[2], shape[3])


def shaped(batch: Any, height: Any, width: Any, channels: Any, first: bool) -> tuple[Any, ...]:
    """Returns the shape with these lengths, in the order of the data format."""
    return (batch, channels, height, width) if first else (batch, height, width, channels)


# For kernels, where images are NHWC


def channels_last(xp: Any, array: Any, w: Window) -> Any:
    """Returns images with channels last."""
    return xp.transpose(array, (0, 2, 3, 1)) if w.first else array


def as_given(xp: Any, array: Any, w: Window) -> Any:
    """Returns NHWC images with their axes in the caller's order."""
    return xp.ascontiguousarray(xp.transpose(array, (0, 3, 1, 2))) if w.first else array


def padded(xp: Any, images: Any, rows: Steps, columns: Steps, fill: Any = 0) -> Any:
    """Returns images padded with `fill`."""
    if not (rows.front or rows.back or columns.front or columns.back):
        return images
    batch, height, width, channels = images.shape
    bottom, right = rows.front + height, columns.front + width
    wide = xp.empty((batch, bottom + rows.back, right + columns.back, channels), images.dtype)
    middle = wide[:, rows.front : bottom]
    for side in (wide[:, : rows.front], wide[:, bottom:], middle[:, :, : columns.front], middle[:, :, right:]):
        side[...] = fill
    middle[:, :, columns.front : right] = images
    return wide


def cropped(wide: Any, rows: Steps, columns: Steps) -> Any:
    """Returns images without the padding that `padded` added."""
    return wide[:, rows.front : wide.shape[1] - rows.back, columns.front : wide.shape[2] - columns.back]


def views(wide: Any, w: Window, rows: Steps, columns: Steps) -> Iterator[tuple[int, int, Any]]:
    """Yields, for each window element, a view of the pixels under it at all positions: [N, rows, columns, C]."""
    for i in range(w.size[0]):
        top = i * w.dilations[0]
        for j in range(w.size[1]):
            start = j * w.dilations[1]
            down = slice(top, top + rows.windows * w.strides[0], w.strides[0])
            across = slice(start, start + columns.windows * w.strides[1], w.strides[1])
            yield i, j, wide[:, down, across]
