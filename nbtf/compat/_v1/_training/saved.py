"""The variables of a saver and their names in files, and access to their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._storage.archives import storable
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.variable_classes import Variable


def named_variables(variables: Sequence[Any] | Mapping[str, Any] | None, graph: Graph | None) -> dict[str, Any]:
    """Returns a dictionary of names in files and variables.

    Args:
      variables: variables, or a dictionary of them; None for all global variables of the graph.
      graph: the default graph; None while ops run eagerly.

    Raises:
      RuntimeError: if no variables are given while ops run eagerly.
      ValueError: if two variables have the same name.
      TypeError: if an item is not a variable.
    """
    if variables is None:
        if graph is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
            )
        keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
        variables = [variable for key in keys for variable in graph.get_collection(key)]
    pairs = (
        variables.items()
        if isinstance(variables, Mapping)
        else [(_name_of(variable), variable) for variable in variables]
    )
    by_name: dict[str, Any] = {}
    for name, variable in sorted(pairs, key=lambda pair: pair[0]):
        if not isinstance(variable, Variable | EagerVariable):
            text = "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
            raise TypeError(f"{text}{variable}")
        if name in by_name or (isinstance(variable, Variable) and variable in by_name.values()):
            raise ValueError(f"At least two variables have the same name: {name}")
        by_name[name] = variable
    return by_name


def _name_of(variable: Any) -> str:
    return variable.op.name if isinstance(variable, Variable) else variable.name.partition(":")[0]


def value_of(variable: Any, session: Any) -> np.ndarray[Any, Any]:
    """Returns a variable's value in a session; strings as bytes."""
    return storable(session.run(variable) if isinstance(variable, Variable) else variable.numpy())


def put_value(variable: Any, value: np.ndarray[Any, Any], session: Any) -> None:
    """Sets a variable's value in a session."""
    if not isinstance(variable, Variable):
        variable.assign(value)
        return
    initializer = variable.initializer
    session.run(initializer, {initializer.inputs[1]: value})
