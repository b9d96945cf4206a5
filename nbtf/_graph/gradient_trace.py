"""What a gradient function builds on tensors whose lengths are known in part: a trial in a graph of its own.

A gradient of the table is written for tensors that have values. In a trial it gets tensors that only have lengths, of
which some may be unknown. If it does no more with those than hand them on, the ops that it calls are the gradient, and
are called again on the tensors meant; if it asks what they are, the trial fails with `NotKnownError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from nbtf._graph.graph import SymbolicGraph
from nbtf._graph.lengths import LengthsShape, UnknownLength, broadcast_lengths
from nbtf._graph.operation import PLACEHOLDER, Operation, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.elementwise import AddV2
from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.shape import shape
from nbtf._ops.specs import broadcast
from nbtf._runtime.changes import Change, block
from nbtf._shapes import TensorShape
from nbtf._types import DType

_ELEMENTWISE = broadcast(AddV2).__code__
"""The rule that all elementwise ops have for the shape of their result."""


class Called(NamedTuple):
    """An op that was called in a trial."""

    op: Any
    inputs: Sequence[Any]
    attrs: dict[str, Any]
    name: str | None
    outputs: list[GraphTensor]


class GradientTrace(SymbolicGraph):
    """A graph that notes the ops called, and in which unknown lengths are told from each other."""

    def __init__(self) -> None:
        """Starts with nothing."""
        super().__init__()
        self.calls: list[Called] = []

    def given(self, dims: Sequence[int | None] | None, dtype: DType, like: Sequence[Any] | None = None) -> GraphTensor:
        """Returns a tensor that stands for one of another graph.

        Args:
          dims: its lengths, None for each that is not known.
          dtype: the type of its elements.
          like: lengths that it shares with others, where that is known.
        """
        (tensor,) = self.add_source(PLACEHOLDER, "given", {}, [(TensorShape(dims), dtype)]).outputs
        if like is not None and dims is not None:
            mine = lengths_of(tensor)
            assert mine is not None
            tensor._shape = LengthsShape([a if b is None else b for a, b in zip(mine, like, strict=True)])
        return tensor

    def add(self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Notes a call down, and makes its node."""
        if not all([value.__class__ is GraphTensor for value in flat(inputs)]):
            inputs = op.convert(inputs)
        attrs = {key: self._handed_on(value) for key, value in attrs.items()}
        result = super().add(op, inputs, attrs, name)
        outputs = result if op.many else [result]
        if is_elementwise(op):
            _share(outputs[0], broadcast_lengths([lengths_of(one) for one in flat(inputs)]))
        self.calls.append(Called(op, inputs, attrs, name, outputs))
        return result

    @block
    def name_scope(self, name: str | None) -> Change[str]:
        """Gives a name as it came: what is free, and what stands in front, the graph says that the op is added to."""
        return self._changed("tf.name_scope", self._around, name or "")

    def _handed_on(self, value: Any) -> Any:
        """Returns an attribute with tensors in the place of unknown lengths."""
        if not isinstance(value, tuple | list | TensorShape):
            return self._length(value)
        parts = list(cast("list[Any]", value))
        unknown = [one for one in parts if isinstance(one, UnknownLength)]
        if not unknown:
            return cast("Any", value)
        owner = unknown[0].tensor
        if parts == list(lengths_of(owner) or ()):
            return shape(owner)
        return [self._length(one) for one in parts]

    def _length(self, value: Any) -> Any:
        if not isinstance(value, UnknownLength):
            return value
        lengths: Any = shape(value.tensor)
        return lengths[value.axis]

    def constant(self, array: Any, dtype: DType) -> GraphTensor:
        """Returns a constant."""
        tensor = super().constant(array, dtype)
        _tell_apart(tensor)
        return tensor

    def _made(self, record: Any, *arguments: Any, **more: Any) -> Operation:
        node = super()._made(record, *arguments, **more)
        for tensor in node.outputs:
            _tell_apart(tensor)
        return node


def _tell_apart(tensor: GraphTensor) -> None:
    dims = tensor._shape.dims
    if dims is not None:
        dims = [UnknownLength(tensor, axis) if n is None else n for axis, n in enumerate(dims)]
    tensor._shape = LengthsShape(dims)


def _share(tensor: GraphTensor, lengths: Sequence[Any] | None) -> None:
    mine = lengths_of(tensor)
    if lengths is not None and mine is not None:
        tensor._shape = LengthsShape(
            [own if known is None else known for own, known in zip(mine, lengths, strict=True)]
        )


def is_elementwise(record: Any) -> bool:
    """Tells whether the inputs of an op are broadcast against each other."""
    return getattr(record._infer, "__code__", None) is _ELEMENTWISE


def lengths_of(tensor: GraphTensor) -> Sequence[Any] | None:
    """Returns the lengths of a tensor of a trial; None if not even their number is known."""
    shape = tensor._shape
    return shape.lengths if isinstance(shape, LengthsShape) else shape.dims


def repeated(calls: Sequence[Called], known: dict[GraphTensor, GraphTensor], graph: SymbolicGraph) -> None:
    """Calls the ops of a trial again.

    Args:
      calls: those that count, in order.
      known: the tensors meant by those that were given; gets those that are made.
      graph: the graph that the ops are added to.
    """
    for op, inputs, attrs, name, outputs in calls:
        meant = [meant_by(one, known, graph) for one in inputs]
        told = {key: meant_by(value, known, graph) for key, value in attrs.items()}
        result = graph.add(op, meant, told, name)
        known.update(zip(outputs, result if op.many else [result], strict=True))


def meant_by(value: Any, known: Mapping[GraphTensor, GraphTensor], graph: SymbolicGraph) -> Any:
    """Returns what stands for a tensor of a trial, or for those in a list; other values as they are."""
    if value.__class__ is list or value.__class__ is tuple:
        made = [meant_by(one, known, graph) for one in value]
        return made if value.__class__ is list else tuple(made)
    if isinstance(value, IndexedSlices):
        parts = (value.values, value.indices, value.dense_shape)
        return IndexedSlices(*[meant_by(part, known, graph) for part in parts])
    if value.__class__ is not GraphTensor:
        return value
    found = known.get(value)
    if found is not None:
        return found
    assert value._value is not None  # a constant
    return graph.constant(value._value, value._dtype)


def needed(calls: Sequence[Called], results: Sequence[Any]) -> list[Called]:
    """Returns the calls whose outputs the results depend on."""
    wanted: set[Any] = set(_tensors_in(list(results)))
    kept: list[Called] = []
    for call in reversed(calls):
        if not wanted.isdisjoint(call.outputs):
            kept.append(call)
            wanted.update(_tensors_in([*call.inputs, *call.attrs.values()]))
    return kept[::-1]


def _tensors_in(values: Sequence[Any]) -> list[GraphTensor]:
    found: list[GraphTensor] = []
    for value in values:
        if value.__class__ is GraphTensor:
            found.append(value)
        elif isinstance(value, IndexedSlices):
            found += _tensors_in([value.values, value.indices, value.dense_shape])
        elif value.__class__ is list or value.__class__ is tuple:
            found += _tensors_in(value)
    return found
