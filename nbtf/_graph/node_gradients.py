"""The gradient of one node: what the table's function builds on tensors of the graph, unless it needs values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from nbtf._graph.gradient_trace import Called, GradientTrace, meant_by, needed, repeated
from nbtf._graph.lengths import NotKnownError, broadcast_lengths
from nbtf._graph.operation import Operation, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import is_elementwise, lengths_of
from nbtf._ops.coordinates import scatter_nd
from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.op import Op
from nbtf._ops.shape import expand_dims
from nbtf._runtime.tape import Call
from nbtf.errors import OpError

Flow = Any
"""A gradient: a tensor, `IndexedSlices`, or None."""


def as_whole(grad: Flow, like: GraphTensor) -> Flow:
    """Returns a gradient of rows as one of the whole tensor; others as they are."""
    if not isinstance(grad, IndexedSlices):
        return grad
    lengths = like._shape.dims
    known = lengths is not None and None not in lengths
    return scatter_nd(expand_dims(grad.indices, -1), grad.values, tuple(lengths or ()) if known else grad.dense_shape)


# On tensors of the graph


class _Known(NamedTuple):
    """What a gradient function has built in a trial."""

    given: list[GraphTensor]
    calls: list[Called]
    flows: list[Any]


_TRIED: dict[Hashable, _Known | None] = {}
_REMEMBERED = 1024

_FAILURES = (NotKnownError, AttributeError, TypeError, ValueError, IndexError, NotImplementedError, OpError)
"""What a gradient function may raise if it wants values and finds none."""


def symbolic_flows(node: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Flow] | None:
    """Returns the gradients, as the table's function builds them; None if it needs values."""
    key = _key(node, grads, wanted)
    if key is None or key not in _TRIED:
        if len(_TRIED) >= _REMEMBERED:
            _TRIED.clear()
        _TRIED[key] = _tried(node, grads, wanted)
    found = _TRIED[key]
    if found is None:
        return None
    graph = node.graph
    real = [*_distinct(node), *node.outputs, *[one for one in grads if one is not None]]
    known = dict(zip(found.given, real, strict=True))
    repeated(found.calls, known, graph)
    return [None if one is None else meant_by(one, known, graph) for one in found.flows]


def _distinct(node: Operation) -> list[GraphTensor]:
    """Returns the tensors that a node depends on, each once: its inputs, and attributes that only a run tells."""
    return list(dict.fromkeys(node.needed_inputs))


def unknown_attrs(node: Operation) -> dict[str, GraphTensor]:
    """Returns the attributes that only a run tells."""
    return {name: one for name, one in node.late_attrs.items() if name not in node.attrs_known}


def _of_rows(flow: Flow, like: GraphTensor) -> Flow:
    """Returns a gradient of rows with the shape of the whole, as far as it is known."""
    if isinstance(flow, IndexedSlices) and like._shape.is_fully_defined():
        return IndexedSlices(flow.values, flow.indices, tuple(like._shape.as_list()))
    return flow


def _key(node: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> Hashable:
    """Returns what a trial depends on; None if it cannot be told from others."""
    inputs = node.needed_inputs
    places = {one: number for number, one in enumerate(_distinct(node))}
    lists = tuple([len(one) if one.__class__ is list else -1 for one in node.arguments])
    specs = [
        (one._dtype, tuple(dims) if (dims := one._shape.dims) is not None else None) for one in (*inputs, *node.outputs)
    ]
    given = tuple([None if one is None else one._dtype for one in grads])
    late = unknown_attrs(node)
    attrs = tuple([(name, None if name in late else value) for name, value in node.attrs.items()])
    key = node.record, lists, tuple([places[one] for one in inputs]), tuple(specs), given, tuple(wanted), attrs
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _tried(node: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> _Known | None:
    trial = GradientTrace()
    record: Op = node.record
    with trial.as_default():
        inputs = {one: trial.stand_in(one._shape.dims, one._dtype) for one in _distinct(node)}
        shared = broadcast_lengths([lengths_of(one) for one in inputs.values()]) if is_elementwise(record) else None
        attrs = {**node.attrs, **{name: inputs[one] for name, one in unknown_attrs(node).items()}}
        outputs = [trial.stand_in(one._shape.dims, one._dtype, shared) for one in node.outputs]
        arrived = [
            None if grad is None else trial.stand_in(one._shape.dims, grad._dtype, lengths_of(stands))
            for grad, one, stands in zip(grads, node.outputs, outputs, strict=True)
        ]
        arguments = [
            [inputs[one] for one in value] if value.__class__ is list else inputs[value] for value in node.arguments
        ]
        call = Call(record, arguments, attrs, outputs, needed_arguments(node, wanted))
        try:
            flows = flat(filled(record.gradients(call, *arrived), node))
        except _FAILURES:
            return None
    given = [*inputs.values(), *outputs, *[one for one in arrived if one is not None]]
    flows = [_of_rows(flow, one) for flow, one in zip(flows, flat(node.arguments), strict=True)]
    return _Known(given, needed(trial.calls, flows), flows)


def needed_arguments(node: Operation, wanted: Sequence[bool]) -> tuple[bool, ...]:
    """Returns for which arguments of an op somebody asks: for a list, if for one in it."""
    rest = iter(wanted)
    return tuple(
        [any([next(rest) for _ in value]) if value.__class__ is list else next(rest) for value in node.arguments]
    )


def filled(flows: Any, node: Operation) -> list[Any]:
    """Returns a gradient function's result with a list for each argument that is one."""
    return [
        [None] * len(value) if flow is None and value.__class__ is list else flow
        for flow, value in zip(flows, node.arguments, strict=True)
    ]
