"""What programs ask of a graph now and then, and what nbtf does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from nbtf._graph.node_def import NodeDef, message_lines
from nbtf.version import GRAPH_DEF_VERSION


class Requests:
    """Rarer members of a graph."""

    def get_operations(self) -> list[Any]:
        """Returns the nodes."""
        raise NotImplementedError

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Returns the nodes in the form in which TensorFlow writes graphs.

        Args:
          from_version: leaves out the nodes that were there when `version` was this number.
          add_shapes: accepted and ignored.
        """
        return GraphDef(self.get_operations()[from_version or 0 :])

    def variable(self, **arguments: Any) -> Any:
        """Returns a variable of the graph, for `nbtf.Variable`; the resource kind, as in TensorFlow 2.

        Args:
          **arguments: those of `nbtf.Variable`.
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
        """Does nothing: values of variables belong to their session, and have no other container.

        Args:
          container_name: accepted and ignored.
        """
        return nullcontext(container_name)

    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> NoReturn:
        """Refuses: ops have one gradient each.

        Args:
          op_type_map: what would stand for the gradients of some ops.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "nbtf has one gradient for each op and no registry of others: write the op's own way back with "
            "tf.custom_gradient, or cut it off with tf.stop_gradient."
        )

    def create_op(self, op_type: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses: nodes are made by the functions of `tf`.

        Args:
          op_type: the type of the op.
          *args: what it would be made of.
          **kwargs: likewise.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"nbtf makes nodes by functions such as tf.add, not by their type ({op_type!r}).")


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
