"""The global step of a graph: the variable that counts the steps of a training."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from nbtf._types import int64
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._variables.initializers import Zeros
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import get_variable


def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, or None where it has none.

    Args:
      graph: by default the default one.

    Raises:
      TypeError: what has its name is no whole number, or no scalar.
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
    """Returns a new global step of a graph.

    Args:
      graph: by default the default one.

    Raises:
      ValueError: it has one.
    """
    owner = graph or get_default_graph()
    if get_global_step(owner) is not None:
        raise ValueError('"global_step" already exists.')
    with nullcontext() if building() is None else owner.inside(), owner.name_scope(None):
        keys = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP]
        return get_variable(GraphKeys.GLOBAL_STEP, [], int64, initializer=Zeros(), trainable=False, collections=keys)


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the global step of a graph, a new one where it has none."""
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Returns the number that the global step has in a session."""
    return int(sess.run(global_step_tensor))


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises `TypeError` if something cannot be a global step."""
    dtype, shape = global_step_tensor.dtype, global_step_tensor.shape
    if not dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    if shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
