"""Reductions along axes that are not the last, in long lines where NumPy would process many short ones.

NumPy reduces a matrix with few columns row by row, with an overhead for each row: 100,000 rows of three numbers take
30 times as long as the same numbers in one row. So several rows are placed side by side and reduced as one long line.
The result is then reduced once more. Sums are more precise, since each partial sum has fewer terms.
"""

from __future__ import annotations

from math import isqrt, prod
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.attributes import positive_axes

FEW = 1 << 13
"""Minimum number of elements for which long lines are faster."""
_FEW_ROWS = 256
"""Minimum number of rows for which long lines are faster."""
_LINE = 1024
"""Elements of the longest line: the partial sums stay in the first-level cache."""
_LEAST = 4
"""Minimum number of rows side by side for which long lines are faster."""


def rows_side_by_side(rows: int, columns: int, matrices: int = 1) -> int:
    """Returns the number of rows to place side by side; 1 if long lines would not be faster."""
    if columns < 2 or matrices * rows < _FEW_ROWS or matrices * rows * columns < FEW:
        return 1
    count = min(_LINE // columns, isqrt(rows))
    return count if count >= _LEAST else 1


def join(
    xp: Any,
    ufunc: Any,
    array: Any,
    axis: int | tuple[int, ...] | None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Any:
    """Returns `ufunc.reduce` of an array along axes, for a ufunc that may process elements in any order."""
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
