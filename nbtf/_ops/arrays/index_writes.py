"""What happens at places of an array that come twice or lie outside, where nobody can look at them first.

On the CPU, kernels look and refuse; on a GPU that would wait for the values. TensorFlow's GPU kernels read zeros
outside and write nothing there, and so do these. CuPy by itself would count on from the other end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.cpu import CPU

_JOINED = frozenset(("i4", "i8", "u4", "u8", "f4", "f8"))
"""What CuPy's `add.at`, `maximum.at` and `minimum.at` take, asked of CuPy 14.2; others are joined as one of these."""
_JOINED_AS = {"i1": "i4", "i2": "i4", "u1": "u4", "u2": "u4", "b1": "u4", "f2": "f4"}


def read_at(xp: Any, array: Any, columns: Sequence[Any]) -> Any:
    """Returns the slices at places of an array's first axes; on a GPU zeros for the places outside.

    Args:
      xp: the array library.
      array: what is read.
      columns: positions for each of these axes, all of one shape.
    """
    if xp is CPU.xp or not columns:
        return array[(*columns, ...)]
    if 0 in array.shape[: len(columns)]:  # CuPy refuses to read where nothing is
        shape = xp.broadcast(*columns).shape + array.shape[len(columns) :]
        return xp.zeros(shape, dtype=array.dtype)
    elements = array[(*columns, ...)]
    return _zero_outside(xp, elements, _inside(columns, array.shape), array.ndim - len(columns))


def take_rows(xp: Any, array: Any, numbers: Any, axis: int) -> Any:
    """Returns slices along an axis by their numbers, zeros for those outside; for GPUs only."""
    length = array.shape[axis]
    if not length:
        return xp.zeros(array.shape[:axis] + numbers.shape + array.shape[axis + 1 :], dtype=array.dtype)
    return _zero_outside(xp, array.take(numbers, axis), (numbers >= 0) & (numbers < length), array.ndim - axis - 1)


def _zero_outside(xp: Any, elements: Any, inside: Any, behind: int) -> Any:
    """Returns what was found, with zeros where it was outside; `behind` axes follow those of `inside`."""
    return xp.where(inside.reshape(inside.shape + (1,) * behind), elements, elements.dtype.type(0))


def written_at(xp: Any, array: Any, columns: Sequence[Any], updates: Any) -> Any:
    """Returns a copy of an array with other slices at places of its first axes; on a GPU those outside are dropped.

    Args:
      xp: the array library.
      array: what is copied.
      columns: positions for each of these axes, all of one shape.
      updates: what is written. Of a place that comes twice NumPy keeps the last, a GPU any one.
    """
    if xp is CPU.xp or not columns:
        result = array.copy()
        result[(*columns, ...)] = updates
        return result
    rows, row = _with_a_spare_row(xp, array, columns)
    rows[row] = updates
    return rows[:-1].reshape(array.shape)


def joined_at(xp: Any, join: Any, array: Any, columns: Sequence[Any], updates: Any, fresh: bool = False) -> Any:
    """Returns a copy of an array, joined with slices at places of its first axes; on a GPU those outside are dropped.

    Args:
      xp: the array library.
      join: `xp.add`, `xp.maximum` or `xp.minimum`.
      array: what is copied.
      columns: positions for each of these axes, all of one shape.
      updates: what it is joined with; at a place that comes twice with both.
      fresh: nobody else has the array, so it need not be copied.
    """
    if xp is CPU.xp or not columns:
        result = array if fresh else array.copy()
        join.at(result, (*columns, ...), updates)
        return result
    rows, row = _with_a_spare_row(xp, array, columns)
    dtype = rows.dtype.str[1:]
    if rows.dtype.kind == "c":
        join.at(rows.real, row, updates.real)
        join.at(rows.imag, row, updates.imag)
    elif dtype in _JOINED:
        join.at(rows, row, updates)
    else:
        wide = rows.astype(_JOINED_AS[dtype])
        join.at(wide, row, updates.astype(wide.dtype))
        rows = wide.astype(rows.dtype)
    return rows[:-1].reshape(array.shape)


def folded_at(xp: Any, join: Any, array: Any, columns: Sequence[Any], updates: Any) -> Any:
    """Returns what `joined_at` returns, for any function of two arrays: one place after the other.

    Args:
      xp: the array library.
      join: returns what becomes of a slice and its update.
      array: what is copied.
      columns: positions for each of these axes, all of one shape.
      updates: what it is joined with, for each place or one for all.
    """
    rows, row = _with_a_spare_row(xp, array, columns)
    inner = rows.shape[1:]
    values = xp.broadcast_to(updates, (*row.shape, *inner)).reshape(-1, *inner)
    for number, position in enumerate(row.ravel().tolist()):
        rows[position] = join(rows[position], values[number])
    return rows[:-1].reshape(array.shape)


def _inside(columns: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Returns which places are in an array of that shape."""
    inside: Any = True
    for column, length in zip(columns, shape, strict=False):
        inside = inside & (column >= 0) & (column < length)
    return inside


def _with_a_spare_row(xp: Any, array: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
    """Returns a copy with the first axes made one, and one row more, and which of its rows to write.

    The spare row takes what must not be written.
    """
    lengths, inner = array.shape[: len(columns)], array.shape[len(columns) :]
    count, row = math.prod(lengths), columns[0].astype(xp.int64)
    for column, length in zip(columns[1:], lengths[1:], strict=True):
        row = row * length + column
    rows = xp.zeros((count + 1, *inner), dtype=array.dtype)
    rows[:-1] = array.reshape(count, *inner)
    return rows, xp.where(_inside(columns, lengths), row, count)
