"""Looks up the nodes and tensors of a graph by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor

_FORM = 'Tensor names must be of the form "<op_name>:<output_index>".'


def element_of(obj: Any, graph: Any, nodes: Mapping[str, Operation], tensors: bool, operations: bool) -> Any:
    """Returns the tensor or node of a graph that an object refers to.

    Args:
      obj: a name, a tensor or a node.
      graph: the graph that it must belong to.
      nodes: the nodes of the graph by name.
      tensors: whether tensors are allowed.
      operations: whether nodes are allowed.

    Raises:
      TypeError: if `obj` is of another type.
      ValueError: if it is of a disallowed kind, belongs to another graph, or is not a valid name.
      KeyError: if the name does not exist.
    """
    types_allowed = " or ".join(
        [type_name for type_name, allowed in (("Tensor", tensors), ("Operation", operations)) if allowed]
    )
    if not types_allowed:
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    if isinstance(obj, bytes):
        obj = obj.decode()
    if isinstance(obj, str):
        if ":" not in obj:
            return _operation(obj, nodes, operations, types_allowed)
        if not tensors:
            raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not a {types_allowed}.")
        return _tensor(obj, nodes)
    if hasattr(obj, "_as_graph_element"):  # a variable
        obj = obj._as_graph_element()
    if (tensors and isinstance(obj, GraphTensor)) or (operations and isinstance(obj, Operation)):
        if obj.graph is not graph:
            type_name = "Tensor" if isinstance(obj, GraphTensor) else "Operation"
            raise ValueError(f"{type_name} {obj} is not an element of this graph.")
        return obj
    raise TypeError(f"Can not convert a {type(obj).__name__} into a {types_allowed}.")


def _tensor(name: str, nodes: Mapping[str, Operation]) -> GraphTensor:
    node_name, _, number = name.partition(":")
    if not number.isdecimal():
        raise ValueError(f"The name {name!r} looks a like a Tensor name, but is not a valid one. {_FORM}")
    missing = f"The name {name!r} refers to a Tensor which does not exist. The operation, {node_name!r}, "
    node = nodes.get(node_name)
    if node is None:
        raise KeyError(f"{missing}does not exist in the graph.")
    if int(number) >= len(node.outputs):
        raise KeyError(f"{missing}exists but only has {len(node.outputs)} outputs.")
    return node.outputs[int(number)]


def _operation(name: str, nodes: Mapping[str, Operation], allowed: bool, types_allowed: str) -> Operation:
    if not allowed:
        problem = "refers to an Operation" if name in nodes else "looks like an (invalid) Operation name"
        raise ValueError(f"The name {name!r} {problem}, not a {types_allowed}. {_FORM}")
    if name not in nodes:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return nodes[name]
