"""Finds the unique slices of a tensor along an axis, and the buckets that numbers belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.attributes import as_index_dtype, as_ints, of_integers
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import Dims, like_first
from nbtf._types import ALL, DType, float32, float64, int32, int64
from nbtf.errors import InvalidArgumentError


def _axis_of(shape: Sequence[int | None], axis: Any) -> int:
    """Returns the axis of the slices, given a list of one axis, or an empty list for a vector."""
    if len(axis) > 1:
        raise InvalidArgumentError("axis does not support input tensors larger than 1 elements")
    if not axis:
        if len(shape) != 1:
            raise InvalidArgumentError("unique expects a 1D vector.")
        return 0
    if not -len(shape) <= axis[0] < len(shape):
        raise InvalidArgumentError(f"axis has to be between [0, {len(shape)})")
    return axis[0] % len(shape)


def _distinct(xp: Any, x: Any, axis: Any, out_idx: Any) -> tuple[Any, Any, Any]:
    """Returns the unique slices in order of appearance, each slice's index among them, and their counts."""
    slice_axis = _axis_of(x.shape, axis)
    rows = xp.moveaxis(x, slice_axis, 0)
    count = len(rows)
    if rows.ndim == 1 or not rows.size:
        flat = rows if rows.ndim == 1 else xp.zeros(count, xp.int64)
    else:
        flat = _numbered(xp, rows.reshape(count, -1))
    _, first, inverse, counts = xp.unique(flat, True, True, True, equal_nan=False)
    order = xp.argsort(first)
    rank = xp.empty(order.shape, out_idx.np_dtype)
    rank[order] = xp.arange(order.size, dtype=out_idx.np_dtype)
    values = xp.ascontiguousarray(xp.moveaxis(rows[first[order]], 0, slice_axis))
    return values, rank[inverse.reshape(count)], counts[order].astype(out_idx.np_dtype)


def _numbered(xp: Any, rows: Any) -> Any:
    """Returns a number for each row, the same for equal rows."""
    numbers = xp.zeros(len(rows), xp.int64)
    for column in range(rows.shape[1]):
        _, inverse = xp.unique(rows[:, column], return_inverse=True, equal_nan=False)
        pairs = numbers * len(rows) + inverse.reshape(len(rows))
        _, numbers = xp.unique(pairs, return_inverse=True)
        numbers = numbers.reshape(len(rows))
    return numbers


_ATTRS: Any = {"host": {"axis": of_integers("Taxis", as_ints)}, "plain": {"out_idx": as_index_dtype}}


def _shapes(x: Any, **attrs: Any) -> list[Dims]:
    values = None if x.shape is None else (None,) * len(x.shape)
    return [values, (None,), (None,)]


def _shapes_without_counts(x: Any, **attrs: Any) -> list[Dims]:
    return _shapes(x)[:2]


@op("T -> T out_idx", T=ALL, data_dependent=True, partly=_shapes_without_counts, **_ATTRS)
def UniqueV2(xp: Any, x: Any, axis: Any, out_idx: Any) -> Any:
    return _distinct(xp, x, axis, out_idx)[:2]


@UniqueV2.infer
def _(x: Spec, axis: Any, out_idx: DType) -> list[Spec]:
    return _specs(x, axis, out_idx)[:2]


@op("T -> T out_idx out_idx", T=ALL, data_dependent=True, partly=_shapes, **_ATTRS)
def UniqueWithCountsV2(xp: Any, x: Any, axis: Any, out_idx: Any) -> Any:
    return _distinct(xp, x, axis, out_idx)


@UniqueWithCountsV2.infer
def _(x: Spec, axis: Any, out_idx: DType) -> list[Spec]:
    return _specs(x, axis, out_idx)


def _specs(x: Spec, axis: Any, out_idx: DType) -> list[Spec]:
    slice_axis = _axis_of(x.shape, axis)
    values = (*x.shape[:slice_axis], None, *x.shape[slice_axis + 1 :])
    return [Spec(values, x.dtype), Spec((x.shape[slice_axis],), out_idx), Spec((None,), out_idx)]


@op("T -> int32", T=frozenset({int32, int64, float32, float64}), partly=like_first)
def Bucketize(xp: Any, input: Any, boundaries: Sequence[float]) -> Any:
    edges = CPU.xp.asarray(list(boundaries), CPU.xp.float32)
    if (edges[1:] < edges[:-1]).any():
        raise InvalidArgumentError("Expected sorted boundaries")
    return xp.searchsorted(xp.asarray(edges), input.reshape(-1), "right").reshape(input.shape).astype(xp.int32)


@Bucketize.infer
def _(input: Spec, boundaries: Sequence[float]) -> Spec:
    return Spec(input.shape, int32)


no_gradient(UniqueV2, UniqueWithCountsV2, Bucketize)
