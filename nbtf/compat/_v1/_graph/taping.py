"""Gradient tapes in graphs: recording of nodes, and gradients through the recorded ones.

A tape records a node under the same condition as an eager op: if it watches one of the inputs. The gradients are those
of `tf.gradients`, limited to the recorded nodes.
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
from nbtf.compat._v1._graph.session_graph import Abilities


def note_node(tape: Any, node: Operation, variables: Sequence[Any]) -> None:
    """Lets a tape record a node if the node depends on anything that the tape watches.

    Args:
      tape: an open tape, or another object in a scope's list of tapes.
      node: a node that the graph has just created.
      variables: variables whose handles are inputs of the node.
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
    """Returns whether a tape watches a tensor or, in a branch, the captured one; afterwards, it watches both."""
    if tape.watches(tensor):
        return True
    graph: Any = tensor._graph
    if not tape.watches(graph.origin_of(tensor)):
        return False
    tape._mark(tensor)
    return True


def watch_variable(tape: Tape, variable: Any) -> None:
    """Makes a tape watch a graph variable, through the output that all its readers use."""
    tape.watch_variable(variable)
    tape.watch(variable.__tf_source__)


def flow_back(tape: Tape, targets: Sequence[Any], seeds: Sequence[Any] | None, sources: Sequence[Any]) -> Any:
    """Returns the gradients of tensors with respect to others; None where the tape recorded no connection.

    Args:
      tape: tape with the recorded nodes.
      targets: tensors of a graph.
      seeds: initial gradient of each target; None for ones.
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


Abilities.note_node, Abilities.flow_back = note_node, flow_back
