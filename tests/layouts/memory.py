"""Memory layouts: functions that return an array's elements at other addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def contiguous(array: Array) -> Array:
    """Returns a copy in C order."""
    return np.array(array, order="C")


def fortran(array: Array) -> Array:
    """Returns a copy in Fortran order, which owns its memory."""
    return np.array(array, order="F")


def transposed(array: Array) -> Array:
    """Returns a transposed view of a copy with rotated axes; from rank 3, it has neither C nor Fortran order."""
    if array.ndim < 2:
        return contiguous(array)[...]
    return np.moveaxis(np.array(np.moveaxis(array, 0, -1), order="C"), -1, 0)


def every_second(array: Array) -> Array:
    """Returns a view of every second element along each axis; the elements between have unexpected values."""
    wide = np.empty([2 * length for length in array.shape], array.dtype)
    wide[...] = array.flat[0] if array.size else 0
    view = wide[(*[slice(None, None, 2)] * array.ndim, ...)]
    view[...] = array
    return view


def backwards(array: Array) -> Array:
    """Returns a view with negative strides."""
    every_axis = (*[slice(None, None, -1)] * array.ndim, ...)
    return np.array(array[every_axis], order="C")[every_axis]


def broadcast(array: Array) -> Array:
    """Returns the first row repeated without using memory: its stride is 0."""
    return np.broadcast_to(contiguous(array[:1]), array.shape) if array.ndim else contiguous(array)[...]


def broadcast_columns(array: Array) -> Array:
    """Returns the first element of each row, repeated."""
    return np.broadcast_to(contiguous(array[..., :1]), array.shape) if array.ndim else contiguous(array)[...]


def offset(array: Array) -> Array:
    """Returns a view that begins after another element."""
    behind = np.empty(array.size + 1, array.dtype)
    behind[1:] = array.reshape(-1)
    return behind[1:].reshape(array.shape)


def unaligned(array: Array) -> Array:
    """Returns a view at an odd address; object references must be aligned, so strings only begin later."""
    if array.dtype == object:
        return offset(array)
    view = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    layout.__name__: layout
    for layout in (
        contiguous,
        fortran,
        transposed,
        every_second,
        backwards,
        broadcast,
        broadcast_columns,
        offset,
        unaligned,
    )
}


def rearranged(value: Any, change: Callable[[Array], Array]) -> Any:
    """Returns nested arguments with their arrays replaced."""
    if isinstance(value, np.ndarray):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)([rearranged(item, change) for item in value])
    return value


# Lengths

SHAPES: dict[str, Callable[[Array], Array]] = {
    "as written": lambda array: array,
    "scalar": lambda array: array.reshape(-1)[:1].reshape(()) if array.size else array,
    "no row": lambda array: array[:0] if array.ndim else array,
    "one row": lambda array: array[:1] if array.ndim else array,
    "no column": lambda array: array[..., :0] if array.ndim else array,
    "one column": lambda array: array[..., :1] if array.ndim else array,
}
"""The layouts for each array of a call. Arrays that do not fit raise the same error everywhere."""
