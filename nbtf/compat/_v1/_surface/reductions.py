"""Reductions with TensorFlow 1's arguments: `reduction_indices` and `keep_dims` besides `axis` and `keepdims`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbtf
from nbtf._types import DTypeLike, int64
from nbtf.compat._v1._surface.scoping import inside, opened

Reduction = Callable[..., Any]


def one_of(name: str, value: Any, older_name: str, older: Any) -> Any:
    """Returns the value of an argument that has two names.

    Raises:
      ValueError: if both are given.
    """
    if older is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{older_name}' and '{name}'.")
    return older


def _reduction(function: Callable[..., Any], scope: str | None = None) -> Reduction:
    """Returns a reduction that also accepts the older names of its arguments."""

    def reduce(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        axis = one_of("axis", axis, "reduction_indices", reduction_indices)
        keeps_axes = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
        if scope is None:
            with inside():
                return function(input_tensor, axis, keeps_axes, name)
        with opened(scope, name) as node_name:
            return function(input_tensor, axis, keeps_axes, node_name)

    reduce.__name__ = reduce.__qualname__ = function.__name__
    reduce.__doc__ = function.__doc__
    return reduce


reduce_all = _reduction(nbtf.reduce_all)
reduce_any = _reduction(nbtf.reduce_any)
reduce_max = _reduction(nbtf.reduce_max)
reduce_mean = _reduction(nbtf.reduce_mean)
reduce_min = _reduction(nbtf.reduce_min)
reduce_prod = _reduction(nbtf.reduce_prod)
reduce_sum = _reduction(nbtf.reduce_sum)
reduce_logsumexp = _reduction(nbtf.reduce_logsumexp, "ReduceLogSumExp")


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Any:
    """Counts the nonzero elements along axes; see `nbtf.math.count_nonzero`.

    Args:
      input_tensor: numbers, bools or strings.
      reduction_indices: older name of `axis`.
      keep_dims: older name of `keepdims`.

    Raises:
      ValueError: if an argument is given under both names.
    """
    values = one_of("input", input, "input_tensor", input_tensor)
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keeps_axes = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with opened("count_nonzero", name):
        return nbtf.math.count_nonzero(values, axis, keeps_axes, dtype)


def argmax(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: DTypeLike = int64
) -> Any:
    """Returns the indices of the largest elements along an axis; see `nbtf.argmax`.

    Args:
      dimension: older name of `axis`.

    Raises:
      ValueError: if both `axis` and `dimension` are given.
    """
    axis = one_of("axis", axis, "dimension", dimension)
    with inside():
        return nbtf.argmax(input, 0 if axis is None else axis, output_type, name)


def argmin(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: DTypeLike = int64
) -> Any:
    """Returns the indices of the smallest elements along an axis; see `nbtf.argmin`.

    Args:
      dimension: older name of `axis`.

    Raises:
      ValueError: if both `axis` and `dimension` are given.
    """
    axis = one_of("axis", axis, "dimension", dimension)
    with inside():
        return nbtf.argmin(input, 0 if axis is None else axis, output_type, name)
