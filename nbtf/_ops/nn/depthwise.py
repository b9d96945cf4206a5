"""Computes convolutions whose filters each process one channel.

Images are NHWC here and have as many channels as the results. If the window moves by one column, the numbers of a
line under one of its elements are contiguous, and NumPy's `einsum` multiplies and adds them in one pass. Otherwise,
and on a GPU, two passes are needed. They use blocks a quarter the size of those of `layouts`, which stay in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.nn.layouts import blocks, by_phases, empty_images
from nbtf._ops.nn.windows import Pair, Steps, Window, views

FEW = 1 << 14
"""With fewer results, `einsum` takes longer to start than to compute."""


def _in_one_pass(xp: Any, w: Window, results: Any) -> bool:
    return xp is CPU.xp and w.strides[1] == 1 and results.size >= FEW


def _lines(xp: Any, wide: Any, w: Window, rows: int, columns: int) -> Any:
    """Returns a view of the lines under each element of the window: [N, rows, height, width, columns * channels]."""
    image, line, column, channel = wide.strides
    strides = image, line * w.strides[0], line * w.dilations[0], column * w.dilations[1], channel
    shape = len(wide), rows, *w.size, columns * wide.shape[3]
    return xp.lib.stride_tricks.as_strided(wide, shape, strides)


def _beside(xp: Any, filters: Any, columns: int) -> Any:
    """Returns filters repeated per column, [height, width, columns, channels], so that image rows are one long run."""
    shape = *filters.shape[:2], columns, filters.shape[3]
    return xp.ascontiguousarray(xp.broadcast_to(filters, shape))


def _blocks(xp: Any, wide: Any, results: Any, w: Window) -> Iterator[tuple[Any, Any, Iterator[tuple[int, int, Any]]]]:
    """Yields blocks of results, a buffer of the same size, and the elements under each element of the window."""
    room: Any = None
    for images, lines in blocks(xp, results.shape[:3], 4 * results.shape[3], results.dtype.itemsize):
        block = results[images, lines]
        room = xp.empty(block.shape, results.dtype) if room is None else room
        below = wide[images, lines.start * w.strides[0] :]
        under = views(below, w, Steps(block.shape[1], 0, 0), Steps(block.shape[2], 0, 0))
        yield block, room[: block.shape[0], : block.shape[1]], under


def convolve(xp: Any, wide: Any, filters: Any, w: Window, target: Any) -> None:
    """Writes the convolution with filters of shape [height, width, 1, channels] into `target`."""
    factors = _beside(xp, filters, target.shape[2])
    if _in_one_pass(xp, w, target):
        lines = _lines(xp, wide, w, *target.shape[1:3])
        whole = target if target.flags.c_contiguous else xp.empty(target.shape, target.dtype)
        xp.einsum("nyijc,ijc->nyc", lines, factors.reshape(*w.size, -1), out=whole.reshape(*whole.shape[:2], -1))
        if whole is not target:
            target[...] = whole
        return
    for block, product, under in _blocks(xp, wide, target, w):
        for i, j, view in under:
            if i or j:
                xp.multiply(view, factors[i, j], out=product)
                xp.add(block, product, out=block)
            else:
                xp.multiply(view, factors[i, j], out=block)


def images_gradient(xp: Any, back: Any, filters: Any, w: Window, lengths: Pair, steps: Pair) -> Any:
    """Returns the images' gradient, given the convolution's, for windows for which `layouts.has_phases` is true."""
    result = empty_images(xp, back, w, lengths, back.shape[3])
    for images, taps, wide, small in by_phases(xp, back, lengths, w, steps):
        convolve(xp, wide, filters[taps][::-1, ::-1], small, result[images])
    return result


def filters_gradient(xp: Any, wide: Any, back: Any, w: Window) -> Any:
    """Returns the gradient of the filters."""
    if _in_one_pass(xp, w, back):
        lines = _lines(xp, wide, w, *back.shape[1:3])
        sums = xp.einsum("nyijc,nyc->ijc", lines, back.reshape(*back.shape[:2], -1))
        return xp.add.reduce(sums.reshape(*w.size, *back.shape[2:]), 2, keepdims=True)
    sums = xp.zeros((*w.size, *back.shape[2:]), back.dtype)
    for block, product, under in _blocks(xp, wide, back, w):
        for i, j, view in under:
            xp.multiply(view, block, out=product)
            sums[i, j] += xp.add.reduce(product, (0, 1))
    return xp.add.reduce(sums, 2, keepdims=True)
