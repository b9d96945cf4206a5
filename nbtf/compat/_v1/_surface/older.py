"""Names of TensorFlow 1 that were there for still older programs, or ask what graphs can tell."""

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
    "nbtf has one gradient for each op and no registry of others: write an op's own way back with tf.custom_gradient, "
    "or cut it off with tf.stop_gradient."
)


def arg_max(input: Any, dimension: Any, output_type: DTypeLike = int64, name: str | None = None) -> Any:
    """Finds the places of the largest elements along an axis.

    Args:
      input: real numbers.
      dimension: the axis.
      output_type: int64 or int32.
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input: Any, dimension: Any, output_type: DTypeLike = int64, name: str | None = None) -> Any:
    """Finds the places of the smallest elements along an axis.

    Args:
      input: real numbers.
      dimension: the axis.
      output_type: int64 or int32.
    """
    return argmin(input, dimension, name, output_type=output_type)


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> AbstractContextManager[str]:
    """Returns a name scope; `tf.name_scope` takes the same arguments in another order.

    Args:
      values: the tensors that an op is about to take.
      name: the scope's name.
      default_name: its name when `name` is None.
    """
    return name_scope(name, default_name, values)


def init_scope() -> AbstractContextManager[None]:
    """Forgets, inside a `with`, which nodes and name scopes stand around it."""
    graph = building()
    return nullcontext() if graph is None else graph.outermost()


def container(container_name: str) -> AbstractContextManager[str]:
    """Does nothing: values of variables belong to their session.

    Args:
      container_name: accepted and ignored.
    """
    return get_default_graph().container(container_name)


def lin_space(start: Any, stop: Any, num: Any, name: str | None = None) -> Any:
    """Returns numbers at equal distances.

    Args:
      start: the first.
      stop: the last.
      num: how many.
    """
    with opened("linspace", name):
        return nbtf.linspace(start, stop, num)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Chooses between two tensors that broadcast; without them, finds where the condition is true.

    Args:
      condition: bools.
      x: what is taken where it is true.
      y: what is taken elsewhere.
    """
    with inside():
        return nbtf.where(condition, x, y, name)


def shape_n(input: Any, out_type: DTypeLike = int32, name: str | None = None) -> list[Any]:
    """Returns the shapes of several tensors as tensors.

    Args:
      input: the tensors.
      out_type: int32 or int64.
    """
    with opened("ShapeN", name):
        return [shape(tensor, out_type=out_type) for tensor in input]


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Puts tensors beside each other along a new first axis.

    Args:
      values: tensors of one shape.
    """
    return stack(values, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Any:
    """Returns a tensor that never changes; nothing is made of that here."""
    with inside():
        return nbtf.identity(input, name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Collects parts of each row by their numbers.

    Args:
      params: any tensor.
      indices: the numbers, a row for each row.

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
    """Returns a tensor with values at some places, and one value elsewhere.

    Args:
      sparse_indices: the places: one number each, or a row of numbers.
      output_shape: the shape of the result.
      sparse_values: a value for each place, or one for all.
      default_value: what stands elsewhere.
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
    """Tells whether something is a tensor of a graph."""
    return isinstance(tensor, GraphTensor)


def executing_eagerly_outside_functions() -> bool:
    """Tells whether ops run at once."""
    return building() is None


def control_flow_v2_enabled() -> bool:
    """Returns True: `tf.cond` and `tf.while_loop` are one node each."""
    return True


def enable_control_flow_v2() -> None:
    """Does nothing: `tf.cond` and `tf.while_loop` are one node each in any case."""


def disable_control_flow_v2() -> None:
    """Does nothing: `tf.cond` and `tf.while_loop` are one node each in any case."""


def RegisterGradient(op_type: str) -> Callable[[Any], Any]:  # noqa: N802  # TensorFlow's name
    """Refuses: ops have one gradient each.

    Args:
      op_type: the type of the op.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"A gradient for {op_type!r}: {_REGISTRY}")


def NotDifferentiable(op_type: str) -> NoReturn:  # noqa: N802  # TensorFlow's name
    """Refuses: whether gradients flow through an op is part of the op.

    Args:
      op_type: the type of the op.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"No gradient for {op_type!r}: {_REGISTRY}")


NoGradient = NotDifferentiable
no_gradient = NotDifferentiable
