"""Tensors made from shapes and from other tensors: constants for small, known values, and nodes otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf
from nbtf._graph.host_inputs import holds_tensors
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import Fill, ZerosLike
from nbtf._ops.arrays.identity import Identity
from nbtf._ops.arrays.joining import Pack
from nbtf._ops.arrays.ranges import OneHot
from nbtf._ops.arrays.shapes import ConjugateTranspose, Rank, Shape, Size, Transpose
from nbtf._runtime.conversion import as_tensor, constant_of
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DType, DTypeLike, as_dtype, float32, int32, string
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.dimension import DimensionedShape
from nbtf.compat._v1._surface.scoping import inside, opened, tensor_called

_SMALL = 1000
"""Minimum size for `Fill` instead of a constant. Source: _constant_if_small in array_ops.py of TensorFlow 2.21."""


def convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Any:
    """Returns a value as a tensor; tensors are returned unchanged. See `nbtf.convert_to_tensor`.

    Args:
      preferred_dtype: dtype of the result if the value can be converted to it.

    Raises:
      TypeError: if a Python value cannot be converted to `dtype`.
      ValueError: if the value is a tensor with another dtype.
    """
    with inside():
        hint = dtype_hint if preferred_dtype is None else preferred_dtype
        tensor = nbtf.convert_to_tensor(_plain(value), dtype, hint)
        return tensor.called(name) if isinstance(tensor, GraphTensor) else tensor


def _plain(value: Any) -> Any:
    """Returns a shape as a list that can become a tensor."""
    if not isinstance(value, TensorShape):
        return value
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
    return value.as_list()


def _lengths(shape: Any) -> Any:
    """Returns a shape made of Python values as a list."""
    if isinstance(shape, nbtf.Tensor):
        return shape
    return _plain(TensorShape(DimensionedShape(shape.tolist() if hasattr(shape, "tolist") else shape)))


# Filled tensors


def zeros(shape: Any, dtype: DTypeLike = float32, name: str | None = None) -> Any:
    """Returns a tensor of zeros; see `nbtf.zeros`."""
    with opened("zeros", name) as scope:
        return _fill(shape, 0, as_dtype(dtype), scope)


def ones(shape: Any, dtype: DTypeLike = float32, name: str | None = None) -> Any:
    """Returns a tensor of ones; see `nbtf.ones`."""
    with opened("ones", name) as scope:
        return _fill(shape, 1, as_dtype(dtype), scope)


def _number(value: int, dtype: DType) -> Any:
    """Returns 0 or 1 in a form that has the dtype; for strings, the empty one."""
    return b"" if dtype is string else dtype.np_dtype.type(value)


def _fill(shape: Any, number: int, dtype: DType, scope: str | None) -> Any:
    value = _number(number, dtype)
    if scope is None:
        return nbtf.fill(_lengths(shape), as_tensor(value, dtype))
    if not holds_tensors(shape):
        lengths = _lengths(shape)
        if np.prod(lengths, dtype=np.int64) < _SMALL:
            constant: Any = constant_of(np.full(lengths, value, dtype.np_dtype), dtype)
            return constant.called(scope)
        shape = tensor_called("shape_as_tensor", lengths, int32)
    elif not isinstance(shape, GraphTensor):
        shape = nbtf.stack(shape, name="packed")
    return Fill(tensor_called("Const", value, dtype), dims=shape, name=scope)


def zeros_like(tensor: Any, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True) -> Any:
    """Returns a tensor of zeros with the shape of another tensor.

    Args:
      tensor: any tensor.
      dtype: dtype of the zeros; None for the tensor's dtype.
      optimize: whether a fully known shape produces a constant.
    """
    with opened("zeros_like", name) as scope:
        values = as_tensor(tensor)
        value_dtype = values._dtype if dtype is None else as_dtype(dtype)
        if scope is None:
            return nbtf.zeros_like(values, value_dtype)
        if optimize and values.shape.is_fully_defined():
            return _fill(values.shape, 0, value_dtype, scope)
        if value_dtype is values._dtype:
            return ZerosLike(values, name=scope)
        return _fill(Shape(values, out_type=int32), 0, value_dtype, scope)


def ones_like(tensor: Any, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True) -> Any:
    """Returns a tensor of ones with the shape of another tensor.

    Args:
      tensor: any tensor.
      dtype: dtype of the ones; None for the tensor's dtype.
      optimize: whether a fully known shape becomes a constant.
    """
    with opened("ones_like", name) as scope:
        values = as_tensor(tensor)
        value_dtype = values._dtype if dtype is None else as_dtype(dtype)
        if scope is None:
            return nbtf.ones_like(values, value_dtype)
        if optimize and values.shape.is_fully_defined():
            shape: Any = tensor_called("Shape/shape_as_tensor", values.shape.as_list(), int32)
        else:
            shape = Shape(values, out_type=int32)
        return Fill(tensor_called("Const", _number(1, value_dtype), value_dtype), dims=shape, name=scope)


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """Returns a tensor filled with one value; see `nbtf.fill`."""
    with inside():
        return nbtf.fill(_plain(dims), value, name)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """Returns one-hot rows; see `nbtf.one_hot`."""
    with opened("one_hot", name) as scope:
        if scope is None or not isinstance(depth, GraphTensor):
            return nbtf.one_hot(indices, depth, on_value, off_value, axis, dtype, scope)
        value_dtype = as_dtype(
            dtype or getattr(on_value, "dtype", None) or getattr(off_value, "dtype", None) or float32
        )
        on = as_tensor(1 if on_value is None else on_value, value_dtype)
        off = as_tensor(0 if off_value is None else off_value, value_dtype)
        return OneHot(indices, on, off, depth=depth, axis=-1 if axis is None else axis, name=scope)


def placeholder_with_default(input: Any, shape: ShapeLike, name: str | None = None) -> Any:
    """Returns a placeholder whose value defaults to `input`.

    Args:
      input: value for runs that feed none.
      shape: shape of the placeholder; None for lengths that may vary.
    """
    with inside():
        values = tensor_called("PlaceholderWithDefault/input", input)
        tensor = Identity(values, name=name or "PlaceholderWithDefault")
        if isinstance(tensor, GraphTensor):
            tensor._shape = TensorShape(DimensionedShape(shape))
        return tensor


# Measures of tensors


def shape(input: Any, name: str | None = None, out_type: DTypeLike = int32) -> Any:
    """Returns the shape of a tensor as a tensor; see `nbtf.shape`."""
    return _measure(input, Shape, name, out_type=as_dtype(out_type))


def size(input: Any, name: str | None = None, out_type: DTypeLike = int32) -> Any:
    """Returns the number of elements in a tensor as a tensor; see `nbtf.size`."""
    return _measure(input, Size, name, out_type=as_dtype(out_type))


def rank(input: Any, name: str | None = None) -> Any:
    """Returns the number of axes of a tensor as a tensor."""
    return _measure(input, Rank, name)


def _measure(value: Any, op: Any, name: str | None, **attrs: Any) -> Any:
    """Returns the shape, size or rank of a tensor; a constant if the graph knows it."""
    with inside() as graph:
        tensor = as_tensor(value)
        if not graph:
            return op(tensor, **attrs)
        is_known = tensor.shape.rank is not None if op is Rank else tensor.shape.is_fully_defined()
        if not is_known or not isinstance(tensor, GraphTensor):
            return op(tensor, name=name, **attrs)
        shape = tensor._shape
        measure: Any = {"Shape": shape.as_list(), "Rank": shape.rank, "Size": shape.num_elements()}[op.type]
        return tensor_called(name or op.type, measure, attrs.get("out_type", int32))


# Rearranged tensors


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


# Properties of tensors and graphs


def is_symbolic_tensor(tensor: object) -> bool:
    """Returns whether an object is a graph tensor."""
    return isinstance(tensor, GraphTensor)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the two seeds for a new random op; both are None if no seed is set.

    Args:
      op_seed: seed of the op itself.
    """
    if building() is None:
        return None, op_seed
    return get_default_graph().seeds_for(op_seed)
