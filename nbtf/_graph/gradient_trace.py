"""What a gradient function builds on tensors whose lengths are known in part: a trial in a graph of its own.

A gradient of the table is written for tensors that have values. In a trial it gets tensors that only have lengths, of
which some may be unknown. If it does no more with those than hand them on, the ops that it calls are the gradient, and
are called again on the tensors meant; if it asks what they are, the trial fails with `NotKnownError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._graph.graph import SymbolicGraph, convert_inputs
from nbtf._graph.lengths import LengthsShape
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace import Trace, lengths_of
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._runtime.changes import Change, block
from nbtf._types import DType


class Called(NamedTuple):
    """An op that was called in a trial."""

    op: Any
    inputs: Sequence[Any]
    attrs: dict[str, Any]
    name: str | None
    outputs: list[GraphTensor]


class GradientTrace(Trace):
    """A trace that notes the ops called."""

    def __init__(self) -> None:
        """Starts with nothing."""
        super().__init__()
        self.calls: list[Called] = []

    def stand_in(
        self, dims: Sequence[int | None] | None, dtype: DType, like: Sequence[Any] | None = None
    ) -> GraphTensor:
        """Returns a tensor that stands for one of another graph.

        Args:
          dims: its lengths, None for each that is not known.
          dtype: the type of its elements.
          like: lengths that it shares with others, where that is known.
        """
        tensor = self.placeholder(dims, dtype)
        lengths = lengths_of(tensor)
        if like is not None and lengths is not None:
            tensor._shape = LengthsShape([a if b is None else b for a, b in zip(lengths, like, strict=True)])
        return tensor

    def add(self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Notes a call down, and makes its node."""
        inputs = convert_inputs(op, inputs)
        attrs = {key: self._as_tensors(value) for key, value in attrs.items()}
        result = super().add(op, inputs, attrs, name)
        self.calls.append(Called(op, inputs, attrs, name, result if op.many else [result]))
        return result

    @block
    def name_scope(self, name: str | None) -> Change[str]:
        """Gives a name as it came: what is free, and what stands in front, the graph says that the op is added to."""
        return self._changed("tf.name_scope", self._around, name or "")


def repeated(calls: Sequence[Called], mapping: dict[GraphTensor, GraphTensor], graph: SymbolicGraph) -> None:
    """Calls the ops of a trial again.

    Args:
      calls: those that count, in order.
      mapping: the tensors meant by those that were given; gets those that are made.
      graph: the graph that the ops are added to.
    """
    for op, inputs, attrs, name, outputs in calls:
        replayed = [meant_by(item, mapping, graph) for item in inputs]
        attrs_meant = {key: meant_by(value, mapping, graph) for key, value in attrs.items()}
        result = graph.add(op, replayed, attrs_meant, name)
        mapping.update(zip(outputs, result if op.many else [result], strict=True))


def meant_by(value: Any, mapping: Mapping[GraphTensor, GraphTensor], graph: SymbolicGraph) -> Any:
    """Returns what stands for a tensor of a trial, or for those in a list; other values as they are."""
    if value.__class__ is list or value.__class__ is tuple:
        items = [meant_by(item, mapping, graph) for item in value]
        return items if value.__class__ is list else tuple(items)
    if isinstance(value, IndexedSlices):
        components = (value.values, value.indices, value.dense_shape)
        return IndexedSlices(*[meant_by(component, mapping, graph) for component in components])
    if value.__class__ is not GraphTensor:
        return value
    tensor = mapping.get(value)
    if tensor is not None:
        return tensor
    assert value._value is not None  # a constant
    return graph.constant(value._value, value._dtype)


def needed(calls: Sequence[Called], results: Sequence[Any]) -> list[Called]:
    """Returns the calls whose outputs the results depend on."""
    needed_tensors: set[Any] = set(_tensors_in(list(results)))
    calls_needed: list[Called] = []
    for call in reversed(calls):
        if not needed_tensors.isdisjoint(call.outputs):
            calls_needed.append(call)
            needed_tensors.update(_tensors_in([*call.inputs, *call.attrs.values()]))
    return calls_needed[::-1]


def _tensors_in(values: Sequence[Any]) -> list[GraphTensor]:
    tensors: list[GraphTensor] = []
    for value in values:
        if value.__class__ is GraphTensor:
            tensors.append(value)
        elif isinstance(value, IndexedSlices):
            tensors += _tensors_in([value.values, value.indices, value.dense_shape])
        elif value.__class__ is list or value.__class__ is tuple:
            tensors += _tensors_in(value)
    return tensors
