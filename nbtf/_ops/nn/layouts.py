"""Turns convolutions into matrix products, block by block, so that each layout stays in a cache.

Images are NHWC here. There are two layouts: the pixels under each window, per result, or the results that each pixel
contributed to, per pixel. The one with fewer channels is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from nbtf._devices.cpu import CPU
from nbtf._ops.nn import inside
from nbtf._ops.nn.windows import Pair, Steps, Window, cropped, padded, views

BLOCK_BYTES = 1 << 20
"""Size of a layout: half or double it was up to 10 % slower, with 1 MiB of second-level cache."""

BLOCK_BYTES_ON_GPU = 1 << 28
"""The same on a GPU, where the cost is the number of kernels."""

FEWEST_WINDOWS = 256
"""Minimum per block, even if the block gets larger, because each product reads all filters."""

SHORT = 16
"""Shorter contiguous runs are copied one window element at a time."""

Block = tuple[slice, slice]


def blocks(xp: Any, lengths: tuple[int, ...], numbers: int, itemsize: int) -> Iterator[Block]:
    """Yields slices of images and rows; `lengths` counts images, rows and columns, `numbers` a window's elements."""
    images, rows, columns = (max(1, length) for length in lengths)
    limit = BLOCK_BYTES if xp is CPU.xp else BLOCK_BYTES_ON_GPU
    windows = max(limit // (numbers * itemsize), FEWEST_WINDOWS)
    lines = max(1, windows // columns)
    at_once, lines = max(1, lines // rows), min(lines, rows)
    for first in range(0, images, at_once):
        for top in range(0, rows, lines):
            yield slice(first, min(first + at_once, lengths[0])), slice(top, min(top + lines, lengths[1]))


def under_windows(xp: Any, wide: Any, w: Window, rows: int, columns: int) -> Any:
    """Returns a view of the pixels under the window: [N, rows, columns, window height, window width, C]."""
    image, line, column, channel = wide.strides
    strides = image, line * w.strides[0], column * w.strides[1], line * w.dilations[0], column * w.dilations[1], channel
    shape = wide.shape[0], rows, columns, *w.size, wide.shape[3]
    return xp.lib.stride_tricks.as_strided(wide, shape, strides)


def _matrix(xp: Any, view: Any) -> Any:
    """Returns windows as the rows of a matrix."""
    windows, numbers = prod(view.shape[:3]), prod(view.shape[3:])
    if view.shape[4] * view.shape[5] < SHORT:
        return xp.ascontiguousarray(view.transpose(3, 4, 5, 0, 1, 2)).reshape(numbers, windows).T
    return view.reshape(windows, numbers)


# Layout per result


def convolve(xp: Any, wide: Any, filters: Any, w: Window, target: Any) -> None:
    """Writes the products of filters and windows into `target`, [N, rows, columns, filters]."""
    matrix = filters.reshape(-1, filters.shape[3])
    under = under_windows(xp, wide, w, *target.shape[1:3])
    whole = target.flags.c_contiguous
    for block in blocks(xp, target.shape[:3], len(matrix), wide.dtype.itemsize):
        results, windows = target[block], _matrix(xp, under[block])
        if whole:
            xp.dot(windows, matrix, out=results.reshape(-1, results.shape[3]))
        else:
            results[...] = windows.dot(matrix).reshape(results.shape)


def _filters_from_windows(xp: Any, wide: Any, back: Any, w: Window) -> Any:
    under = under_windows(xp, wide, w, *back.shape[1:3])
    numbers = prod(under.shape[3:])
    total = xp.zeros((numbers, back.shape[3]), back.dtype)
    for block in blocks(xp, back.shape[:3], numbers, back.dtype.itemsize):
        total += _matrix(xp, under[block]).T.dot(back[block].reshape(-1, back.shape[3]))
    return total.reshape(*w.size, wide.shape[3], back.shape[3])


def _images_from_windows(xp: Any, back: Any, filters: Any, w: Window, shape: tuple[int, ...]) -> Any:
    """Returns the sum of all windows' contributions to the images; `shape` includes the images' padding."""
    channels, wide = shape[3], xp.zeros(shape, back.dtype)
    across = w.size[1] * channels < SHORT
    matrix = filters.reshape(-1, filters.shape[3])
    for images, lines in blocks(xp, back.shape[:3], len(matrix), back.dtype.itemsize):
        results = back[images, lines]
        flat = results.reshape(-1, results.shape[3])
        if across:
            products = matrix.dot(flat.T).reshape(*w.size, channels, *results.shape[:3]).transpose(0, 1, 3, 4, 5, 2)
        else:
            products = flat.dot(matrix.T).reshape(*results.shape[:3], *w.size, channels).transpose(3, 4, 0, 1, 2, 5)
        below = wide[images, lines.start * w.strides[0] :]
        for i, j, view in views(below, w, Steps(results.shape[1], 0, 0), Steps(results.shape[2], 0, 0)):
            view += products[i, j]
    return wide


# Layout per pixel


class Phase(NamedTuple):
    """Pixels of an axis that the same window elements reach: every `stride`-th one from `start`.

    `first` is the first window element that reaches them, `taps` the number that do. `behind` is the position of the
    results that the last of them contributes to, counted from the first result; the results of the others follow.
    """

    start: int
    length: int
    first: int
    taps: int
    behind: int


def _phases(length: int, steps: Steps, axis: int, w: Window) -> list[Phase]:
    stride, dilation = w.strides[axis], w.dilations[axis]
    phases: list[Phase] = []
    for start in range(min(stride, length)):
        ahead, first = divmod(start + steps.front, stride)
        taps = len(range(first, w.size[axis], stride))
        phases.append(Phase(start, len(range(start, length, stride)), first, taps, ahead - (taps - 1) * dilation))
    return phases


def has_phases(w: Window) -> bool:
    """Returns whether window elements reach pixels in phases: false only with both strides and dilations."""
    return all(stride == 1 or dilation == 1 for stride, dilation in zip(w.strides, w.dilations, strict=True))


def empty_images(xp: Any, back: Any, w: Window, lengths: Pair, channels: int) -> Any:
    """Returns an array for the images' gradient, with zeros where the window skips pixels."""
    reached = all(size >= stride for size, stride in zip(w.size, w.strides, strict=True))
    return (xp.empty if reached else xp.zeros)((len(back), *lengths, channels), back.dtype)


def by_phases(xp: Any, back: Any, lengths: Pair, w: Window, steps: Pair) -> Iterator[tuple[Any, Any, Any, Window]]:
    """Yields slices of images and filters, the results that both contribute to, and their window."""
    by_axis = [_phases(lengths[axis], steps[axis], axis, w) for axis in (0, 1)]
    around: list[Steps] = []
    for axis, phases in enumerate(by_axis):
        ends = [phase.behind + (phase.taps - 1) * w.dilations[axis] + phase.length for phase in phases]
        front = max([0, *(-phase.behind for phase in phases)])
        around.append(Steps(0, front, max([0, *(end - back.shape[1 + axis] for end in ends)])))
    wide = padded(xp, back, *around)
    for row in by_axis[0]:
        for column in by_axis[1]:
            if row.taps and column.taps:
                begins = row.behind + around[0].front, column.behind + around[1].front
                phases = tuple(zip((row, column), w.strides, strict=True))
                images = slice(None), *(slice(phase.start, None, stride) for phase, stride in phases)
                filters = tuple(slice(phase.first, None, stride) for phase, stride in phases)
                small = Window((row.taps, column.taps), (1, 1), w.dilations, "VALID", False)
                yield images, filters, wide[:, begins[0] :, begins[1] :], small


def _images_by_phases(xp: Any, back: Any, filters: Any, w: Window, lengths: Pair, steps: Pair, target: Any) -> None:
    """Writes the gradient of images into `target`, an array from `empty_images`."""
    for images, taps, wide, small in by_phases(xp, back, lengths, w, steps):
        backwards = xp.ascontiguousarray(filters[taps][::-1, ::-1].transpose(0, 1, 3, 2))
        convolve(xp, wide, backwards, small, target[images])


def _filters_by_phases(xp: Any, images: Any, back: Any, w: Window, steps: Pair) -> Any:
    result = xp.zeros((*w.size, images.shape[3], back.shape[3]), back.dtype)
    for elements, taps, wide, small in by_phases(xp, back, images.shape[1:3], w, steps):
        backwards = _filters_from_windows(xp, wide, images[elements], small)
        result[taps] = backwards.transpose(0, 1, 3, 2)[::-1, ::-1]
    return result


# Choice of the cheaper algorithm


def _convolve_padded(xp: Any, images: Any, filters: Any, w: Window, steps: Pair, target: Any) -> None:
    """Writes the convolution of images with zero padding into `target`."""
    if inside.serves(xp, images, w, steps):
        inside.convolve(images, filters, w, steps, target)
    else:
        convolve(xp, padded(xp, images, *steps), filters, w, target)


def convolve_images(xp: Any, images: Any, filters: Any, w: Window, steps: Pair, target: Any) -> None:
    """Writes a convolution into `target`, [N, rows, columns, filters]."""
    outputs = filters.shape[3]
    if w.size != (1, 1) and 2 * outputs * w.strides[0] * w.strides[1] <= images.shape[3]:
        _add_up(xp, padded(xp, images, *steps), filters, w, target)
    else:
        _convolve_padded(xp, images, filters, w, steps, target)


def _add_up(xp: Any, wide: Any, filters: Any, w: Window, target: Any) -> None:
    """Convolves with a single product for all window elements, then sums its parts; for few filters."""
    matrix = filters.transpose(2, 0, 1, 3).reshape(filters.shape[2], -1)
    target[...] = 0
    for images, lines in blocks(xp, wide.shape[:3], matrix.shape[1], wide.dtype.itemsize):
        elements = wide[images, lines]
        products = (
            elements.reshape(-1, elements.shape[3]).dot(matrix).reshape(*elements.shape[:3], *w.size, filters.shape[3])
        )
        for i in range(w.size[0]):
            # Rows of results whose windows contain line i of these.
            above = i * w.dilations[0]
            top = max(0, -((above - lines.start) // w.strides[0]))
            bottom = min(target.shape[1], (lines.stop - 1 - above) // w.strides[0] + 1)
            if top < bottom:
                inside = Window((1, w.size[1]), w.strides, w.dilations, "VALID", False)
                rows = products[:, top * w.strides[0] + above - lines.start :, :, i]
                for _, j, view in views(rows, inside, Steps(bottom - top, 0, 0), Steps(target.shape[2], 0, 0)):
                    target[images, top:bottom] += view[:, :, :, j]


def images_gradient(xp: Any, back: Any, filters: Any, w: Window, lengths: Pair, steps: Pair) -> Any:
    """Returns the gradient of the images, given the gradient of their convolution."""
    channels, outputs = filters.shape[2:]
    if has_phases(w) and outputs <= 2 * channels:
        result = empty_images(xp, back, w, lengths, channels)
        around = _around(back, lengths, w, steps) if w.strides == (1, 1) else None
        if around is not None:
            backwards = xp.ascontiguousarray(filters[::-1, ::-1].transpose(0, 1, 3, 2))
            _convolve_padded(xp, back, backwards, w, around, result)
            return result
        _images_by_phases(xp, back, filters, w, lengths, steps, result)
        return result
    rows, columns = steps
    shape = (len(back), rows.front + lengths[0] + rows.back, columns.front + lengths[1] + columns.back, channels)
    return cropped(_images_from_windows(xp, back, filters, w, shape), rows, columns)


def _around(back: Any, lengths: Pair, w: Window, steps: Pair) -> Pair | None:
    """Returns the steps of the gradient's convolution, with reversed filters; None if it would crop."""
    around: list[Steps] = []
    for axis in (0, 1):
        reach = (w.size[axis] - 1) * w.dilations[axis]
        front = reach - steps[axis].front
        around.append(Steps(lengths[axis], front, lengths[axis] + reach - front - back.shape[1 + axis]))
    if min(around[0][1:] + around[1][1:]) < 0:
        return None
    return around[0], around[1]


def filters_gradient(xp: Any, images: Any, back: Any, w: Window, steps: Pair) -> Any:
    """Returns the gradient of the filters, given the gradient of their convolution."""
    if has_phases(w) and back.shape[3] < images.shape[3]:
        return _filters_by_phases(xp, images, back, w, steps)
    if inside.serves(xp, images, w, steps):
        return inside.filters_gradient(xp, images, back, w, steps)
    return _filters_from_windows(xp, padded(xp, images, *steps), back, w)
