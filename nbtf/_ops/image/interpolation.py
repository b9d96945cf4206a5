"""Interpolation: the pixels along an axis that form a pixel of a resized image, and their weights.

Source: TensorFlow, `core/util/image_resizer_state.h`, and `core/kernels/image/` `resize_bilinear_op.cc`,
`resize_bicubic_op.cc`, `resize_area_op.cc`, `resize_nearest_neighbor_op.cc`, `scale_and_translate_op.cc` and
`sampling_kernels.h`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from nbtf._ops.arrays.index_writes import joined_at

_TABLE = 1024
"""Number of steps between two pixels in the table of bicubic weights."""

_SMALLEST_SUM = 1000 * 1.17549435e-38
"""Weights with a smaller sum are not normalized."""


class Taps(NamedTuple):
    """The old pixels that form each new pixel, and their weights: both matrices have one row per new pixel."""

    indices: Any
    weights: Any


def centers(xp: Any, length: int, new_length: int, half: bool) -> Any:
    """Returns the positions of new pixels among the old ones: centers if `half`, otherwise corners."""
    scale = xp.float32(length) / xp.float32(new_length)
    positions = xp.arange(new_length, dtype=xp.float32)
    return (positions + xp.float32(0.5)) * scale - xp.float32(0.5) if half else positions * scale


def nearest(xp: Any, length: int, new_length: int, half: bool) -> Any:
    """Returns the index of the nearest old pixel for each new one."""
    scale = xp.float32(length) / xp.float32(new_length)
    positions = xp.floor((xp.arange(new_length, dtype=xp.float32) + xp.float32(0.5 if half else 0)) * scale)
    return xp.minimum(positions, length - 1).astype(xp.int64)


def linear(xp: Any, length: int, new_length: int, half: bool) -> Taps:
    """Returns the two neighbours of each new pixel."""
    positions = centers(xp, length, new_length, half)
    floor = xp.floor(positions)
    share = positions - floor
    indices = xp.stack([xp.maximum(floor, 0), xp.minimum(xp.ceil(positions), length - 1)], 1)
    return Taps(indices.astype(xp.int64), xp.stack([1 - share, share], 1))


def cubic(xp: Any, length: int, new_length: int, half: bool) -> Taps:
    """Returns the four neighbours of each new pixel; if `half`, those outside the image have weight 0."""
    positions = centers(xp, length, new_length, half)
    floor = xp.floor(positions)
    step = xp.rint((positions - floor) * _TABLE) / xp.float32(_TABLE)
    distances = xp.stack([step + 1, step, 1 - step, 2 - step], 1)
    indices = floor.astype(xp.int64)[:, None] + xp.arange(-1, 3)
    bounded = xp.clip(indices, 0, length - 1)
    if not half:
        return Taps(bounded, keys_cubic(xp, distances, -0.75))
    weights = xp.where(indices == bounded, keys_cubic(xp, distances), xp.float32(0))
    return Taps(bounded, _normalised(xp, weights))


def _normalised(xp: Any, weights: Any) -> Any:
    total = weights.sum(1, keepdims=True)
    return xp.where(abs(total) >= _SMALLEST_SUM, weights / xp.where(total == 0, 1, total), weights).astype(xp.float32)


def area(xp: Any, length: int, new_length: int, axis: int) -> Taps:
    """Returns the old pixels that each new one covers, weighted by the covered fraction, for either axis."""
    scale = xp.float32(length) / xp.float32(new_length)
    first = xp.arange(new_length, dtype=xp.float32) * scale
    last = xp.arange(1, new_length + 1, dtype=xp.float32) * scale
    count = int((xp.ceil(last) - xp.floor(first)).max())
    indices = xp.floor(first).astype(xp.int64)[:, None] + xp.arange(count)
    starts, ends = xp.maximum(indices, first[:, None]), xp.minimum(indices + 1, last[:, None])
    weights = xp.maximum(ends - starts, 0).astype(xp.float32) / scale
    return Taps(xp.clip(indices, 0, length - 1), weights)


# Kernels of `ScaleAndTranslate`: a radius, and the weight at a distance.


def _triangle(xp: Any, x: Any) -> Any:
    return xp.maximum(1 - abs(x), 0)


def keys_cubic(xp: Any, x: Any, a: float = -0.5) -> Any:
    """Returns the weights of Keys' cubic kernel at some distances; `a` is its sharpness."""
    x = abs(x)
    near, far = (((a + 2) * x - (a + 3)) * x) * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x >= 2, 0, xp.where(x >= 1, far, near)).astype(xp.float32)


def _mitchell_cubic(xp: Any, x: Any) -> Any:
    x = abs(x)
    near, far = ((7 / 6 * x - 2) * x) * x + 8 / 9, ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return xp.where(x >= 2, 0, xp.where(x >= 1, far, near))


def _gaussian(xp: Any, x: Any) -> Any:
    radius = 1.5
    sigma = radius / 3
    return xp.where(abs(x) >= radius, 0, xp.exp(-x * x / (2 * sigma * sigma)))


def _lanczos(radius: int) -> Callable[[Any, Any], Any]:
    def kernel(xp: Any, x: Any) -> Any:
        x = abs(x)
        safe = xp.where(x <= 1e-3, 1, x) * math.pi
        weights = radius * xp.sin(safe) * xp.sin(safe / radius) / (safe * safe)
        return xp.where(x > radius, 0, xp.where(x <= 1e-3, 1, weights))

    return kernel


KERNELS: dict[str, tuple[float, Callable[[Any, Any], Any]]] = {
    "triangle": (1.0, _triangle),
    "keyscubic": (2.0, keys_cubic),
    "mitchellcubic": (2.0, _mitchell_cubic),
    "gaussian": (1.5, _gaussian),
    "lanczos3": (3.0, _lanczos(3)),
    "lanczos5": (5.0, _lanczos(5)),
}
"""By name, the radius and the function that returns the weights at some distances."""


class Placing(NamedTuple):
    """The positions of new pixels among the old ones, and the weighting of their surroundings."""

    scale: tuple[float, float]
    """New pixels per old pixel, for rows and columns."""
    translation: tuple[float, float]
    """Offset of the image, in new pixels."""
    kernel: str
    antialias: bool


def spans(xp: Any, length: int, new_length: int, placing: Placing, axis: int) -> Taps:
    """Returns the old pixels within a kernel's radius around each new one; axis 0 is for rows."""
    radius, weigh = KERNELS[placing.kernel]
    inverse = xp.float32(1) / xp.float32(placing.scale[axis])
    width = max(float(inverse), 1.0) if placing.antialias else 1.0
    moved = -inverse * xp.float32(placing.translation[axis])
    sample = (xp.arange(new_length, dtype=xp.float32) + xp.float32(0.5)) * inverse + moved
    first = xp.clip(xp.ceil(sample - radius * width - 0.5), 0, length - 1).astype(xp.int64)
    last = xp.clip(xp.floor(sample + radius * width - 0.5), 0, length - 1).astype(xp.int64)
    indices = first[:, None] + xp.arange(int((last - first).max()) + 1)
    distances = (indices + xp.float32(0.5) - sample[:, None]) / width
    covers = (indices <= last[:, None]) & ((sample >= 0) & (sample <= length))[:, None]
    weights = xp.where(covers, weigh(xp, distances), 0).astype(xp.float32)
    return Taps(xp.clip(indices, 0, length - 1), _normalised(xp, weights))


# Along an axis


def mixed(xp: Any, array: Any, axis: int, taps: Taps) -> Any:
    """Returns an array resized along an axis."""
    shape = [1] * array.ndim
    shape[axis] = -1
    result: Any = 0
    for indices, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        result = result + xp.take(array, indices, axis) * weights.reshape(shape)
    return result


def spread(xp: Any, array: Any, axis: int, taps: Taps, length: int) -> Any:
    """Returns the gradient of an array of this length that `mixed` has resized along an axis."""
    rows = xp.moveaxis(array, axis, 0)
    shape = (-1,) + (1,) * (rows.ndim - 1)
    result = xp.zeros((length, *rows.shape[1:]), rows.dtype)
    for indices, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        result = joined_at(xp, xp.add, result, (indices,), rows * weights.reshape(shape), fresh=True)
    return xp.moveaxis(result, 0, axis)
