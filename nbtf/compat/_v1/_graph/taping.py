"""How a tape hears the nodes of a graph, and how gradients flow back through those that it heard.

A tape keeps a node as it keeps an op that runs: if something that the node takes is watched. The gradients are those of
`tf.gradients`, which go no further back than the tape has heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import ones_like
from nbtf._runtime.tape import CONTINUOUS, Tape
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.gradients import Walk


def note_node(tape: Any, node: Operation, variables: Sequence[Any]) -> None:
    """Has a tape keep a node, if that depends on what the tape watches.

    Args:
      tape: an open tape, or another object that a scope lists as one.
      node: a node that the graph has just made.
      variables: the variables whose handles it takes.
    """
    if tape.hearing is None or not any([output._dtype in CONTINUOUS for output in node.outputs]):
        return
    for variable in variables:
        if tape.watches_variables and variable.trainable:
            watch_variable(tape, variable)
    if any([_hears_of(tape, tensor) for tensor in node.inputs]):
        tape.entries.append((node, None, None, None))
        for output in node.outputs:
            if output._dtype in CONTINUOUS:
                tape._mark(output)


def _hears_of(tape: Tape, tensor: GraphTensor) -> bool:
    """Tells whether a tape watches a tensor, or what that stands for in a branch; from then on both."""
    if tape.watches(tensor):
        return True
    graph: Any = tensor._graph
    if not tape.watches(graph.origin_of(tensor)):
        return False
    tape._mark(tensor)
    return True


def watch_variable(tape: Tape, variable: Any) -> None:
    """Has a tape watch a variable of a graph: the tensor that everything about it comes from."""
    tape.watch_variable(variable)
    tape.watch(variable.__tf_source__)


def flow_back(tape: Tape, targets: Sequence[Any], seeds: Sequence[Any] | None, sources: Sequence[Any]) -> Any:
    """Returns the gradients of some tensors with respect to others, None where a tape heard of no way between.

    Args:
      tape: what was heard.
      targets: tensors of a graph.
      seeds: what the gradient of each starts with; ones where None.
      sources: tensors of the graph.
    """
    graph, owner = building(), targets[0]._graph
    assert graph is not None
    is_target = [any([source is target for target in targets]) for source in sources]
    is_watched = [tape.watches(source) for source in sources]
    sources = [owner.stand_in_for(source) for source in sources]
    nodes = {entry[0] for entry in tape.entries if isinstance(entry[0], Operation)}
    stops = {source.op for source in sources if source.op not in nodes}
    with graph.inside(), graph.name_scope("gradient_tape"):
        walk = Walk(graph, targets, sources, stops, colocate=False, within=nodes)
        starts = [
            (ones_like(target) if seed is None else seed) if target._dtype in CONTINUOUS else None
            for target, seed in zip(targets, seeds or [None] * len(targets), strict=True)
        ]
        flows = walk.run(starts)
    return [
        flow if is_end or watched else None for flow, watched, is_end in zip(flows, is_watched, is_target, strict=True)
    ]
