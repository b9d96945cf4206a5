"""Rarely used graph methods, and methods that nbtf does not support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from nbtf._graph.node_def import NodeDef, message_lines
from nbtf.version import GRAPH_DEF_VERSION


class Requests:
    """Rarely used methods of a graph."""

    def get_operations(self) -> list[Any]:
        """Returns the nodes of the graph."""
        raise NotImplementedError

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns the nodes in TensorFlow's text format for graphs.

        Args:
          from_version: number of nodes to skip, a former value of `version`.
          add_shapes: accepted and ignored.
        """
        return GraphDef(self.get_operations()[from_version or 0 :])

    def variable(self, **arguments: Any) -> Any:
        """Creates a variable of the graph for `nbtf.Variable`; a resource variable, as in TensorFlow 2.

        Args:
          **arguments: arguments of `nbtf.Variable`.
        """
        from nbtf.compat._v1._variables.variable_classes import ResourceVariable

        arguments.pop("experimental_enable_variable_lifting", None)
        return ResourceVariable(**arguments)

    def together(self, inputs: Sequence[Any], name: str | None) -> Any:
        """Returns a node that waits for others, for `nbtf.group`.

        Args:
          inputs: nodes, tensors, and lists of them.
        """
        from nbtf.compat._v1._graph.grouping import group

        return group(*inputs, name=name)

    def container(self, container_name: str) -> AbstractContextManager[str]:
        """Does nothing, because the values of variables belong to their session.

        Args:
          container_name: accepted and ignored.
        """
        return nullcontext(container_name)

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> NoReturn:
        """Raises an error, because gradients of ops cannot be replaced.

        Args:
          op_type_map: the requested replacements of gradients.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "nbtf has no registry of gradients. Define a gradient with tf.custom_gradient, or stop gradients with "
            "tf.stop_gradient."
        )

    def create_op(self, op_type: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises an error, because only the functions of `tf` create nodes.

        Args:
          op_type: op type.
          *args: further arguments.
          **kwargs: further arguments.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"nbtf cannot create nodes by type ({op_type!r}). Call functions such as tf.add.")


class GraphDef:
    """The nodes of a graph as text."""

    __slots__ = ("_producer", "node")

    def __init__(self, nodes: Sequence[Any] | None = None) -> None:
        self.node: list[NodeDef] = [NodeDef(node) for node in nodes or ()]
        self._producer = None if nodes is None else GRAPH_DEF_VERSION

    def __repr__(self) -> str:
        lines = [line for node in self.node for line in message_lines("node", node.lines())]
        if self._producer is not None:
            lines += message_lines("versions", [f"producer: {self._producer}"])
        return "".join(f"{line}\n" for line in lines)
