"""Convolutions that skip the zeros around images, for windows with a large part outside, such as 5x5 on 7x7.

Each element of the window is multiplied with the pixels under it, and the products are summed without laying out the
windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.nn.windows import Pair, Steps, Window

MOST_INSIDE = 0.75
"""Limit: if more of the windows lies inside, summing costs more than skipping saves."""

FEWEST_CHANNELS = 32
"""With fewer channels, the products are so small that the call overhead dominates."""

PLACES_AT_ONCE = 1024
"""Numbers per group of images, so that their results stay in a cache during the summation."""


def _inside(length: int, steps: Steps, axis: int, w: Window) -> list[tuple[slice, slice]]:
    """Returns, for each window element along an axis, the positions at which it covers the image, and the pixels."""
    stride, slices = w.strides[axis], list[tuple[slice, slice]]()
    for number in range(w.size[axis]):
        ahead = number * w.dilations[axis] - steps.front
        first = max(0, -(ahead // stride))
        last = max(first, min(steps.windows, (length - 1 - ahead) // stride + 1))
        begin = first * stride + ahead
        slices.append((slice(first, last), slice(begin, begin + (last - first) * stride, stride)))
    return slices


def serves(xp: Any, images: Any, w: Window, steps: Pair) -> bool:
    """Returns whether so much of the windows lies on zeros around images that skipping them is faster."""
    if images.shape[3] < FEWEST_CHANNELS or xp is not CPU.xp:
        return False
    share = 1.0
    for axis in (0, 1):
        slices = _inside(images.shape[1 + axis], steps[axis], axis, w)
        share *= sum(at.stop - at.start for at, _ in slices) / max(1, len(slices) * steps[axis].windows)
    return share <= MOST_INSIDE


def _element_by_element(images: Any, results: Any, w: Window, steps: Pair) -> Iterator[tuple[int, int, Any, Any]]:
    """Yields, for each window element and group of images, views of the pixels under it and of the results there."""
    rows, columns = (_inside(images.shape[1 + axis], steps[axis], axis, w) for axis in (0, 1))
    at_once = max(1, PLACES_AT_ONCE // max(1, prod(results.shape[1:3])))
    for start in range(0, len(images), at_once):
        some = slice(start, start + at_once)
        for i, (down, lines) in enumerate(rows):
            for j, (across, elements) in enumerate(columns):
                yield i, j, images[some, lines, elements], results[some, down, across]


def convolve(images: Any, filters: Any, w: Window, steps: Pair, target: Any) -> None:
    """Writes the convolution of images with zero padding into `target`."""
    target[...] = 0
    for i, j, below, results in _element_by_element(images, target, w, steps):
        results += below.reshape(-1, below.shape[3]).dot(filters[i, j]).reshape(results.shape)


def filters_gradient(xp: Any, images: Any, back: Any, w: Window, steps: Pair) -> Any:
    """Returns the gradient of the filters, given the gradient of their convolution."""
    total = xp.zeros((*w.size, images.shape[3], back.shape[3]), back.dtype)
    for i, j, below, results in _element_by_element(images, back, w, steps):
        total[i, j] += below.reshape(-1, below.shape[3]).T.dot(results.reshape(-1, results.shape[3]))
    return total
