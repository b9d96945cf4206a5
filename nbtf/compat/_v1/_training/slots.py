"""Slots: the variables that an optimizer keeps for each trained variable."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from nbtf._ops.arrays.creation import fill
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._variables.initializers import Initializer
from nbtf.compat._v1._variables.scopes import get_variable, get_variable_scope, variable_scope
from nbtf.compat._v1._variables.variable_classes import ResourceVariable, Variable


def is_of_graph(variable: Any) -> bool:
    """Returns whether a variable belongs to a graph."""
    return isinstance(variable, Variable)


def beside(variable: Any) -> AbstractContextManager[Any]:
    """Returns the block in which nodes that belong to a variable are created."""
    return variable.graph.colocate_with(variable.op) if is_of_graph(variable) else nullcontext()


def full_slot(variable: Any, value: float, initializer: Initializer, name: str) -> Any:
    """Returns a new variable with the shape and device of another one.

    Args:
      variable: the other variable.
      value: value of all elements.
      initializer: creates such a value in a graph.
      name: suffix of the name: `w/Adam`, and `w/Adam_1` for the second slot.
    """
    if not is_of_graph(variable):
        start = fill(variable.shape, as_tensor(value, variable.dtype))
        return EagerVariable(start, trainable=False, name=f"{_plain(variable)}/{name}")
    with variable_scope(None, f"{variable.op.name}/{name}"), beside(variable):
        return _slot(variable, initializer=initializer, shape=variable.shape)


def slot_of(variable: Any, value: Any, name: str) -> Any:
    """Returns a new slot of a variable with its own initial value; see `full_slot`."""
    if not is_of_graph(variable):
        return EagerVariable(value, trainable=False, name=f"{_plain(variable)}/{name}")
    with variable_scope(None, f"{variable.op.name}/{name}"), beside(variable):
        return _slot(variable, initializer=value)


def _slot(variable: Any, **arguments: Any) -> Any:
    scope = get_variable_scope()
    regularizer = scope.regularizer
    scope.set_regularizer(None)
    try:
        return get_variable(
            "",
            dtype=variable._dtype,
            trainable=False,
            use_resource=isinstance(variable, ResourceVariable),
            **arguments,
        )
    finally:
        scope.set_regularizer(regularizer)


def _plain(variable: Any) -> str:
    return variable.name.partition(":")[0]
