"""Crops of images, resized to one size."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.index_writes import joined_at, read_at
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.attributes import as_ints
from nbtf._ops.op import Gradients, op, unregistered
from nbtf._ops.specs import UNKNOWN, Dims, bracketed, known_lengths
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS, DType, TensorLike, as_dtype, float32, int8, int16, int32, int64, uint8, uint16
from nbtf.errors import InvalidArgumentError, OutOfRangeError

_INTEGERS = frozenset({uint8, uint16, int8, int16, int32, int64})
_METHODS = ("bilinear", "nearest")


class _Places(NamedTuple):
    """Where the lines of crops are along one axis of the images: shape `[boxes, lines]`."""

    at: Any
    inside: Any
    first: Any
    """The line of the image before each line of the crop, and the line after it."""
    last: Any
    share: Any
    """The weight of the line after it."""


def _lines_of_crops(xp: Any, starts: Any, ends: Any, length: int, count: int) -> _Places:
    span = xp.float32(length - 1)
    if count > 1:
        step = (ends - starts) * span / xp.float32(count - 1)
        at = (starts * span)[:, None] + xp.arange(count, dtype=xp.float32) * step[:, None]
    else:
        at = (xp.float32(0.5) * (starts + ends) * span)[:, None]
    inside = (at >= 0) & (at <= span)
    at = xp.where(inside, at, xp.float32(0))
    floor = xp.floor(at)
    return _Places(at, inside, floor.astype(xp.int64), xp.ceil(at).astype(xp.int64), at - floor)


def _both(xp: Any, boxes: Any, size: Any, height: int, width: int) -> tuple[_Places, _Places]:
    return (
        _lines_of_crops(xp, boxes[:, 0], boxes[:, 2], height, size[0]),
        _lines_of_crops(xp, boxes[:, 1], boxes[:, 3], width, size[1]),
    )


def _nearest(xp: Any, axis_lines: _Places) -> Any:
    return xp.floor(axis_lines.at + xp.float32(0.5)).astype(xp.int64)


def _at(xp: Any, images: Any, box_ind: Any, rows: Any, columns: Any) -> Any:
    """Returns the pixels at rows and columns of each box's image: `[boxes, rows, columns, channels]`."""
    indices = xp.broadcast_arrays(box_ind[:, None, None], rows[:, :, None], columns[:, None, :])
    return read_at(xp, images, indices).astype(xp.float32)


def _check_boxes(xp: Any, count: int, boxes: Any, box_ind: Any) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4 or box_ind.shape != boxes.shape[:1]:
        raise ValueError("each box must have four numbers and an image")
    if xp is CPU.xp and ((box_ind < 0) | (box_ind >= count)).any():
        raise OutOfRangeError("box_index has values outside [0, batch_size)")


def _check(boxes: Spec, box_ind: Spec, method: str = "bilinear") -> None:
    if len(boxes.shape) != 2:
        raise InvalidArgumentError(f"boxes must be 2-D{bracketed(boxes.shape)}")
    if boxes.shape[1] not in (4, None):
        raise InvalidArgumentError("boxes must have 4 columns")
    count = boxes.shape[0]
    if len(box_ind.shape) != 1 or (count is not None and box_ind.shape[0] not in (count, None)):
        raise InvalidArgumentError("box_index has incompatible shape")
    if method not in _METHODS:
        allowed = ", ".join(f'"{name}"' for name in _METHODS)
        text = f"Value for attr 'method' of \"{method}\" is not in the list of allowed values: {allowed}"
        raise InvalidArgumentError(text)


def _cropped(image: Any, boxes: Any, box_ind: Any, crop_size: Any, **attrs: Any) -> Dims:
    lengths = (None, None) if crop_size is UNKNOWN else known_lengths(crop_size) or (None, None)
    count = boxes.shape[0] if boxes.shape else box_ind.shape[0] if box_ind.shape else None
    return count, *lengths, image.shape[-1] if image.shape else None


@op(
    "T float32 int32 -> float32",
    T=FLOATS | _INTEGERS,
    host={"crop_size": as_ints},
    plain={"extrapolation_value": float},
    cpu_only=_INTEGERS,
    partly=_cropped,
)
def CropAndResize(
    xp: Any, image: Any, boxes: Any, box_ind: Any, crop_size: Any, method: str, extrapolation_value: float
) -> Any:
    if image.ndim != 4 or len(crop_size) != 2 or min(crop_size) <= 0 or method not in _METHODS:
        raise ValueError("images must have four axes, and crops a size")
    _check_boxes(xp, len(image), boxes, box_ind)
    rows, columns = _both(xp, boxes, crop_size, *image.shape[1:3])
    if method == "nearest":
        crops = _at(xp, image, box_ind, _nearest(xp, rows), _nearest(xp, columns))
    else:
        right = columns.share[:, None, :, None]

        def line(numbers: Any) -> Any:
            first = _at(xp, image, box_ind, numbers, columns.first)
            return first + (_at(xp, image, box_ind, numbers, columns.last) - first) * right

        top = line(rows.first)
        crops = top + (line(rows.last) - top) * rows.share[:, :, None, None]
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    return xp.where(inside, crops, xp.float32(extrapolation_value))


@CropAndResize.infer
def _(image: Spec, boxes: Spec, box_ind: Spec, crop_size: Any, method: str, extrapolation_value: float) -> Spec:
    if len(image.shape) != 4:
        raise InvalidArgumentError(f"input image must be 4-D{bracketed(image.shape)}")
    _check(boxes, box_ind, method)
    if len(crop_size) != 2:
        raise InvalidArgumentError(f"crop_size must have two elements[{len(crop_size)}]")
    if min([length for length in crop_size if length is not None], default=1) <= 0:
        raise InvalidArgumentError("crop dimensions must be positive")
    return Spec(_cropped(image, boxes, box_ind, crop_size) or (), float32)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cuts boxes out of images and resizes them all to one size.

    Args:
      image: real numbers, shape `[batch, height, width, channels]`.
      boxes: a box in each row: `[y1, x1, y2, x2]`, where 0 is an image's first line and 1 its last. If `y1` is above
        `y2`, the crop is upside down. Boxes may reach beyond the image.
      box_indices: the number of each box's image, int32.
      crop_size: the size of the crops: `[height, width]`.
      method: `"bilinear"` (default) or `"nearest"`.
      extrapolation_value: the value of pixels beyond the image; 0 by default.

    Returns:
      The crops, float32, shape `[boxes, height, width, channels]`. On GPUs, only floats have a kernel.

    Raises:
      InvalidArgumentError: if a shape does not fit, or `method` is unknown.
      OutOfRangeError: if an image does not exist; on CPUs only.

    >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.crop_and_resize(image, [[0.0, 0.0, 0.5, 0.5]], [0], [2, 2]).numpy()[0, :, :, 0]
    array([[0., 1.],
           [3., 4.]], dtype=float32)
    """
    return CropAndResize(
        image,
        boxes,
        box_indices,
        crop_size=crop_size,
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )


@CropAndResize.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    image, boxes, box_ind = call.inputs
    of_image = None
    if image.dtype in FLOATS:
        lengths = image.shape.as_list()
        of_image = CropAndResizeGradImage(
            grad,
            boxes,
            box_ind,
            image_size=shape_of(image) if None in lengths else lengths,
            T=image.dtype,
            method=call.attrs["method"],
        )
    # As in TensorFlow, the slope towards the boxes is that of the bilinear method.
    return [of_image, CropAndResizeGradBoxes(grad, image, boxes, box_ind, method="bilinear"), None]


def _of_image_size(grads: Any, boxes: Any, box_ind: Any, image_size: Any, **attrs: Any) -> Dims:
    return (None,) * 4 if image_size is UNKNOWN else known_lengths(image_size)


@op(
    "float32 float32 int32 -> T",
    host={"image_size": as_ints},
    plain={"T": as_dtype},
    partly=_of_image_size,
)
def CropAndResizeGradImage(
    xp: Any,
    grads: Any,
    boxes: Any,
    box_ind: Any,
    image_size: Any,
    T: DType,  # noqa: N803  # TensorFlow's name
    method: str,
) -> Any:
    _check_boxes(xp, image_size[0], boxes, box_ind)
    rows, columns = _both(xp, boxes, grads.shape[1:3], *image_size[1:3])
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    shares = xp.where(inside, grads, 0)
    if method == "nearest":
        corners = [(_nearest(xp, rows), _nearest(xp, columns), shares)]
    else:
        down, right = rows.share[:, :, None, None], columns.share[:, None, :, None]
        above, below = shares * (1 - down), shares * down
        corners = [
            (rows.first, columns.first, above * (1 - right)),
            (rows.first, columns.last, above * right),
            (rows.last, columns.first, below * (1 - right)),
            (rows.last, columns.last, below * right),
        ]
    total = xp.zeros(tuple(image_size), xp.float32 if T.np_dtype.itemsize < 8 else T.np_dtype)
    for lines, across, weighted in corners:
        indices = xp.broadcast_arrays(box_ind[:, None, None].astype(xp.int64), lines[:, :, None], across[:, None, :])
        total = joined_at(xp, xp.add, total, indices, weighted.astype(total.dtype), fresh=True)
    return total.astype(T.np_dtype)


@CropAndResizeGradImage.infer
def _(grads: Spec, boxes: Spec, box_ind: Spec, image_size: Any, T: DType, method: str) -> Spec:  # noqa: N803
    _check(boxes, box_ind, method)
    return Spec(tuple(image_size), T)


def _like_boxes(grads: Any, image: Any, boxes: Any, box_ind: Any, method: str) -> Dims:
    return boxes.shape


@op("float32 T float32 int32 -> float32", T=FLOATS | _INTEGERS, cpu_only=_INTEGERS, partly=_like_boxes)
def CropAndResizeGradBoxes(xp: Any, grads: Any, image: Any, boxes: Any, box_ind: Any, method: str) -> Any:
    _check_boxes(xp, len(image), boxes, box_ind)
    size = grads.shape[1:3]
    rows, columns = _both(xp, boxes, size, *image.shape[1:3])
    inside = rows.inside[:, :, None, None] & columns.inside[:, None, :, None]
    shares = xp.where(inside, grads, 0)
    top_left, top_right, bottom_left, bottom_right = (
        _at(xp, image, box_ind, row, column)
        for row in (rows.first, rows.last)
        for column in (columns.first, columns.last)
    )
    down, right = rows.share[:, :, None, None], columns.share[:, None, :, None]
    by_row = shares * ((1 - right) * (bottom_left - top_left) + right * (bottom_right - top_right))
    by_column = shares * ((1 - down) * (top_right - top_left) + down * (bottom_right - bottom_left))
    slopes: list[tuple[Any, Any]] = []
    for axis, (count, by_line) in enumerate(zip(size, (by_row.sum((2, 3)), by_column.sum((1, 3))), strict=True)):
        span = xp.float32(image.shape[1 + axis] - 1)
        ends = xp.arange(count, dtype=xp.float32) / xp.float32(count - 1) if count > 1 else xp.float32(0.5)
        slopes.append(((by_line * (1 - ends)).sum(1) * span, (by_line * ends).sum(1) * span))
    return xp.stack((slopes[0][0], slopes[1][0], slopes[0][1], slopes[1][1]), -1).astype(xp.float32)


@CropAndResizeGradBoxes.infer
def _(grads: Spec, image: Spec, boxes: Spec, box_ind: Spec, method: str) -> Spec:
    _check(boxes, box_ind, method)
    return boxes


unregistered(CropAndResizeGradImage, CropAndResizeGradBoxes)
