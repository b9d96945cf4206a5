"""How a convolution leaves out the zeros around images: for windows of which much lies outside, such as 5x5 on 7x7.

Each element of the window is multiplied with what it lies on, and the products are added up; nothing is laid out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.nn.windows import Pair, Steps, Window

MOST_INSIDE = 0.75
"""Where more of the windows lies inside, adding up costs more than is saved."""

FEWEST_CHANNELS = 32
"""For fewer channels the products are so small that calling them costs more."""

PLACES_AT_ONCE = 1024
"""Of some images: their results stay in a cache while they are added to."""


def _inside(length: int, steps: Steps, axis: int, w: Window) -> list[tuple[slice, slice]]:
    """Returns, for each element of the window along an axis, where it lies on the image: places and elements."""
    stride, slices = w.strides[axis], list[tuple[slice, slice]]()
    for number in range(w.size[axis]):
        ahead = number * w.dilations[axis] - steps.front
        first = max(0, -(ahead // stride))
        last = max(first, min(steps.windows, (length - 1 - ahead) // stride + 1))
        begin = first * stride + ahead
        slices.append((slice(first, last), slice(begin, begin + (last - first) * stride, stride)))
    return slices


def serves(xp: Any, images: Any, w: Window, steps: Pair) -> bool:
    """Returns whether much of what lies under windows are zeros around images, so that it pays to leave them out."""
    if images.shape[3] < FEWEST_CHANNELS or xp is not CPU.xp:
        return False
    share = 1.0
    for axis in (0, 1):
        slices = _inside(images.shape[1 + axis], steps[axis], axis, w)
        share *= sum(at.stop - at.start for at, _ in slices) / max(1, len(slices) * steps[axis].windows)
    return share <= MOST_INSIDE


def _element_by_element(images: Any, results: Any, w: Window, steps: Pair) -> Iterator[tuple[int, int, Any, Any]]:
    """Yields, for each element of the window and some of the images, what it lies on, and the results there: views."""
    rows, columns = (_inside(images.shape[1 + axis], steps[axis], axis, w) for axis in (0, 1))
    at_once = max(1, PLACES_AT_ONCE // max(1, prod(results.shape[1:3])))
    for start in range(0, len(images), at_once):
        some = slice(start, start + at_once)
        for i, (down, lines) in enumerate(rows):
            for j, (across, elements) in enumerate(columns):
                yield i, j, images[some, lines, elements], results[some, down, across]


def convolve(images: Any, filters: Any, w: Window, steps: Pair, target: Any) -> None:
    """Writes a convolution of images with zeros around them into `target`."""
    target[...] = 0
    for i, j, below, results in _element_by_element(images, target, w, steps):
        results += below.reshape(-1, below.shape[3]).dot(filters[i, j]).reshape(results.shape)


def filters_gradient(xp: Any, images: Any, back: Any, w: Window, steps: Pair) -> Any:
    """Returns the gradient of filters from that of their convolution."""
    total = xp.zeros((*w.size, images.shape[3], back.shape[3]), back.dtype)
    for i, j, below, results in _element_by_element(images, back, w, steps):
        total[i, j] += below.reshape(-1, below.shape[3]).T.dot(results.reshape(-1, results.shape[3]))
    return total
