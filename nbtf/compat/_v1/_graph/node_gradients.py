"""The gradient of a single node: symbolic if possible, otherwise deferred until a session has values."""

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
from nbtf._runtime.tape import Call
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._graph.deferred import Deferred, is_continuous, or_zeros

_PASSING = frozenset({Identity, ReadVariableOp})
"""Ops that pass a gradient on unchanged, including one that consists of rows."""

_HELP = (
    "In general every operation must have an associated `@tf.RegisterGradient` for correct autodiff, which this op is "
    "lacking. If you want to pretend this operation is a constant in your program, you may insert `tf.stop_gradient`."
)


def flows_through(node: Operation, grads: Sequence[Flow], needed: Sequence[bool]) -> list[Flow]:
    """Returns a gradient for each input of the op, with lists of inputs flattened.

    Args:
      node: the node.
      grads: gradient of each output.
      needed: whether the gradient of each input is needed.

    Raises:
      LookupError: if the op has no gradient.
    """
    record = node.record
    if record in _PASSING:
        return [grads[0]]
    dense = [as_whole(grad, output) for grad, output in zip(grads, node.outputs, strict=True)]
    if isinstance(record, Deferred):
        if record.own_gradient is None:
            return _through_deferred(node, record, dense, needed)
        flows = list(record.own_gradient(dense))
        return [*flows, *[None] * (len(needed) - len(flows))]
    if not isinstance(record, Op) or record.no_gradient:
        return [None] * len(needed)
    if not record.has_gradient:
        raise LookupError(f"No gradient defined for operation'{node.name}' (op type: {node.type}). {_HELP}")
    # Like TensorFlow 1, build the gradients of all inputs even if they are not needed: node names depend on it.
    for pattern in dict.fromkeys([(True,) * len(needed), tuple(needed)]):
        symbolic = symbolic_flows(node, dense, pattern)
        if symbolic is not None:
            return symbolic
    return _deferred_flows(node, record, dense, needed)


# Deferred until there are values


def _deferred_flows(node: Operation, record: Op, grads: Sequence[Any], needed: Sequence[bool]) -> list[Flow]:
    """Adds a node that calls the gradient function when its inputs have values."""
    inputs = flat(node.arguments)
    outputs = list(node.outputs) if record.keeps_outputs else []
    numbers = [number for number, item in enumerate(inputs) if needed[number] and is_continuous(item)]
    arrived = [grad is not None for grad in grads]
    arguments_used, attrs_later = needed_arguments(node, needed), unknown_attrs(node)
    lists = [len(item) if item.__class__ is list else -1 for item in node.arguments]

    def function(tensors: Sequence[Tensor]) -> Sequence[Any]:
        values = iter(tensors)
        arguments: list[Any] = [[next(values) for _ in range(n)] if n >= 0 else next(values) for n in lists]
        attrs = {**node.attrs, **{name: next(values).numpy() for name in attrs_later}}
        results_run = [next(values) for _ in outputs]
        flows = record.gradients(
            Call(record, arguments, attrs, results_run, arguments_used),
            *[next(values) if arrives else None for arrives in arrived],
        )
        flows_found = flat(filled(flows, node))
        return [or_zeros(flows_found[number], tensors[number]) for number in numbers]

    sent = [*inputs, *attrs_later.values(), *outputs, *[grad for grad in grads if grad is not None]]
    results = _added(
        node.outputs[0].graph_here(),
        Deferred(f"{node.type}Grad", function),
        sent,
        [inputs[number] for number in numbers],
    )
    return _spread(results, numbers, len(inputs))


def _through_deferred(node: Operation, record: Deferred, grads: Sequence[Any], needed: Sequence[bool]) -> list[Flow]:
    inputs = list(node.inputs)
    numbers = [number for number, item in enumerate(inputs) if needed[number] and is_continuous(item)]
    arrived = [number for number, grad in enumerate(grads) if grad is not None]
    back = record.backwards(len(inputs), numbers, arrived)
    results = _added(
        node.outputs[0].graph_here(),
        back,
        [*inputs, *[grads[number] for number in arrived]],
        [inputs[n] for n in numbers],
    )
    return _spread(results, numbers, len(inputs))


def _added(
    graph: SymbolicGraph, record: Deferred, inputs: Sequence[GraphTensor], like: Sequence[GraphTensor]
) -> list[GraphTensor]:
    """Adds a deferred node whose outputs have the shapes and dtypes of some tensors."""
    specs = [(item._shape, item._dtype) for item in like]
    return graph.add_known(record, inputs, {}, record.type, lambda name: specs).outputs


def _spread(values: Sequence[Flow], numbers: Sequence[int], count: int) -> list[Flow]:
    flows: list[Flow] = [None] * count
    for number, flow in zip(numbers, values, strict=True):
        flows[number] = flow
    return flows
