"""Tensors for objects that a traced function takes (iterators, datasets, optionals), and for values given as specs.

Such an object is a composite, like a ragged tensor: a spec, which is part of the function's signature, and a handle.
The handle is a tensor of dtype `variant` whose value is the object, so another call can pass another object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.shapes import Known
from nbtf._graph.signature import tensors_taken
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trial import host_tensor
from nbtf._ops.structure import flatten, is_nested, map_structure
from nbtf._runtime.context import open_graph
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import ShapeLike, TensorShape, TensorSpec, TypeSpec
from nbtf._types import DType, variant

HANDLE: Known = [(TensorShape(()), variant)]
"""Shape and dtype of a handle."""

_SPECS = FunctionGraph("specs")
"""The graph of the tensors that represent specs."""


def handle_of(value: Any) -> Tensor:
    """Returns a tensor whose value is an object."""
    array = np.empty((), object)
    array[()] = value
    return host_tensor(array, variant)


def object_of(handle: Any) -> Any:
    """Returns the object that is the value of a handle."""
    return handle._array.item()


def function_graph() -> Any:
    """Returns the graph of the function that is being traced, or None."""
    graph = open_graph()
    return graph if hasattr(graph, "call") else None


# Specs


class CompositeSpec(TypeSpec):
    """The spec of a value that is not a single tensor. Specs of the same class are equal if their texts are equal."""

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or one with another spec, has an equal spec."""
        return self == getattr(spec_or_value, "_type_spec", spec_or_value)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


def tensor_like(shape: ShapeLike, dtype: DType) -> GraphTensor:
    """Returns a tensor for a spec; only its dtype and shape matter."""
    return GraphTensor(_SPECS, dtype, TensorShape(shape))


def stand_in(value: Any) -> Any:
    """Returns a structure with a matching symbolic value in place of each spec."""
    if isinstance(value, TensorSpec):
        return tensor_like(value.shape, value.dtype)
    if hasattr(value.__class__, "_stand_in"):
        return value._stand_in()
    if is_nested(value) and any([is_spec(leaf) for leaf in flatten(value)]):
        return map_structure(stand_in, value)
    return value


def is_spec(value: Any) -> bool:
    """Returns whether a function can be traced for a spec: of a tensor, or of a composite of tensors."""
    return isinstance(value, TensorSpec) or hasattr(value.__class__, "_stand_in")


def tensors_described(spec: Any) -> tuple[Known, Callable[[Iterator[Any]], Any]]:
    """Returns the shapes and dtypes of the tensors that a spec describes, and a function that assembles them."""
    tensors: list[Any] = []
    put_together = tensors_taken(stand_in(spec), tensors)
    return [(TensorShape(tensor._shape._dims), tensor._dtype) for tensor in tensors], put_together


def tensors_in(value: Any) -> list[Any]:
    """Returns the tensors in a value, in the order of `tensors_described`."""
    tensors: list[Any] = []
    tensors_taken(value, tensors)
    return tensors
