"""The gradient of one node: the table's, on tensors of the graph, or left until they have values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from nbtf._ops.coordinates import scatter_nd
from nbtf._ops.identity import Identity
from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.op import Op
from nbtf._ops.resource import ReadVariableOp
from nbtf._ops.shape import expand_dims
from nbtf._runtime.tape import UNKNOWN, Call
from nbtf._runtime.tensor import Tensor
from nbtf.compat._v1._graph.deferred import Deferred, is_continuous, or_zeros
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._graph.lengths import NotKnownError, broadcast_lengths
from nbtf.compat._v1._graph.operation import Operation, flat
from nbtf.compat._v1._graph.tensor import GraphTensor
from nbtf.compat._v1._graph.trial import Called, Trial, is_elementwise, lengths_of, meant_by, needed, repeated
from nbtf.errors import OpError

Flow = Any
"""A gradient: a tensor, `IndexedSlices`, or None."""

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
        known = _known_gradient(node, dense, asked)
        if known is not None:
            return known
    return _left(node, record, dense, wanted)


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


def _known_gradient(node: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Flow] | None:
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


def _late(node: Operation) -> dict[str, GraphTensor]:
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
    late = _late(node)
    attrs = tuple([(name, None if name in late else value) for name, value in node.attrs.items()])
    key = node.record, lists, tuple([places[one] for one in inputs]), tuple(specs), given, tuple(wanted), attrs
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _tried(node: Operation, grads: Sequence[Any], wanted: Sequence[bool]) -> _Known | None:
    trial = Trial()
    record: Op = node.record
    with trial.as_default():
        inputs = {one: trial.given(one._shape.dims, one._dtype) for one in _distinct(node)}
        shared = broadcast_lengths([lengths_of(one) for one in inputs.values()]) if is_elementwise(record) else None
        attrs = {**node.attrs, **{name: inputs[one] for name, one in _late(node).items()}}
        outputs = [trial.given(one._shape.dims, one._dtype, shared) for one in node.outputs]
        arrived = [
            None if grad is None else trial.given(one._shape.dims, grad._dtype, lengths_of(stands))
            for grad, one, stands in zip(grads, node.outputs, outputs, strict=True)
        ]
        arguments = [
            [inputs[one] for one in value] if value.__class__ is list else inputs[value] for value in node.arguments
        ]
        call = Call(record, arguments, attrs, outputs, _by_argument(node, wanted))
        try:
            flows = flat(_filled(record.gradients(call, *arrived), node))
        except _FAILURES:
            return None
    given = [*inputs.values(), *outputs, *[one for one in arrived if one is not None]]
    flows = [_of_rows(flow, one) for flow, one in zip(flows, flat(node.arguments), strict=True)]
    return _Known(given, needed(trial.calls, flows), flows)


def _by_argument(node: Operation, wanted: Sequence[bool]) -> tuple[bool, ...]:
    """Returns for which arguments of an op somebody asks: for a list, if for one in it."""
    rest = iter(wanted)
    return tuple(
        [any([next(rest) for _ in value]) if value.__class__ is list else next(rest) for value in node.arguments]
    )


def _filled(flows: Any, node: Operation) -> list[Any]:
    """Returns a gradient function's result with a list for each argument that is one."""
    return [
        [None] * len(value) if flow is None and value.__class__ is list else flow
        for flow, value in zip(flows, node.arguments, strict=True)
    ]


# Left until there are values


def _left(node: Operation, record: Op, grads: Sequence[Any], wanted: Sequence[bool]) -> list[Flow]:
    """Adds a node that calls the gradient function when it has values."""
    if record.taped is UNKNOWN:
        record.settle_taping()
    inputs = flat(node.arguments)
    outputs = list(node.outputs) if record.keeps_outputs else []
    places = [number for number, one in enumerate(inputs) if wanted[number] and is_continuous(one)]
    arrived = [grad is not None for grad in grads]
    by_argument, late = _by_argument(node, wanted), _late(node)
    lists = [len(one) if one.__class__ is list else -1 for one in node.arguments]

    def function(tensors: Sequence[Tensor]) -> Sequence[Any]:
        rest = iter(tensors)
        arguments: list[Any] = [[next(rest) for _ in range(n)] if n >= 0 else next(rest) for n in lists]
        attrs = {**node.attrs, **{name: next(rest).numpy() for name in late}}
        made = [next(rest) for _ in outputs]
        flows = record.gradients(
            Call(record, arguments, attrs, made, by_argument), *[next(rest) if there else None for there in arrived]
        )
        found = flat(_filled(flows, node))
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
    graph: Graph, record: Deferred, inputs: Sequence[GraphTensor], like: Sequence[GraphTensor]
) -> list[GraphTensor]:
    """Adds a deferred node whose outputs look like some tensors."""
    known = [(one._shape, one._dtype) for one in like]
    return graph.add_known(record, inputs, {}, record.type, lambda name: known).outputs


def _spread(made: Sequence[Flow], places: Sequence[int], count: int) -> list[Flow]:
    flows: list[Flow] = [None] * count
    for place, flow in zip(places, made, strict=True):
        flows[place] = flow
    return flows
