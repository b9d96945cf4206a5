"""Helpers that all optimizers share: pairs of gradients and variables, settings, and the step counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._ops.structure import flatten
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.autodiff.tape import GradientTape
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._training.slots import is_of_graph
from nbtf.compat._v1._variables.assigning import assign_add
from nbtf.compat._v1._variables.initializers import Constant, Initializer, Ones, Zeros
from nbtf.compat._v1._variables.variable_classes import Variable

Pairs = Sequence[tuple[Any, Any]]


def count_step(step: Any, name: str) -> Operation:
    """Returns the node that increments the step counter."""
    with step.graph.inside():
        increment = setting(1, step.dtype.base_dtype, step.graph, "value")
    counting = (
        step.assign_add(increment, name=name, read_value=False)
        if is_of_graph(step)
        else assign_add(step, increment, name=name)
    )
    return counting.op if isinstance(counting, GraphTensor) else counting


def own_tensor(value: Any) -> Any:
    """Returns the output of a variable's node; other values are returned unchanged."""
    return value.op.outputs[0] if isinstance(value, Variable) else value


def graph_of(variable: Any) -> Graph | None:
    """Returns a variable's graph; None for an eager variable."""
    return variable.graph if is_of_graph(variable) else None


def key_of(variable: Any) -> Any:
    """Returns a hashable object that identifies a variable."""
    return variable.op if is_of_graph(variable) else id(variable)


def initializer_of(value: float) -> Initializer:
    """Returns an initializer for a constant value."""
    return Zeros() if value == 0.0 else Ones() if value == 1.0 else Constant(value)


def setting(value: Any, dtype: Any, graph: Graph | None, name: str) -> Any:
    """Returns a setting as a tensor with its own name."""
    if callable(value):
        value = value()
    if isinstance(value, GraphTensor | Tensor | Variable):
        return as_tensor(value)
    tensor = as_tensor(value, dtype)
    return tensor.called(name) if isinstance(tensor, GraphTensor) else tensor


def waiting_for_nothing(graph: Graph | None) -> AbstractContextManager[Any]:
    """Returns a block without control dependencies, in which slots are created."""
    return nullcontext() if graph is None else graph.control_dependencies(None)


def checked_pairs(pairs: Pairs) -> list[tuple[Any, Any]]:
    """Returns the pairs that have a gradient.

    Raises:
      ValueError: if no pair has a gradient.
      TypeError: if a gradient is not a tensor.
      NotImplementedError: if a variable is a tensor.
    """
    if not pairs:
        raise ValueError("No variables provided.")
    for grad, _ in pairs:
        if grad is not None and not isinstance(grad, GraphTensor | Tensor | IndexedSlices | Variable):
            try:
                as_tensor(grad)
            except (TypeError, ValueError):
                raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}") from None
    with_gradient = [(grad, variable) for grad, variable in pairs if grad is not None]
    if not with_gradient:
        raise ValueError(f"No gradients provided for any variable: {[str(variable) for _, variable in pairs]}.")
    for _, variable in with_gradient:
        if isinstance(variable, GraphTensor | Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
    return with_gradient


def pairs_by_tape(loss: Callable[[], Any], var_list: Any, grad_loss: Any) -> list[tuple[Any, Any]]:
    """Returns pairs of a gradient and its variable for the result of a function.

    Args:
      loss: function without arguments.
      var_list: the variables; by default all trainable ones that the function uses.
      grad_loss: initial gradient, with respect to the loss.

    Raises:
      RuntimeError: if ops build a graph.
      ValueError: if the list of variables is empty.
    """
    graph = building()
    if graph is not None:
        raise RuntimeError(
            "A loss function requires eager execution. Pass a tensor, or call `tf.enable_eager_execution()`."
        )
    with GradientTape() as tape:
        value = loss()
    chosen: list[Any] = list(tape.watched_variables()) if var_list is None else flatten(var_list)
    if not chosen:
        raise ValueError("No variables to optimize.")
    return list(zip(tape.gradient(value, chosen, grad_loss), chosen, strict=True))
