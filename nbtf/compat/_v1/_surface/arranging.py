"""Functions that rearrange elements, with TensorFlow 1's arguments such as `dim` and `squeeze_dims`."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf
from nbtf._graph.host_inputs import holds_tensors
from nbtf._ops.arrays.joining import Pack
from nbtf._ops.arrays.shapes import ConjugateTranspose, Transpose
from nbtf._runtime.conversion import as_tensor
from nbtf._types import DTypeLike, int32
from nbtf.compat._v1._surface.reductions import one_of
from nbtf.compat._v1._surface.scoping import inside, opened, tensor_called


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Adds an axis of length 1; see `nbtf.expand_dims`.

    Args:
      dim: older name of `axis`.

    Raises:
      ValueError: if both `axis` and `dim` are given, or neither.
    """
    position = one_of("axis", axis, "dim", dim)
    if position is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    with inside():
        return nbtf.expand_dims(input, position, name)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """Removes axes of length 1; see `nbtf.squeeze`.

    Args:
      squeeze_dims: older name of `axis`.

    Raises:
      ValueError: if both `axis` and `squeeze_dims` are given, or an axis is longer than 1.
    """
    with inside():
        return nbtf.squeeze(input, one_of("axis", axis, "squeeze_dims", squeeze_dims), name)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """Permutes the axes of a tensor; see `nbtf.transpose`."""
    with opened("transpose", name) as scope:
        values = as_tensor(a)
        return (ConjugateTranspose if conjugate else Transpose)(values, perm=perm, name=scope)


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Concatenates tensors along an axis; see `nbtf.concat`."""
    with inside() as graph:
        tensors = _list_values(values)
        if not graph or len(tensors) > 1:
            return nbtf.concat(tensors, axis, name)
    with opened("concat", name):
        tensor_called("concat_dim", axis, int32)
        return nbtf.identity(tensors[0], "concat")


def _list_values(values: Any) -> list[Any]:
    return [*values] if isinstance(values, (list, tuple)) else [values]


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Stacks tensors along a new axis; see `nbtf.stack`."""
    with inside() as graph:
        if graph and axis == 0 and not holds_tensors(values) and not isinstance(values, np.ndarray):
            try:
                return tensor_called(name, values)
            except (TypeError, ValueError):
                pass  # the list contains eager tensors
        if graph and holds_tensors(values):
            return Pack(_list_values(values), axis=axis, name=name)
        return nbtf.stack(values, axis, name)


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split") -> Any:
    """Splits a tensor along an axis; see `nbtf.split`."""
    with inside():
        return nbtf.split(value, num_or_size_splits, axis, num, name)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """Gathers slices of a tensor by index; see `nbtf.gather`."""
    with inside():
        return nbtf.gather(params, indices, validate_indices, batch_dims if axis is None else axis, batch_dims, name)


def reverse_v2(tensor: Any, axis: Any, name: str | None = None) -> Any:
    """Reverses a tensor along some of its axes.

    Args:
      tensor: any tensor.
      axis: list of axes.
    """
    with inside():
        return nbtf.reverse(tensor, axis, name)


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0) -> Any:
    """Adds elements around a tensor; see `nbtf.pad`."""
    with inside():
        return nbtf.pad(tensor, paddings, mode, constant_values, name)


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Any:
    """Returns the elements or slices of a tensor where a mask is true; see `nbtf.boolean_mask`."""
    with opened("boolean_mask", name):
        return nbtf.boolean_mask(tensor, mask, axis)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: DTypeLike | None = None, name: str = "range") -> Any:
    """Returns a sequence of numbers; see `nbtf.range`."""
    with inside():
        return nbtf.range(start, limit, delta, dtype, name)
