"""The operations between symbolic inputs and outputs, and the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf.keras.operation import Node, node_of


class Between(NamedTuple):
    """The operations between inputs and outputs."""

    nodes: list[Node]
    """The nodes in the order in which they run."""
    operations: list[Any]
    """Each operation once, in display order."""


def between(inputs: Sequence[Any], outputs: Sequence[Any]) -> Between:
    """Returns the operations between inputs and outputs.

    Operations are ordered by their distance from the outputs, the most distant first. Operations at the same distance
    are in the order in which a search from the outputs finds them.

    Raises:
      ValueError: if an output does not depend on the inputs alone.
    """
    walk = _Walk({id(symbol) for symbol in inputs})
    for output in outputs:
        walk.visit(output)
    depths: dict[int, int] = {}
    of_operation: dict[int, int] = {}
    for node in reversed(walk.finished):
        depth = max(depths.get(id(node), 0), of_operation.get(id(node.operation), 0))
        of_operation[id(node.operation)] = depths[id(node)] = depth
        if not walk.is_start(node):
            for parent in node.parents:
                depths[id(parent)] = max(depth + 1, depths.get(id(parent), 0))
    for symbol in inputs:
        node = node_of(symbol)
        if id(node.operation) not in of_operation:
            of_operation[id(node.operation)] = depths[id(node)] = 0
            walk.places[id(node.operation)] = (-1, node.operation)
            walk.finished.append(node)
    operations = [operation for _, operation in walk.places.values()]
    operations.sort(key=lambda operation: (-of_operation[id(operation)], walk.places[id(operation)][0]))
    nodes = sorted(walk.finished, key=lambda node: -depths[id(node)])
    _check(nodes, inputs, outputs, walk)
    return Between(nodes, operations)


class _Walk:
    """A search from outputs back to inputs."""

    def __init__(self, inputs: set[int]) -> None:
        self.inputs = inputs
        self.finished: list[Node] = []
        self.places: dict[int, tuple[int, Any]] = {}
        self._seen: set[int] = set()

    def is_start(self, node: Node) -> bool:
        return any(id(symbol) in self.inputs for symbol in node.output_tensors)

    def visit(self, tensor: Any) -> None:
        """Searches back from a tensor; without recursion, because models may be deep."""
        pending: list[tuple[Node, int]] = []
        self._enter(node_of(tensor), pending)
        while pending:
            node, position = pending.pop()
            sources = [] if self.is_start(node) else node.input_tensors
            if position < len(sources):
                pending.append((node, position + 1))
                self._enter(node_of(sources[position]), pending)
            else:
                self.finished.append(node)

    def _enter(self, node: Node, pending: list[tuple[Node, int]]) -> None:
        if id(node) not in self._seen:
            self._seen.add(id(node))
            self.places.setdefault(id(node.operation), (len(self.places), node.operation))
            pending.append((node, 0))


def _check(nodes: Sequence[Node], inputs: Sequence[Any], outputs: Sequence[Any], walk: _Walk) -> None:
    computed = {id(symbol) for symbol in inputs}
    for node in nodes:
        if (
            not walk.is_start(node)
            and node.input_tensors
            and all(id(symbol) in computed for symbol in node.input_tensors)
        ):
            computed.update(id(symbol) for symbol in node.output_tensors)
    for output in outputs:
        if id(output) not in computed:
            raise ValueError("Output with path `` is not connected to `inputs`")
