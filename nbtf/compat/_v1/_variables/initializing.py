"""Collections of graph variables, their initialization, and the global step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.gathering import boolean_mask
from nbtf._ops.arrays.joining import stack
from nbtf._ops.math.logic import logical_not
from nbtf._ops.variables.variable import Variable as EagerVariable
from nbtf._types import int64, string
from nbtf.compat._v1._graph.defaults import building, constant, get_default_graph
from nbtf.compat._v1._graph.grouping import group
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import get_variable
from nbtf.compat._v1._variables.variable import Variable

# Collections of variables


def global_variables(scope: str | None = None) -> list[Variable]:
    """Returns the default graph's global variables; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


all_variables = global_variables


def local_variables(scope: str | None = None) -> list[Variable]:
    """Returns the default graph's local variables; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Returns the default graph's trainable variables; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Returns the collection of model variables; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that have moving averages; with `scope`, only those with that name prefix."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


# Initialization


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation | None:
    """Returns a node that assigns the initial values of variables when it runs.

    Args:
      var_list: the variables.

    Returns:
      The node; None while ops run eagerly, because eager variables already have values.
    """
    if building() is None:
        return None
    initializers = [variable.initializer for variable in var_list]
    return group(*initializers, name=name)


def global_variables_initializer() -> Operation | None:
    """Returns a node that initializes all global variables of the default graph when it runs."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation | None:
    """Returns a node that initializes all local variables of the default graph when it runs."""
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Operation | None:
    """Returns a node that fills the lookup tables of the default graph when it runs."""
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


initialize_all_variables = global_variables_initializer
initialize_variables = variables_initializer
initialize_local_variables = local_variables_initializer

# Checks for initialization


def is_variable_initialized(variable: Variable | EagerVariable) -> GraphTensor:
    """Returns a Boolean tensor: whether the variable has a value in the session that runs the tensor."""
    if isinstance(variable, EagerVariable):
        return constant(True)
    with variable._graph_for_nodes().inside():
        return variable._is_initialized()


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> GraphTensor:
    """Returns a tensor with the names of variables that have no value in the session that runs it.

    Args:
      var_list: the variables to check; by default the global and local ones.
      name: prefix of the names of its nodes.
    """
    if building() is None:
        return constant([], string)
    variables = [*global_variables(), *local_variables()] if var_list is None else var_list
    graph = get_default_graph()
    with graph.inside(), graph.name_scope(name), graph.device("/cpu:0"):
        names: Any = constant([variable.op.name for variable in variables], string, shape=[len(variables)])
        if not variables:
            return names
        are_initialized: Any = stack([variable._is_initialized() for variable in variables])
        missing: Any = boolean_mask(names, logical_not(are_initialized))
        return missing


# The kind of new variables


def enable_resource_variables() -> None:
    """Makes `Variable` and `get_variable` create resource variables by default."""
    process().resource_variables = True


def disable_resource_variables() -> None:
    """Makes `Variable` and `get_variable` create reference variables by default, which is the initial setting."""
    process().resource_variables = False


def resource_variables_enabled() -> bool:
    """Returns whether resource variables are created by default."""
    return process().resource_variables


def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, or None if it has none.

    Args:
      graph: the graph; the default graph if None.

    Raises:
      TypeError: if the graph's variable of that name is not an integer scalar.
    """
    owner = graph or get_default_graph()
    steps = owner.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        return None
    if steps:
        step = steps[0]
    else:
        try:
            step = owner.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """Creates the global step of a graph and returns it.

    Args:
      graph: the graph; the default graph if None.

    Raises:
      ValueError: if the graph already has a global step.
    """
    owner = graph or get_default_graph()
    if get_global_step(owner) is not None:
        raise ValueError('"global_step" already exists.')
    with nullcontext() if building() is None else owner.inside(), owner.name_scope(None):
        keys = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP]
        return get_variable(GraphKeys.GLOBAL_STEP, [], int64, initializer=Zeros(), trainable=False, collections=keys)


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, which is created if the graph has none."""
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Returns the value of the global step in a session."""
    return int(sess.run(global_step_tensor))


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises `TypeError` unless the tensor can be a global step."""
    dtype, shape = global_step_tensor.dtype, global_step_tensor.shape
    if not dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    if shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
