"""Convolutions with 3x3 windows with 4 products instead of 9, for many channels and filters.

Each 2x2 block of results depends on 4x4 pixels. With sums and differences of these and of the filters, 16 matrix
products suffice, whereas laying out windows needs 36.

Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, F(2x2, 3x3).
"""

from __future__ import annotations

from math import prod
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.nn.windows import Window

FEWEST = 48
"""With fewer channels or filters, the sums cost more than is saved: 4 to 9 % slower with 32."""

FEWEST_PLACES = 512
"""With fewer window positions, the filters' sums dominate the cost."""


def serves(xp: Any, filters: Any, w: Window, target: Any) -> bool:
    """Returns whether a convolution is suitable; never on a GPU, where each kernel has a cost."""
    plain = w.size == (3, 3) and w.strides == w.dilations == (1, 1)
    return (
        plain
        and xp is CPU.xp
        and filters.dtype.kind == "f"
        and min(filters.shape[2:]) >= FEWEST
        and min(target.shape[1:3]) >= 2
        and prod(target.shape[:3]) >= FEWEST_PLACES
    )


def filters_in_16(xp: Any, filters: Any) -> Any:
    """Returns filters of shape [3, 3, channels, filters] as 16 matrices, [4, 4, channels, filters]."""
    for axis in (0, 1):
        first, middle, last = (xp.take(filters, number, axis) for number in range(3))
        outer = (first + last) / 2
        filters = xp.stack([first, outer + middle / 2, outer - middle / 2, last], axis)
    return filters


def convolve(xp: Any, tiles: Any, matrices: Any, target: Any) -> None:
    """Writes a convolution into `target`, [N, 2 * rows, 2 * columns, filters]; the images are 2 longer and wider."""
    images, rows, columns = len(target), target.shape[1] // 2, target.shape[2] // 2
    laid_out = xp.empty((4, 4, images, rows, columns, tiles.shape[3]), tiles.dtype)
    lines = [tiles[:, i : i + 2 * rows : 2] for i in range(4)]
    for i, line in enumerate((lines[0] - lines[2], lines[1] + lines[2], lines[2] - lines[1], lines[1] - lines[3])):
        first, second, third, fourth = (line[:, :, j : j + 2 * columns : 2] for j in range(4))
        xp.subtract(first, third, out=laid_out[i, 0])
        xp.add(second, third, out=laid_out[i, 1])
        xp.subtract(third, second, out=laid_out[i, 2])
        xp.subtract(second, fourth, out=laid_out[i, 3])
    products = xp.empty((*laid_out.shape[:-1], target.shape[3]), tiles.dtype)
    for i in range(4):
        for j in range(4):
            flat = laid_out[i, j].reshape(-1, tiles.shape[3])
            xp.dot(flat, matrices[i, j], out=products[i, j].reshape(-1, target.shape[3]))
    for i, line in enumerate(_joined(products)):
        for j, results in enumerate(_joined(line)):
            target[:, i::2, j::2] = results


def _joined(four: Any) -> tuple[Any, Any]:
    """Returns the two results that follow from four products along an axis."""
    return four[0] + four[1] + four[2], four[1] - four[2] - four[3]
