"""Images that a projective transformation, such as a rotation, a shift or a shear, moves.

Source: TensorFlow, `core/kernels/image/image_ops.h` and `python/ops/image_ops.py`.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.arrays.shapes import shape as shape_of
from nbtf._ops.attributes import as_ints
from nbtf._ops.linalg.solving import inv
from nbtf._ops.op import Gradients, op
from nbtf._ops.specs import UNKNOWN, Dims, bracketed
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf._types import float16, float32, float64, int32, int64, uint8
from nbtf.errors import InvalidArgumentError

_FILL_MODES = ("REFLECT", "WRAP", "CONSTANT", "NEAREST")
_INTERPOLATIONS = ("NEAREST", "BILINEAR")


def _projected(images: Any, transforms: Any, output_shape: Any, **attrs: Any) -> Dims:
    height, width = (None, None) if output_shape is UNKNOWN else output_shape
    batch, channels = (None, None) if images.shape is None else (images.shape[0], images.shape[-1])
    return batch, height, width, channels


def _check(images: Any, transforms: Any, output_shape: Any, interpolation: str, fill_mode: str) -> None:
    if len(images.shape) != 4:
        raise InvalidArgumentError(f"input images must be rank 4, got shape {bracketed(images.shape)}")
    count = images.shape[0]  # lengths are None where a traced function does not know them
    has_rows = len(transforms.shape) == 2 and (count is None or transforms.shape[0] in (1, count, None))
    if not has_rows or transforms.shape[1] not in (8, None):
        raise InvalidArgumentError("Input transform should be num_images x 8 or 1 x 8")
    if len(output_shape) != 2:
        raise InvalidArgumentError("output shape must be a 1-D Tensor with two elements: height and width")
    if interpolation not in _INTERPOLATIONS:
        raise InvalidArgumentError(f"Invalid interpolation {interpolation}. Supported types: NEAREST, BILINEAR")
    if fill_mode not in _FILL_MODES:
        raise InvalidArgumentError(f"Invalid mode {fill_mode}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST")
    if min(output_shape) <= 0:
        raise InvalidArgumentError(f"new dimensions must be positive: {output_shape[0]}, {output_shape[1]}")


@op(
    "T float32 -> T",
    T=frozenset({uint8, int32, int64, float16, float32, float64}),
    host={"output_shape": as_ints, "fill_value": float},
    asked={"fill_value": float32},
    partly=_projected,
)
def ImageProjectiveTransformV3(
    xp: Any,
    images: Any,
    transforms: Any,
    output_shape: tuple[int, ...],
    fill_value: float,
    interpolation: str,
    fill_mode: str,
) -> Any:
    _check(images, transforms, output_shape, interpolation, fill_mode)
    count, height, width, _ = images.shape
    y, x = xp.meshgrid(*[xp.arange(length, dtype=xp.float32) for length in output_shape], indexing="ij")
    a0, a1, a2, b0, b1, b2, c0, c1 = [column.reshape(-1, 1, 1) for column in transforms.T]
    depth = c0 * x + c1 * y + xp.float32(1)
    safe = xp.where(depth == 0, xp.float32(1), depth)
    columns = _coordinates(xp, (a0 * x + a1 * y + a2) / safe, width, fill_mode)
    rows = _coordinates(xp, (b0 * x + b1 * y + b2) / safe, height, fill_mode)
    fill = xp.asarray(fill_value, xp.float32).astype(images.dtype)
    shape = (count, *rows.shape[1:])
    rows, columns = xp.broadcast_to(rows, shape), xp.broadcast_to(columns, shape)
    if interpolation == "NEAREST":
        pixels = _pixels(xp, images, _rounded(xp, rows), _rounded(xp, columns), fill)
    else:
        pixels = _between(xp, images, rows, columns, fill)
    return xp.where(xp.broadcast_to(depth == 0, shape)[..., None], fill, pixels)


def _coordinates(xp: Any, positions: Any, length: int, fill_mode: str) -> Any:
    """Returns positions along an axis, moved into the image by the fill mode; `CONSTANT` moves none."""
    if fill_mode == "CONSTANT":
        return positions
    last = xp.float32(length - 1)
    if fill_mode == "REFLECT":
        period = xp.float32(2 * length)
        below = xp.trunc(-positions / period) * period + positions
        below = xp.where(below < -length, below + period, -below - 1)
        above = positions - xp.trunc(positions / period) * period
        above = xp.where(above >= length, period - above - 1, above)
    else:
        turns = xp.float32(max(length - 1, 1))
        below = positions + length * (xp.trunc(-positions / turns) + 1)
        above = positions - length * xp.trunc(positions / turns)
    if fill_mode != "NEAREST":
        outside = xp.where(positions < 0, below, xp.where(positions > last, above, positions))
        positions = outside if length > 1 else xp.where((positions < 0) | (positions > last), 0, positions)
    return xp.clip(positions, xp.float32(0), last)


def _rounded(xp: Any, positions: Any) -> Any:
    """Returns the nearest integers; halves are rounded away from zero."""
    return xp.copysign(xp.floor(xp.absolute(positions) + xp.float32(0.5)), positions)


def _pixels(xp: Any, images: Any, rows: Any, columns: Any, fill: Any) -> Any:
    """Returns the pixels at whole positions, and the fill value outside the images."""
    count, height, width, _ = images.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    indices = [xp.where(inside, positions, 0).astype(xp.int64) for positions in (rows, columns)]
    return xp.where(inside[..., None], images[xp.arange(count)[:, None, None], indices[0], indices[1]], fill)


def _between(xp: Any, images: Any, rows: Any, columns: Any, fill: Any) -> Any:
    """Returns the means of the four pixels around each position, weighted by their distances."""
    top, left = xp.floor(rows), xp.floor(columns)
    down, right = (rows - top)[..., None], (columns - left)[..., None]
    upper_share, left_share = (top + 1 - rows)[..., None], (left + 1 - columns)[..., None]

    def line(row: Any) -> Any:
        first, second = (_pixels(xp, images, row, column, fill).astype(right.dtype) for column in (left, left + 1))
        return left_share * first + right * second

    return (upper_share * line(top) + down * line(top + 1)).astype(images.dtype)


@ImageProjectiveTransformV3.infer
def _(images: Spec, transforms: Spec, output_shape: Any, fill_value: Any, interpolation: str, fill_mode: str) -> Spec:
    _check(images, transforms, output_shape, interpolation, fill_mode)
    return Spec(_projected(images, transforms, output_shape) or (), images.dtype)


@ImageProjectiveTransformV3.gradient
def _(call: Call, grad: Tensor) -> Gradients:
    images, transforms = call.inputs
    matrices = inv(reshape(concat([transforms, ones_like(transforms[:, :1])], 1), [-1, 3, 3]))
    inverse = reshape(matrices / matrices[:, 2:, 2:], [-1, 9])[:, :8]
    attrs = {name: call.attrs[name] for name in ("interpolation", "fill_mode")}
    size = shape_of(images)[1:3]
    return [ImageProjectiveTransformV3(grad, inverse, output_shape=size, fill_value=0.0, **attrs), None]
