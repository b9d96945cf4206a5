"""The nodes of a whole graph as text: what `graph.as_graph_def()` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._graph.node_def import NodeDef, message_lines
from nbtf.version import GRAPH_DEF_VERSION


class GraphDef:
    """The nodes of a graph as text."""

    __slots__ = ("_producer", "node")

    def __init__(self, nodes: Sequence[Any] | None = None) -> None:
        self.node = [NodeDef(node) for node in nodes or ()]
        self._producer = None if nodes is None else GRAPH_DEF_VERSION

    def __repr__(self) -> str:
        lines = [line for node in self.node for line in message_lines("node", node.lines())]
        if self._producer is not None:
            lines += message_lines("versions", [f"producer: {self._producer}"])
        return "".join(f"{line}\n" for line in lines)
