"""Which nodes a session runs for its fetches, in which order, and when a value is no longer needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from nbtf.compat.v1._graph.operation import Operation
from nbtf.compat.v1._graph.tensor import GraphTensor


class Step(NamedTuple):
    """A node to run, and the tensors that nobody needs after it."""

    node: Operation
    done_with: tuple[GraphTensor, ...]


def plan(fetches: Sequence[GraphTensor | Operation], fed: Collection[GraphTensor]) -> list[Step]:
    """Returns the steps that make the fetches; what is fed is not made.

    A node stands behind its inputs because it was made after them: the order of creation is an order to run in.
    """
    kept = {one for one in fetches if isinstance(one, GraphTensor)}
    nodes = sorted(_needed(fetches, fed), key=lambda node: node.number)
    last: dict[GraphTensor, Operation] = {}
    for node in nodes:
        for tensor in (*node.outputs, *node.inputs):
            last[tensor] = node
    done: dict[Operation, list[GraphTensor]] = {}
    for tensor, node in last.items():
        if tensor not in kept:
            done.setdefault(node, []).append(tensor)
    return [Step(node, tuple(done.get(node, ()))) for node in nodes]


def _needed(fetches: Sequence[GraphTensor | Operation], fed: Collection[GraphTensor]) -> set[Operation]:
    todo = [one if isinstance(one, Operation) else one.op for one in fetches if one not in fed]
    found: set[Operation] = set()
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += [tensor.op for tensor in node.needed_inputs if tensor not in fed]
            todo += node.control_inputs
    return found
