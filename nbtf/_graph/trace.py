"""A graph for functions that are written for tensors with values; it distinguishes unknown lengths.

A function may pass a length on to an op, known or not: an unknown one becomes a part of `tf.shape`. If it needs the
length's value, `NotKnownError` is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from nbtf._devices.base import Spec
from nbtf._graph.graph import SymbolicGraph, convert_inputs
from nbtf._graph.lengths import LengthsShape, UnknownLength, broadcast_lengths
from nbtf._graph.operation import PLACEHOLDER, Operation, flat
from nbtf._graph.shapes import spec_of
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.math.arithmetic import AddV2
from nbtf._ops.specs import broadcast
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.scopes import EMPTY, SCOPE, requested
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape
from nbtf._types import DType

SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only "
    "created once or created outside tf.function. See "
    "https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
)

_ELEMENTWISE = broadcast(AddV2).__code__
"""The shape rule that all elementwise ops share."""


class Trace(SymbolicGraph):
    """A graph that distinguishes unknown lengths."""

    def __init__(self) -> None:
        """Starts empty, and keeps the device requested outside, where variables made inside are stored."""
        super().__init__()
        self.request = requested(SCOPE() or EMPTY)

    def placeholder(self, dims: ShapeLike, dtype: DType) -> GraphTensor:
        """Returns a symbolic tensor for an argument.

        Args:
          dims: its lengths, None for unknown ones; None if the rank is unknown.
          dtype: the type of its elements.
        """
        return self.add_source(PLACEHOLDER, "args", {}, [(TensorShape(dims), dtype)]).outputs[0]

    def add(self, op: Any, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Records an op; unknown lengths among its attributes become tensors."""
        inputs = convert_inputs(op, inputs)
        result = super().add(op, inputs, {key: self._as_tensors(value) for key, value in attrs.items()}, name)
        if is_elementwise(op):
            operands = [self._own(value) for value in flat(inputs)]
            _share(result, broadcast_lengths([lengths_of(tensor) for tensor in operands]))
        return result

    def _as_tensors(self, value: Any) -> Any:
        """Returns an attribute with tensors in place of unknown lengths."""
        if not isinstance(value, tuple | list | TensorShape):
            return self._length(value)
        lengths = list(cast("list[Any]", value))
        unknown = [length for length in lengths if isinstance(length, UnknownLength)]
        if not unknown:
            return cast("Any", value)
        owner = unknown[0].tensor
        if lengths == list(lengths_of(owner) or ()):
            return shape(owner)
        return [self._length(length) for length in lengths]

    def _length(self, value: Any) -> Any:
        if not isinstance(value, UnknownLength):
            return value
        lengths: Any = shape(value.tensor)
        return lengths[value.axis]

    def constant(self, array: Any, dtype: DType, value: Any = None, requested: DType | None = None) -> GraphTensor:
        """Returns a constant."""
        tensor = super().constant(array, dtype, value, requested)
        _tell_apart(tensor)
        return tensor

    def _made(self, record: Any, *arguments: Any, **options: Any) -> Operation:
        node = super()._made(record, *arguments, **options)
        for tensor in node.outputs:
            _tell_apart(tensor)
        return node


class CapturingTrace(Trace):
    """A trace of a function: it captures tensors with values, and leaves variables unchanged."""

    silent = True
    """Whether observers receive no events from the scope."""

    def __init__(self) -> None:
        """Starts without captures."""
        super().__init__()
        self.captures: dict[int, tuple[Any, GraphTensor]] = {}
        """Captured tensors: their counterparts in this graph, by the id of the original."""

    def _own(self, value: Any) -> Any:
        """Returns an input as a tensor of this graph; a tensor with a value is captured."""
        return self.capture(value) if value.__class__ is Tensor else super()._own(value)

    def capture(self, value: Any) -> GraphTensor:
        """Returns the counterpart of a captured tensor."""
        if id(value) not in self.captures:
            shape = TensorShape(value._shape._dims) if value.__class__ is GraphTensor else value.shape
            node = self.add_source(PLACEHOLDER, "captured", {}, [(shape, value._dtype)])
            self.captures[id(value)] = value, node.outputs[0]
        return self.captures[id(value)][1]

    def output_on_variable(self, op: Any, tensors: Sequence[Any], attrs: dict[str, Any]) -> tuple[TensorShape, DType]:
        """Returns shape and dtype of the output of an op on a variable, which is its first input."""
        variable, *operands = tensors
        specs = [Spec(variable.shape._dims, variable._dtype), *[spec_of(self._own(value)) for value in operands]]
        (dtype,) = op.output_dtypes([spec.dtype for spec in specs], attrs, 1)
        (dims,) = op.shapes(specs, op.normalised(attrs))
        return TensorShape(dims), dtype

    def shown_shape(self, shape: TensorShape) -> TensorShape:
        """Returns a shape as programs see it, with None for unknown lengths."""
        return TensorShape(shape._dims)


def value_read(value: Any) -> Any:
    """Returns an attribute of an op; for a variable, its value."""
    return as_tensor(value) if hasattr(value, "assign_add") else value


def _tell_apart(tensor: GraphTensor) -> None:
    dims = tensor._shape.dims
    if dims is not None:
        dims = [UnknownLength(tensor, axis) if n is None else n for axis, n in enumerate(dims)]
    tensor._shape = LengthsShape(dims)


def _share(tensor: GraphTensor, lengths: Sequence[Any] | None) -> None:
    """Gives a tensor the unknown lengths of another tensor where they are equal."""
    lengths_before = lengths_of(tensor)
    if lengths is not None and lengths_before is not None:
        pairs = zip(lengths_before, lengths, strict=True)
        tensor._shape = LengthsShape([length if shared is None else shared for length, shared in pairs])


def is_elementwise(record: Any) -> bool:
    """Returns whether the inputs of an op are broadcast against each other."""
    return getattr(record._infer, "__code__", None) is _ELEMENTWISE


def lengths_of(tensor: GraphTensor) -> Sequence[Any] | None:
    """Returns the lengths of a tensor of a trace; None if the rank is unknown."""
    shape = tensor._shape
    return shape.lengths if isinstance(shape, LengthsShape) else shape.dims
