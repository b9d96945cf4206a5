"""`tf.group` and `tf.tuple`: nodes that wait for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._ops.arrays.identity import identity
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import building, get_default_graph, no_op
from nbtf.compat._v1._graph.session_graph import Abilities, Graph


def group(*inputs: Any, name: str | None = None) -> Operation | None:
    """Returns a node that only waits for others.

    The node is placed on the device of the nodes it waits for. If these are on several devices, each device gets a
    waiting node, and a further node waits for those.

    Args:
      *inputs: nodes, tensors and variables, and lists of them.

    Returns:
      The node; None while ops run eagerly.

    Raises:
      TypeError: if `inputs` contains anything else.
    """
    if building() is None:
        return None
    waited_for = _flat(inputs)
    for node in waited_for:
        if not hasattr(node, "device"):
            raise TypeError(
                f"'inputs' should be zero or more (nested) Tensors. Received '{node}' with type '{type(node)}'."
            )
    graph: Any = get_default_graph()
    if waited_for and not (hasattr(graph, "reaches") and graph.reaches(waited_for[0].graph)):
        graph = getattr(waited_for[0], "graph", graph)
    with graph.inside(), graph.name_scope(name or "group_deps") as scope:
        by_device: dict[str, list[Any]] = {}
        for node in waited_for:
            by_device.setdefault(node.device, []).append(node)
        if len(by_device) < 2:
            return _waiting(graph, waited_for, next(iter(by_device), ""), scope)
        nodes = [_waiting(graph, by_device[device], device, "NoOp") for device in sorted(by_device)]
        return _waiting(graph, nodes, "", scope)


def _waiting(graph: Graph, nodes: Sequence[Any], device: str, name: str) -> Operation:
    with graph.control_dependencies(nodes), graph.device(device):
        return no_op(name)


_SEQUENCES = (list, tuple)  # the function `tuple` below hides the class


def _flat(inputs: Any) -> list[Any]:
    if isinstance(inputs, Mapping):
        return _flat([inputs[key] for key in sorted(inputs)])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(inputs, _SEQUENCES):
        return [node for item in inputs for node in _flat(item)]  # pyright: ignore[reportUnknownVariableType]
    return [inputs]


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Returns tensors that are available only when all of them have been computed.

    Args:
      tensors: tensors; None values are kept.
      control_inputs: further nodes to wait for.
    """
    graph = building()
    if graph is None:
        return [*tensors]
    with graph.inside(), graph.name_scope(name or "tuple"):
        members: list[Any] = [None if value is None else as_tensor(value) for value in tensors]
        gate = group(*[member for member in members if member is not None], *(control_inputs or ()))
        with graph.control_dependencies([gate]):
            return [None if member is None else identity(member, "control_dependency") for member in members]


Abilities.group = group
