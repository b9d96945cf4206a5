"""Traces a gradient function in a separate graph, on tensors whose lengths are only partly known.

The gradient functions of the op table are written for tensors with values. Here they get tensors that have only
lengths, some of them unknown. If a function only passes those lengths on, the ops that it calls are the gradient, and
they are called again on the real tensors. If it needs an unknown length, the trial fails with `NotKnownError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._graph.graph import SymbolicGraph, convert_inputs
from nbtf._graph.lengths import LengthsShape
from nbtf._graph.operation import flat, mapped
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
    """A trace that records the called ops."""

    def __init__(self) -> None:
        """Starts empty."""
        super().__init__()
        self.calls: list[Called] = []

    def stand_in(
        self, dims: Sequence[int | None] | None, dtype: DType, like: Sequence[Any] | None = None
    ) -> GraphTensor:
        """Returns a counterpart for a tensor of another graph.

        Args:
          dims: its lengths; None for unknown ones.
          dtype: the type of its elements.
          like: lengths that it is known to share with other tensors.
        """
        tensor = self.placeholder(dims, dtype)
        lengths = lengths_of(tensor)
        if like is not None and lengths is not None:
            tensor._shape = LengthsShape([a if b is None else b for a, b in zip(lengths, like, strict=True)])
        return tensor

    def add(self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records a call and creates its node."""
        inputs = convert_inputs(op, inputs)
        attrs = {key: self._as_tensors(value) for key, value in attrs.items()}
        result = super().add(op, inputs, attrs, name)
        self.calls.append(Called(op, inputs, attrs, name, result if op.many else [result]))
        return result

    @block
    def name_scope(self, name: str | None) -> Change[str]:
        """Returns a name unchanged: the graph that the op is added to makes it unique and adds the scope."""
        return self._changed("tf.name_scope", self._around, name or "")


def repeated(calls: Sequence[Called], mapping: dict[GraphTensor, GraphTensor], graph: SymbolicGraph) -> None:
    """Repeats the calls of a trial in a graph.

    Args:
      calls: the calls that are needed, in order.
      mapping: real tensors by their counterparts in the trial; new tensors are added.
      graph: the graph that the ops are added to.
    """
    for op, inputs, attrs, name, outputs in calls:
        replayed = [meant_by(item, mapping, graph) for item in inputs]
        attrs_meant = {key: meant_by(value, mapping, graph) for key, value in attrs.items()}
        result = graph.add(op, replayed, attrs_meant, name)
        mapping.update(zip(outputs, result if op.many else [result], strict=True))


def meant_by(value: Any, mapping: Mapping[GraphTensor, GraphTensor], graph: SymbolicGraph) -> Any:
    """Returns the real tensor for a tensor of a trial, also within lists; other values are unchanged."""

    def real(value: Any) -> Any:
        if isinstance(value, IndexedSlices):
            return IndexedSlices(*map(real, (value.values, value.indices, value.dense_shape)))
        if value.__class__ is not GraphTensor:
            return value
        tensor = mapping.get(value)
        return graph.constant(value._value, value._dtype) if tensor is None else tensor

    return mapped(real, value)


def needed(calls: Sequence[Called], results: Sequence[Any]) -> list[Called]:
    """Returns the calls whose outputs the results depend on."""
    rows = [value for value in results if isinstance(value, IndexedSlices)]
    components = [component for row in rows for component in (row.values, row.indices, row.dense_shape)]
    needed_ids = {*map(id, flat([*results, *components]))}
    calls_needed: list[Called] = []
    for call in reversed(calls):
        if not needed_ids.isdisjoint(map(id, call.outputs)):
            calls_needed.append(call)
            needed_ids.update(map(id, flat([*call.inputs, *call.attrs.values()])))
    return calls_needed[::-1]
