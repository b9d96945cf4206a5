"""Ops that update parts of a variable; see resource.py for the common rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.index_writes import folded_at, joined_at, written_at
from nbtf._ops.arrays.indexing import Masks, numpy_key
from nbtf._ops.attributes import as_ints
from nbtf._ops.op import Op, no_gradient, op
from nbtf._ops.specs import bracketed, spec_of_first
from nbtf._types import ALL, FLOATS, NUMBERS, DType, int32, int64
from nbtf.errors import InvalidArgumentError

INDICES = frozenset({int32, int64})
ORDERED = FLOATS | INDICES
"""Dtypes with an order. Source: the registration of `ResourceScatterMax`."""


# begin, end and strides are plain attributes: TensorFlow reuses the tensors made for reading the slice.
@op(
    "T T -> T",
    T=ALL,
    plain={"begin": as_ints, "end": as_ints, "strides": as_ints},
    resource=True,
    shares_memory=True,
    infer=spec_of_first,
)
def ResourceStridedSliceAssign(
    xp: Any, resource: Any, value: Any, begin: Any, end: Any, strides: Any, masks: Masks
) -> Any:
    array, key = resource.copy(), numpy_key(begin, end, strides, masks)
    expected = array[key].shape
    while value.ndim > len(expected) and value.shape[0] == 1:  # TensorFlow drops leading axes of length 1
        value = value[0]
    try:
        array[key] = value
    except ValueError:
        text = f"Cannot broadcast input shape {bracketed(value.shape)} into final shape {bracketed(expected)}"
        raise InvalidArgumentError(text) from None
    return array


no_gradient(ResourceStridedSliceAssign)


def _scatter(type: str, join: Callable[..., Any], dtypes: frozenset[DType]) -> Op:
    """Returns an op that joins updates to elements; with `Nd` in its type, positions have an axis, otherwise rows."""
    index = _index_columns if "Nd" in type else _rows

    def kernel(xp: Any, resource: Any, indices: Any, updates: Any) -> Any:
        return join(xp, resource, index(xp, resource, indices, updates), updates)

    kernel.__name__ = type
    record = op("T I T -> T", T=dtypes, I=INDICES, resource=True, shares_memory=True, infer=spec_of_first)(kernel)
    no_gradient(record)
    return record


def _joined(function: str) -> Callable[..., Any]:
    """Returns a join that applies a function of NumPy and CuPy to old elements and updates."""

    def join(xp: Any, array: Any, key: Any, updates: Any) -> Any:
        is_here = xp is CPU.xp or function in ("add", "maximum", "minimum")  # CuPy has no other `at`
        return (joined_at if is_here else folded_at)(xp, getattr(xp, function), array, key, updates)

    return join


def _subtracted(xp: Any, array: Any, key: Any, updates: Any) -> Any:
    return joined_at(xp, xp.add, array, key, -updates)


def _divided(xp: Any, array: Any, key: Any, updates: Any) -> Any:
    if array.dtype.kind in "fc":
        return _joined("true_divide")(xp, array, key, updates)
    if xp is CPU.xp and not updates.all():
        raise InvalidArgumentError("Integer division by zero")
    return folded_at(xp, partial(_divided_towards_zero, xp), array, key, updates)


def _divided_towards_zero(xp: Any, numbers: Any, divisors: Any) -> Any:
    """Returns integer quotients truncated towards zero, as in C++."""
    return (xp.sign(numbers) * xp.sign(divisors) * (abs(numbers) // abs(divisors))).astype(numbers.dtype)


def _index_columns(xp: Any, array: Any, indices: Any, updates: Any) -> tuple[Any, ...]:
    """Returns the index into an array: the last axis of `indices` is a position along the array's first axes."""
    if indices.ndim < 2:
        indices = indices.reshape(-1, 1)  # a vector lists positions along the first axis
    outer, depth = indices.shape[:-1], indices.shape[-1]
    _check_updates(array, indices, updates, outer, depth)
    limits = xp.asarray(array.shape[:depth], indices.dtype) if xp is CPU.xp else None
    wrong = None if limits is None else ((indices < 0) | (indices >= limits)).any(-1).ravel()
    if wrong is not None and wrong.any():
        at = int(wrong.argmax())
        position = ",".join(str(int(i)) for i in indices.reshape(-1, depth)[at])
        raise InvalidArgumentError(f"indices[{at}] = [{position}] does not index into shape {bracketed(array.shape)}")
    return tuple(indices[..., i] for i in range(depth))


def _check_updates(array: Any, indices: Any, updates: Any, outer: tuple[int, ...], depth: int) -> None:
    n = len(outer)
    if updates.shape[:n] != outer:
        indices_text = f"indices[shape={bracketed(indices.shape)}] = {math.prod(outer)}"
        updates_text = f"updates[shape={bracketed(updates.shape)}] = {math.prod(updates.shape[:n])}"
        text = f"Dimensions [0,{n}) of {indices_text} must match dimensions [0,{n}) of {updates_text}"
        raise InvalidArgumentError(text)
    if depth > array.ndim or updates.shape[n:] != array.shape[depth:]:
        raise InvalidArgumentError(
            f"Dimensions [{depth},{array.ndim}) of input[shape={bracketed(array.shape)}] "
            f"must match dimensions [{depth},{updates.ndim}) of updates[shape={bracketed(updates.shape)}]"
        )


def _rows(xp: Any, array: Any, indices: Any, updates: Any) -> tuple[Any]:
    """Returns `indices` after checking that the updates fit them and, on the CPU, that they are rows of the array."""
    if updates.ndim and updates.shape != indices.shape + array.shape[1:]:
        raise InvalidArgumentError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
            f"updates.shape {bracketed(updates.shape)}, indices.shape {bracketed(indices.shape)}, "
            f"params.shape {bracketed(array.shape)}"
        )
    wrong = ((indices < 0) | (indices >= array.shape[0])).ravel() if xp is CPU.xp else None
    if wrong is not None and wrong.any():
        at = int(wrong.argmax())
        value = int(indices.ravel()[at])
        raise InvalidArgumentError(f"indices[{at}] = {value} is not in [0, {array.shape[0]})")
    return (indices,)


ResourceScatterNdUpdate = _scatter("ResourceScatterNdUpdate", written_at, ALL)
ResourceScatterNdAdd = _scatter("ResourceScatterNdAdd", _joined("add"), NUMBERS)
ResourceScatterNdSub = _scatter("ResourceScatterNdSub", _subtracted, NUMBERS)
ResourceScatterNdMax = _scatter("ResourceScatterNdMax", _joined("maximum"), ORDERED)
ResourceScatterNdMin = _scatter("ResourceScatterNdMin", _joined("minimum"), ORDERED)
ResourceScatterUpdate = _scatter("ResourceScatterUpdate", written_at, ALL)
ResourceScatterAdd = _scatter("ResourceScatterAdd", _joined("add"), NUMBERS)
ResourceScatterSub = _scatter("ResourceScatterSub", _subtracted, NUMBERS)
ResourceScatterMax = _scatter("ResourceScatterMax", _joined("maximum"), ORDERED)
ResourceScatterMin = _scatter("ResourceScatterMin", _joined("minimum"), ORDERED)
ResourceScatterMul = _scatter("ResourceScatterMul", _joined("multiply"), NUMBERS)
ResourceScatterDiv = _scatter("ResourceScatterDiv", _divided, NUMBERS)
