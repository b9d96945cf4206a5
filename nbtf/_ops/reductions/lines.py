"""How elements are joined along axes that others follow: side by side in long lines, where NumPy has many short ones.

NumPy joins a matrix of few columns row by row, and begins anew with each: 100,000 rows of three numbers take thirty
times as long as these numbers in one row. So rows are joined side by side, as many as there will be such lines, and
what is left is joined once more. Sums come nearer the truth, as fewer numbers are added to each.
"""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.attributes import positive_axes

FEW = 1 << 13
"""Elements from which on it pays,"""
_FEW_ROWS = 256
"""and rows."""
_LINE = 1024
"""Elements of the longest line: what is added to stays in the nearest cache."""
_LEAST = 4
"""Rows side by side from which on it pays."""


def rows_side_by_side(rows: int, columns: int, matrices: int = 1) -> int:
    """Returns how many rows of each matrix are joined side by side with as many others; 1 where it does not pay."""
    if columns < 2 or matrices * rows < _FEW_ROWS or matrices * rows * columns < FEW:
        return 1
    count = min(_LINE // columns, isqrt(rows))
    return count if count >= _LEAST else 1


class RowSums:
    """The sums of a matrix's columns, of which the rows come block by block: to the bit what `join` gives at once."""

    def __init__(self, xp: Any, rows: int, columns: int, dtype: Any) -> None:
        """Begins at 0; blocks have a multiple of `beside` rows, but for the last."""
        self.beside = rows_side_by_side(rows, columns)
        self._xp, self._rest = xp, xp.empty((0, columns), dtype)
        self._sums = self._block = xp.zeros((self.beside, columns), dtype)

    def room(self, rows: int) -> Any:
        """Returns an array to write a block into, before `add` takes it."""
        self._block = self._xp.empty((self.beside + rows, self._sums.shape[1]), self._sums.dtype)
        self._block[: self.beside] = self._sums
        return self._block[self.beside :]

    def add(self) -> None:
        """Adds the block."""
        whole = len(self._block) // self.beside * self.beside
        self._sums = self._xp.add.reduce(self._block[:whole].reshape(-1, *self._sums.shape), 0)
        self._rest = self._block[whole:]

    def total(self) -> Any:
        """Returns the sums."""
        result = self._xp.add.reduce(self._sums, 0)
        return result + self._xp.add.reduce(self._rest, 0) if len(self._rest) else result


def join(
    xp: Any,
    ufunc: Any,
    array: Any,
    axis: int | tuple[int, ...] | None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Any:
    """Returns `ufunc.reduce` of an array along axes, for a ufunc that may take its elements in any order."""
    if axis is None or array.size < FEW or xp is not CPU.xp or not array.flags.c_contiguous:
        return ufunc.reduce(array, axis, dtype, None, keepdims)
    axes, shape = sorted(positive_axes(axis, array.ndim)), array.shape
    first, behind = (axes[0], axes[-1] + 1) if axes else (0, 0)
    rows, columns = prod(shape[first:behind]), prod(shape[behind:])
    beside = rows_side_by_side(rows, columns, prod(shape[:first])) if axes == [*range(first, behind)] else 1
    if beside == 1:
        return ufunc.reduce(array, axis, dtype, None, keepdims)
    matrices = array.reshape(-1, rows, columns)
    lines, length = rows // beside, beside * columns
    whole = matrices[:, : lines * beside].reshape(-1, lines, length)
    result = ufunc.reduce(ufunc.reduce(whole, 1, dtype).reshape(-1, beside, columns), 1, dtype)
    if lines * beside < rows:
        result = ufunc(result, ufunc.reduce(matrices[:, lines * beside :], 1, dtype))
    return result.reshape(*shape[:first], *(1,) * (len(axes) if keepdims else 0), *shape[behind:])
