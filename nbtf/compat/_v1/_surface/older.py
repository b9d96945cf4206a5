"""TensorFlow 1 names that were already deprecated then, or that query properties of graphs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import nbtf
from nbtf._graph.tensor import GraphTensor
from nbtf._types import DTypeLike, int32, int64
from nbtf.compat._v1._graph.defaults import building, get_default_graph, name_scope
from nbtf.compat._v1._surface.arranging import stack
from nbtf.compat._v1._surface.making import shape
from nbtf.compat._v1._surface.reductions import argmax, argmin
from nbtf.compat._v1._surface.scoping import inside, opened

_REGISTRY = (
    "nbtf has no registry of gradients. Define a gradient with tf.custom_gradient, or stop gradients with "
    "tf.stop_gradient."
)


def arg_max(input: Any, dimension: Any, output_type: DTypeLike = int64, name: str | None = None) -> Any:
    """Returns the indices of the largest elements along an axis.

    Args:
      input: tensor of real numbers.
      dimension: axis to search.
      output_type: int64 or int32.
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: DTypeLike = int64, name: str | None = None) -> Any:
    """Returns the indices of the smallest elements along an axis.

    Args:
      input: tensor of real numbers.
      dimension: axis to search.
      output_type: int64 or int32.
    """
    return argmin(input, dimension, name, output_type=output_type)


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> AbstractContextManager[str]:
    """Returns a name scope; `tf.name_scope` has the same arguments in another order.

    Args:
      values: inputs of the op inside the scope.
      name: name of the scope.
      default_name: name to use if `name` is None.
    """
    return name_scope(name, default_name, values)


def init_scope() -> AbstractContextManager[None]:
    """Returns a block that ignores the surrounding name scopes and control dependencies."""
    graph = building()
    return nullcontext() if graph is None else graph.outermost()


def container(container_name: str) -> AbstractContextManager[str]:
    """Does nothing, because the values of variables belong to their session.

    Args:
      container_name: accepted and ignored.
    """
    return get_default_graph().container(container_name)


def lin_space(start: Any, stop: Any, num: Any, name: str | None = None) -> Any:
    """Returns evenly spaced numbers.

    Args:
      start: first number.
      stop: last number.
      num: length of the sequence.
    """
    with opened("linspace", name):
        return nbtf.linspace(start, stop, num)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Selects elements from two tensors that broadcast; without them, returns the positions of true values.

    Args:
      condition: Boolean tensor.
      x: values where the condition is true.
      y: values where it is false.
    """
    with inside():
        return nbtf.where(condition, x, y, name)


def shape_n(input: Any, out_type: DTypeLike = int32, name: str | None = None) -> list[Any]:
    """Returns the shapes of several tensors, each as a tensor.

    Args:
      input: the tensors.
      out_type: int32 or int64.
    """
    with opened("ShapeN", name):
        return [shape(tensor, out_type=out_type) for tensor in input]


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Stacks tensors along a new first axis.

    Args:
      values: tensors with the same shape.
    """
    return stack(values, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Any:
    """Returns the tensor itself; nbtf does not use the promise that it is constant."""
    with inside():
        return nbtf.identity(input, name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Gathers elements or slices from each row by index.

    Args:
      params: any tensor.
      indices: indices for each row.

    Raises:
      ValueError: if `indices` is a scalar.
    """
    with inside():
        numbers, values = nbtf.convert_to_tensor(indices), nbtf.convert_to_tensor(params)
        batch_dims = len(numbers.shape) - 1
        if batch_dims < 0:
            raise ValueError("Argument `batch_dims` = -1 must be less than rank(`indices`) = 0")
        return nbtf.gather(values, numbers, batch_dims=batch_dims, axis=batch_dims, name=name)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Returns a dense tensor with given values at some positions and a default value elsewhere.

    Args:
      sparse_indices: positions: one index each, or a row of indices.
      output_shape: shape of the result.
      sparse_values: a value for each position, or one for all.
      default_value: value of all other elements.
      validate_indices: accepted and ignored.
    """
    with opened("SparseToDense", name) as scope:
        indices: Any = nbtf.convert_to_tensor(sparse_indices)
        if indices.shape.rank != 2:
            indices = nbtf.reshape(indices, [-1, 1])
        values: Any = nbtf.convert_to_tensor(sparse_values)
        if values.shape.rank == 0:
            values = nbtf.fill(shape(indices)[:1], values)
        ground = nbtf.fill(output_shape, nbtf.cast(nbtf.convert_to_tensor(default_value), values.dtype))
        return nbtf.tensor_scatter_nd_update(ground, indices, values, scope)


def is_symbolic_tensor(tensor: object) -> bool:
    """Returns whether an object is a graph tensor."""
    return isinstance(tensor, GraphTensor)


def executing_eagerly_outside_functions() -> bool:
    """Returns whether ops run eagerly."""
    return building() is None


def control_flow_v2_enabled() -> bool:
    """Returns True, because `tf.cond` and `tf.while_loop` always add a single node."""
    return True


def enable_control_flow_v2() -> None:
    """Does nothing, because `tf.cond` and `tf.while_loop` always add a single node."""


def disable_control_flow_v2() -> None:
    """Does nothing, because `tf.cond` and `tf.while_loop` always add a single node."""


def RegisterGradient(op_type: str) -> Callable[[Any], Any]:  # noqa: N802  # TensorFlow's name
    """Raises an error, because gradients of ops cannot be replaced.

    Args:
      op_type: op type.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"Cannot register a gradient for {op_type!r}. {_REGISTRY}")


def NotDifferentiable(op_type: str) -> NoReturn:  # noqa: N802  # TensorFlow's name
    """Raises an error, because an op's own definition determines whether gradients flow through it.

    Args:
      op_type: op type.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"Cannot remove the gradient of {op_type!r}. {_REGISTRY}")


NoGradient = NotDifferentiable
no_gradient = NotDifferentiable
