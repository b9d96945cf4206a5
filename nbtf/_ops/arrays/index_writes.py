"""Reads and writes at array positions that may be repeated or out of range and cannot be checked first.

CPU kernels check positions and raise errors; on a GPU, that would mean waiting for the values. Like TensorFlow's GPU
kernels, these read zeros out of range and write nothing there. CuPy itself would wrap such positions around.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbtf._devices.cpu import CPU

_JOINED = frozenset(("i4", "i8", "u4", "u8", "f4", "f8"))
"""Dtypes that `add.at`, `maximum.at` and `minimum.at` support in CuPy 14.2; others are converted to one of them."""
_JOINED_AS = {"i1": "i4", "i2": "i4", "u1": "u4", "u2": "u4", "b1": "u4", "f2": "f4"}


def read_at(xp: Any, array: Any, columns: Sequence[Any]) -> Any:
    """Returns the slices at positions along an array's first axes; on a GPU, zeros for positions out of range.

    Args:
      xp: the array library.
      array: the array to read.
      columns: positions along each of these axes, all of the same shape.
    """
    if xp is CPU.xp or not columns:
        return array[(*columns, ...)]
    if 0 in array.shape[: len(columns)]:  # CuPy cannot read from an empty array
        shape = xp.broadcast(*columns).shape + array.shape[len(columns) :]
        return xp.zeros(shape, dtype=array.dtype)
    elements = array[(*columns, ...)]
    return _zero_outside(xp, elements, _inside(columns, array.shape), array.ndim - len(columns))


def take_rows(xp: Any, array: Any, numbers: Any, axis: int) -> Any:
    """Returns slices along an axis by index, zeros for those out of range; for GPUs only."""
    length = array.shape[axis]
    if not length:
        return xp.zeros(array.shape[:axis] + numbers.shape + array.shape[axis + 1 :], dtype=array.dtype)
    return _zero_outside(xp, array.take(numbers, axis), (numbers >= 0) & (numbers < length), array.ndim - axis - 1)


def _zero_outside(xp: Any, elements: Any, inside: Any, behind: int) -> Any:
    """Returns the elements, with zeros where `inside` is false; `behind` axes follow the axes of `inside`."""
    return xp.where(inside.reshape(inside.shape + (1,) * behind), elements, elements.dtype.type(0))


def written_at(xp: Any, array: Any, columns: Sequence[Any], updates: Any) -> Any:
    """Returns a copy of an array with slices replaced along its first axes; a GPU ignores positions out of range.

    Args:
      xp: the array library.
      array: the array to copy.
      columns: positions along each of these axes, all of the same shape.
      updates: the new slices. For a repeated position, NumPy keeps the last and a GPU any one of them.
    """
    if xp is CPU.xp or not columns:
        result = array.copy()
        result[(*columns, ...)] = updates
        return result
    rows, row = _with_a_spare_row(xp, array, columns)
    rows[row] = updates
    return rows[:-1].reshape(array.shape)


def joined_at(xp: Any, join: Any, array: Any, columns: Sequence[Any], updates: Any, fresh: bool = False) -> Any:
    """Returns a copy of an array combined with slices along its first axes; a GPU ignores positions out of range.

    Args:
      xp: the array library.
      join: `xp.add`, `xp.maximum` or `xp.minimum`.
      array: the array to copy.
      columns: positions along each of these axes, all of the same shape.
      updates: the slices to combine; a repeated position is combined with all of its slices.
      fresh: whether the array has no other references, so that no copy is needed; False by default.
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
    """Like `joined_at`, for any function of two arrays: processes one position after the other.

    Args:
      xp: the array library.
      join: function that combines a slice with its update.
      array: the array to copy.
      columns: positions along each of these axes, all of the same shape.
      updates: one slice per position, or one for all positions.
    """
    rows, row = _with_a_spare_row(xp, array, columns)
    inner = rows.shape[1:]
    values = xp.broadcast_to(updates, (*row.shape, *inner)).reshape(-1, *inner)
    for number, position in enumerate(row.ravel().tolist()):
        rows[position] = join(rows[position], values[number])
    return rows[:-1].reshape(array.shape)


def _inside(columns: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Returns which positions are within an array of this shape."""
    inside: Any = True
    for column, length in zip(columns, shape, strict=False):
        inside = inside & (column >= 0) & (column < length)
    return inside


def _with_a_spare_row(xp: Any, array: Any, columns: Sequence[Any]) -> tuple[Any, Any]:
    """Returns a copy with the first axes flattened and one spare row, and the rows to write.

    Writes that must be ignored go to the spare row.
    """
    lengths, inner = array.shape[: len(columns)], array.shape[len(columns) :]
    count, row = math.prod(lengths), columns[0].astype(xp.int64)
    for column, length in zip(columns[1:], lengths[1:], strict=True):
        row = row * length + column
    rows = xp.zeros((count + 1, *inner), dtype=array.dtype)
    rows[:-1] = array.reshape(count, *inner)
    return rows, xp.where(_inside(columns, lengths), row, count)
