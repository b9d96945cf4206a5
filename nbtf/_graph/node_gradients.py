"""The gradient of one node, built by the op's gradient function on graph tensors unless it needs values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from nbtf._graph.gradient_trace import Called, GradientTrace, meant_by, needed, repeated
from nbtf._graph.lengths import NotKnownError, broadcast_lengths
from nbtf._graph.operation import Operation, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import is_elementwise, lengths_of
from nbtf._ops.arrays.coordinates import scatter_nd
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.op import Op
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._runtime.tape import Call
from nbtf.errors import OpError

Flow = Any
"""A gradient: a tensor, `IndexedSlices`, or None."""


def as_whole(grad: Flow, like: GraphTensor) -> Flow:
    """Returns a gradient of rows as a gradient of the whole tensor; other gradients are unchanged."""
    if not isinstance(grad, IndexedSlices):
        return grad
    lengths = like._shape.dims
    is_static = lengths is not None and None not in lengths
    return scatter_nd(
        expand_dims(grad.indices, -1), grad.values, tuple(lengths or ()) if is_static else grad.dense_shape
    )


# On tensors of the graph


class _Known(NamedTuple):
    """The ops that a gradient function built in a trial."""

    sources: list[GraphTensor]
    calls: list[Called]
    flows: list[Any]


_TRIED: dict[Hashable, _Known | None] = {}
_REMEMBERED = 1024

_FAILURES = (NotKnownError, AttributeError, TypeError, ValueError, IndexError, NotImplementedError, OpError)
"""Errors that a gradient function may raise because it needs values."""


def symbolic_flows(node: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> list[Flow] | None:
    """Returns the gradients as the op's gradient function builds them; None if it needs values."""
    key = _key(node, grads, needed)
    if key is None or key not in _TRIED:
        if len(_TRIED) >= _REMEMBERED:
            _TRIED.clear()
        _TRIED[key] = _tried(node, grads, needed)
    recipe = _TRIED[key]
    if recipe is None:
        return None
    graph = node.outputs[0].graph_here()
    real = [*_distinct(node), *node.outputs, *[tensor for tensor in grads if tensor is not None]]
    stands_for = dict(zip(recipe.sources, real, strict=True))
    repeated(recipe.calls, stands_for, graph)
    return [None if tensor is None else meant_by(tensor, stands_for, graph) for tensor in recipe.flows]


def _distinct(node: Operation) -> list[GraphTensor]:
    """Returns the tensors that a node depends on, each once: its inputs, and attributes known only in a run."""
    return list(dict.fromkeys(node.needed_inputs))


def unknown_attrs(node: Operation) -> dict[str, GraphTensor]:
    """Returns the attributes that are known only in a run."""
    return {name: tensor for name, tensor in node.late_attrs.items() if name not in node.attrs_known}


def _of_rows(flow: Flow, like: GraphTensor) -> Flow:
    """Returns a gradient of rows with the shape of the whole tensor, as far as it is known."""
    if isinstance(flow, IndexedSlices) and like._shape.is_fully_defined():
        return IndexedSlices(flow.values, flow.indices, tuple(like._shape.as_list()))
    return flow


def _key(node: Operation, grads: Sequence[Any], needed: Sequence[bool]) -> Hashable:
    """Returns a cache key for a trial; None if the trial cannot be cached."""
    inputs = node.needed_inputs
    numbers = {tensor: number for number, tensor in enumerate(_distinct(node))}
    lists = tuple([len(tensor) if tensor.__class__ is list else -1 for tensor in node.arguments])
    specs = [
        (tensor._dtype, tuple(dims) if (dims := tensor._shape.dims) is not None else None)
        for tensor in (*inputs, *node.outputs)
    ]
    grad_dtypes = tuple([None if tensor is None else tensor._dtype for tensor in grads])
    attrs_later = unknown_attrs(node)
    attrs = tuple([(name, None if name in attrs_later else value) for name, value in node.attrs.items()])
    key = (
        node.record,
        lists,
        tuple([numbers[tensor] for tensor in inputs]),
        tuple(specs),
        grad_dtypes,
        tuple(needed),
        attrs,
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _tried(node: Operation, grads: Sequence[Any], pattern: Sequence[bool]) -> _Known | None:
    trial = GradientTrace()
    record: Op = node.record
    with trial.as_default():
        inputs = {tensor: trial.stand_in(tensor._shape.dims, tensor._dtype) for tensor in _distinct(node)}
        shared = (
            broadcast_lengths([lengths_of(tensor) for tensor in inputs.values()]) if is_elementwise(record) else None
        )
        attrs = {**node.attrs, **{name: inputs[tensor] for name, tensor in unknown_attrs(node).items()}}
        outputs = [trial.stand_in(tensor._shape.dims, tensor._dtype, shared) for tensor in node.outputs]
        arrived = [
            None if grad is None else trial.stand_in(tensor._shape.dims, grad._dtype, lengths_of(stands))
            for grad, tensor, stands in zip(grads, node.outputs, outputs, strict=True)
        ]
        arguments = [
            [inputs[tensor] for tensor in value] if value.__class__ is list else inputs[value]
            for value in node.arguments
        ]
        call = Call(record, arguments, attrs, outputs, needed_arguments(node, pattern))
        try:
            flows = flat(filled(record.gradients(call, *arrived), node))
        except _FAILURES:
            return None
    sources = [*inputs.values(), *outputs, *[tensor for tensor in arrived if tensor is not None]]
    flows = [_of_rows(flow, tensor) for flow, tensor in zip(flows, flat(node.arguments), strict=True)]
    return _Known(sources, needed(trial.calls, flows), flows)


def needed_arguments(node: Operation, needed: Sequence[bool]) -> tuple[bool, ...]:
    """Returns for which arguments a gradient is needed; for a list, whether any of its items needs one."""
    flags = iter(needed)
    return tuple(
        [any([next(flags) for _ in value]) if value.__class__ is list else next(flags) for value in node.arguments]
    )


def filled(flows: Any, node: Operation) -> list[Any]:
    """Returns a gradient function's result with a list for each argument that is a list."""
    return [
        [None] * len(value) if flow is None and value.__class__ is list else flow
        for flow, value in zip(flows, node.arguments, strict=True)
    ]
