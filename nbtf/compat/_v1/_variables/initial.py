"""The initial value of a variable as a graph tensor, and the variable's shape."""

from __future__ import annotations

from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.host_values import DEFAULT_OF, leaf_types
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.compat._v1._graph.defaults import constant
from nbtf.compat._v1._graph.graph import Graph


def initial_tensor(value: Any, dtype: DType | None) -> GraphTensor:
    """Returns a value as a graph tensor; constants from Python or NumPy are named `initial_value`.

    Raises:
      TypeError: if the value cannot be converted to `dtype`.
      ValueError: if the value is a tensor with another dtype.
    """
    if isinstance(value, Tensor):
        value = value.numpy()
    if hasattr(value, "__tf_tensor__"):
        try:
            return _of_graph(as_tensor(value, dtype))
        except ValueError as error:
            raise ValueError(f"initial_value: {error}") from None
    if isinstance(value, list | tuple) and not leaf_types(value) <= frozenset(DEFAULT_OF):
        return _of_graph(as_tensor(value, dtype))  # includes graph tensors
    return constant(value, dtype, name="initial_value")


def _of_graph(tensor: Any) -> GraphTensor:
    return tensor


def initial_within(graph: Graph, value: Any, dtype: DType | None, variable: str) -> GraphTensor:
    """Returns a value as a tensor that is created in a variable's scope and on its device."""
    with graph.grouped_with(variable), graph.name_scope("Initializer"), graph.device(None):
        return initial_tensor(value() if callable(value) else value, dtype)


def shape_of(value: GraphTensor, explicit_shape: Any, validate: bool) -> TensorShape:
    """Returns the shape of a variable with the given initial value.

    Raises:
      ValueError: if the shape is unknown, or incompatible with `explicit_shape`.
    """
    if explicit_shape is not None:
        shape = TensorShape(explicit_shape)
        if not shape.is_compatible_with(value.shape):
            raise ValueError(
                f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible with "
                f"the explicitly supplied `shape` argument ({explicit_shape})."
            )
        return shape
    if not validate:
        return value.shape if value.shape.is_fully_defined() else TensorShape(None)
    if not value.shape.is_fully_defined():
        raise ValueError(f"initial_value must have a shape specified: {value}")
    return value.shape
