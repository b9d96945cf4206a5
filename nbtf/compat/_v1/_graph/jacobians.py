"""Jacobians of tensors with unknown shapes: one node repeats the backward pass for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf.autodiff.jacobian import JacobianOf, batch_jacobian_of
from nbtf.compat._v1._graph.branch import Branch
from nbtf.compat._v1._graph.deferred import Deferred
from nbtf.compat._v1._graph.session_graph import Abilities, Graph

WayBack = Callable[[GraphTensor], Sequence[Any]]
"""Builds the gradients of the sources from the initial gradient of the target."""


def open_jacobians(
    graph: Graph, way_back: WayBack, target: GraphTensor, sources: Sequence[GraphTensor], of: JacobianOf
) -> list[Any]:
    """Returns tensors with the gradients of each element of a target; None for sources it does not depend on.

    Args:
      graph: graph to which the node is added.
      way_back: builds the gradients; called once.
      target: a tensor.
      sources: tensors and variable handles.
      of: combines the rows when they have values.
    """
    branch = Branch(graph)
    seed = branch.add_input(target._shape, target._dtype)
    flows = branch.built(lambda: [None if flow is None else as_tensor(flow) for flow in way_back(seed)], ())
    numbers = [number for number, flow in enumerate(flows) if flow is not None]
    if not numbers:
        return list(flows)
    fetches = [flows[number] for number in numbers]
    ends = [sources[number] for number in numbers]
    captured, inner = branch.sources(), list(branch.taken.values())
    measured = [end for end in ends if end._link is None]

    def run(values: Sequence[Any]) -> Sequence[Any]:
        lengths = iter(values[1 + len(inner) :])
        taken_values = dict(zip(inner, values[1:], strict=False))

        def walk(start: Any, last: bool) -> list[Any]:
            return [None] * len(ends) if start is None else branch.run(fetches, {**taken_values, seed: start})

        return of(walk, values[0], [next(lengths) if end._link is None else end for end in ends])

    skipped = 1 if of is batch_jacobian_of else 0
    specs = [(_joined(target._shape, end._shape, skipped), end._dtype) for end in ends]
    record = Deferred("Jacobian", run, takes_variables=True)
    node = graph.add_known(record, [target, *captured, *measured], {}, "Jacobian", lambda name: specs)
    outputs = iter(node.outputs)
    return [None if flow is None else next(outputs) for flow in flows]


def _joined(target: TensorShape, source: TensorShape, skipped: int) -> TensorShape:
    if target.dims is None or source.dims is None:
        return TensorShape(None)
    return TensorShape([*target.dims, *source.dims[skipped:]])


Abilities.jacobians = open_jacobians
