"""The open `control_dependencies` blocks of a graph, which determine what a new node waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nbtf._graph.operation import Operation


class ControlBlock:
    """One `control_dependencies` block: the nodes to wait for, and the nodes made inside, which already wait."""

    __slots__ = ("_inside", "waits_for")

    def __init__(self, waits_for: Sequence[Operation]) -> None:
        """Stores the nodes to wait for."""
        self.waits_for = tuple(waits_for)
        self._inside: set[Operation] = set()

    def covers(self, nodes: Iterable[Operation]) -> bool:
        """Returns whether one of the nodes was made inside the block and therefore already waits."""
        return not self._inside.isdisjoint(nodes)

    def take(self, node: Operation) -> None:
        """Records a node made inside the block."""
        self._inside.add(node)


def to_wait_for(blocks: Sequence[ControlBlock], inputs: Iterable[Operation]) -> list[Operation]:
    """Returns the nodes that a new node must wait for in addition to its inputs."""
    nodes = set(inputs)
    waited_for: dict[Operation, None] = {}
    for block in blocks:
        if not block.covers(nodes):
            waited_for.update(dict.fromkeys([node for node in block.waits_for if node not in nodes]))
    return list(waited_for)
