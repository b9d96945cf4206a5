"""The first value of a variable as a tensor of the graph, and the shape it gives the variable."""

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
    """Returns a tensor of a value; a constant of Python's or NumPy's is called `initial_value`.

    Raises:
      TypeError: the value does not suit `dtype`.
      ValueError: it is a tensor of another one.
    """
    if isinstance(value, Tensor):
        value = value.numpy()
    if hasattr(value, "__tf_tensor__"):
        try:
            return _of_graph(as_tensor(value, dtype))
        except ValueError as error:
            raise ValueError(f"initial_value: {error}") from None
    if isinstance(value, list | tuple) and not leaf_types(value) <= frozenset(DEFAULT_OF):
        return _of_graph(as_tensor(value, dtype))  # tensors among them
    return constant(value, dtype, name="initial_value")


def _of_graph(tensor: Any) -> GraphTensor:
    return tensor


def initial_within(graph: Graph, value: Any, dtype: DType | None, variable: str) -> GraphTensor:
    """Returns the tensor of a value that is made for one variable, in its scope and on its device."""
    with graph.grouped_with(variable), graph.name_scope("Initializer"), graph.device(None):
        return initial_tensor(value() if callable(value) else value, dtype)


def shape_of(value: GraphTensor, explicit_shape: Any, validate: bool) -> TensorShape:
    """Returns the shape of a variable with this initial value.

    Raises:
      ValueError: it is not known, or does not suit the one asked for.
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
