"""The gradient of one node: symbolic where that will do, else left until a session has values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._graph.graph import SymbolicGraph
from nbtf._graph.node_gradients import Flow, as_whole, filled, needed_arguments, symbolic_flows, unknown_attrs
from nbtf._graph.operation import Operation, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.identity import Identity
from nbtf._ops.op import Op
from nbtf._ops.variables.resource import ReadVariableOp
from nbtf._runtime.tape import UNKNOWN, Call
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._graph.deferred import Deferred, is_continuous, or_zeros

_PASSING = frozenset({Identity, ReadVariableOp})
"""Ops that hand a gradient on as it is, rows as rows."""

_HELP = (
    "In general every operation must have an associated `@tf.RegisterGradient` for correct autodiff, which this op is "
    "lacking. If you want to pretend this operation is a constant in your program, you may insert `tf.stop_gradient`."
)


def flows_through(node: Operation, grads: Sequence[Flow], wanted: Sequence[bool]) -> list[Flow]:
    """Returns a gradient for each input of the op, those in lists one by one.

    Args:
      node: the node.
      grads: what has arrived for each output.
      wanted: for which inputs somebody asks.

    Raises:
      LookupError: the op has no gradient.
    """
    record = node.record
    if record in _PASSING:
        return [grads[0]]
    dense = [as_whole(grad, one) for grad, one in zip(grads, node.outputs, strict=True)]
    if isinstance(record, Deferred):
        if record.own_gradient is None:
            return _through_deferred(node, record, dense, wanted)
        flows = list(record.own_gradient(dense))
        return [*flows, *[None] * (len(wanted) - len(flows))]
    if not isinstance(record, Op) or record.no_gradient:
        return [None] * len(wanted)
    if not record.has_gradient:
        raise LookupError(f"No gradient defined for operation'{node.name}' (op type: {node.type}). {_HELP}")
    # As TensorFlow 1, which builds the gradients of all inputs whether wanted or not: names depend on it.
    for asked in dict.fromkeys([(True,) * len(wanted), tuple(wanted)]):
        known = symbolic_flows(node, dense, asked)
        if known is not None:
            return known
    return _left(node, record, dense, wanted)


# Left until there are values


def _left(node: Operation, record: Op, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Flow]:
    """Adds a node that calls the gradient function when it has values."""
    if record.taped is UNKNOWN:
        record.settle_taping()
    inputs = flat(node.arguments)
    outputs = list(node.outputs) if record.keeps_outputs else []
    places = [number for number, one in enumerate(inputs) if wanted[number] and is_continuous(one)]
    arrived = [grad is not None for grad in grads]
    asked, late = needed_arguments(node, wanted), unknown_attrs(node)
    lists = [len(one) if one.__class__ is list else -1 for one in node.arguments]

    def function(tensors: Sequence[Tensor]) -> Sequence[Any]:
        rest = iter(tensors)
        arguments: list[Any] = [[next(rest) for _ in range(n)] if n >= 0 else next(rest) for n in lists]
        attrs = {**node.attrs, **{name: next(rest).numpy() for name in late}}
        made = [next(rest) for _ in outputs]
        flows = record.gradients(
            Call(record, arguments, attrs, made, asked), *[next(rest) if there else None for there in arrived]
        )
        found = flat(filled(flows, node))
        return [or_zeros(found[number], tensors[number]) for number in places]

    given = [*inputs, *late.values(), *outputs, *[grad for grad in grads if grad is not None]]
    made = _added(node.graph, Deferred(f"{node.type}Grad", function), given, [inputs[number] for number in places])
    return _spread(made, places, len(inputs))


def _through_deferred(node: Operation, record: Deferred, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Flow]:
    inputs = list(node.inputs)
    places = [number for number, one in enumerate(inputs) if wanted[number] and is_continuous(one)]
    arrived = [number for number, grad in enumerate(grads) if grad is not None]
    back = record.backwards(len(inputs), places, arrived)
    made = _added(node.graph, back, [*inputs, *[grads[number] for number in arrived]], [inputs[n] for n in places])
    return _spread(made, places, len(inputs))


def _added(
    graph: SymbolicGraph, record: Deferred, inputs: Sequence[GraphTensor], like: Sequence[GraphTensor]
) -> list[GraphTensor]:
    """Adds a deferred node whose outputs look like some tensors."""
    known = [(one._shape, one._dtype) for one in like]
    return graph.add_known(record, inputs, {}, record.type, lambda name: known).outputs


def _spread(made: Sequence[Flow], places: Sequence[int], count: int) -> list[Flow]:
    flows: list[Flow] = [None] * count
    for place, flow in zip(places, made, strict=True):
        flows[place] = flow
    return flows
