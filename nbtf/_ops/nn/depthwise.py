"""How a convolution is computed whose filters see one channel each: element by element, a block at a time.

Images are NHWC here, and have as many channels as the results. NumPy multiplies and adds in two passes, over blocks of
a quarter of what `layouts` lays out, so that images, products and sums stay in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._ops.nn.layouts import blocks
from nbtf._ops.nn.windows import Steps, Window, views


def _beside(xp: Any, filters: Any, columns: int) -> Any:
    """Returns filters once for each column, [height, width, columns, channels]: rows of images become one long run."""
    shape = *filters.shape[:2], columns, filters.shape[3]
    return xp.ascontiguousarray(xp.broadcast_to(filters, shape))


def _blocks(xp: Any, wide: Any, results: Any, w: Window) -> Iterator[tuple[Any, Any, Iterator[tuple[int, int, Any]]]]:
    """Yields blocks of results, room for as many numbers, and what lies under each element of the window."""
    room: Any = None
    for images, lines in blocks(xp, results.shape[:3], 4 * results.shape[3], results.dtype.itemsize):
        block = results[images, lines]
        room = xp.empty(block.shape, results.dtype) if room is None else room
        below = wide[images, lines.start * w.strides[0] :]
        under = views(below, w, Steps(block.shape[1], 0, 0), Steps(block.shape[2], 0, 0))
        yield block, room[: block.shape[0], : block.shape[1]], under


def convolve(xp: Any, wide: Any, filters: Any, w: Window, target: Any) -> None:
    """Writes into `target` the sums of what lies under the window times filters, [height, width, 1, channels]."""
    factors = _beside(xp, filters, target.shape[2])
    for block, product, under in _blocks(xp, wide, target, w):
        for i, j, view in under:
            if i or j:
                xp.multiply(view, factors[i, j], out=product)
                xp.add(block, product, out=block)
            else:
                xp.multiply(view, factors[i, j], out=block)


def images_gradient(xp: Any, back: Any, filters: Any, w: Window, wide: Any) -> None:
    """Adds to `wide` what each result gives to the images, with their padding."""
    factors = _beside(xp, filters, back.shape[2])
    for block, product, under in _blocks(xp, wide, back, w):
        for i, j, view in under:
            xp.multiply(block, factors[i, j], out=product)
            xp.add(view, product, out=view)


def filters_gradient(xp: Any, wide: Any, back: Any, w: Window) -> Any:
    """Returns the gradient of the filters."""
    sums = xp.zeros((*w.size, *back.shape[2:]), back.dtype)
    for block, product, under in _blocks(xp, wide, back, w):
        for i, j, view in under:
            xp.multiply(view, block, out=product)
            sums[i, j] += xp.add.reduce(product, (0, 1))
    return xp.add.reduce(sums, 2, keepdims=True)
