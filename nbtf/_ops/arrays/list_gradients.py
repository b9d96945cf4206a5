"""Gradients of nodes whose inputs and results may be lists of tensors; each element is a source or target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nbtf._ops.arrays.element_lists import elements_of, is_list, with_tensors
from nbtf._ops.arrays.identity import identity
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import CONTINUOUS
from nbtf._runtime.tensor import Tensor
from nbtf._types import variant


def continuous_in(value: Any) -> list[Any]:
    """Returns the tensors in a value that gradients flow through: the value, or the elements of a list."""
    if is_list(value):
        return [tensor for tensor in elements_of(value).tensors if tensor is not None and tensor._dtype in CONTINUOUS]
    return [value] if value.dtype in CONTINUOUS and value.dtype is not variant else []


def seeded(result: Any, grad: Any) -> list[tuple[Any, Any]]:
    """Returns pairs of tensor and gradient for the tensors in a result that have received a gradient."""
    if not is_list(result):
        return [(result, grad)]
    pairs = zip(elements_of(result).tensors, elements_of(grad).tensors, strict=False)
    return [(tensor, flow) for tensor, flow in pairs if tensor is not None and flow is not None]


def packed_gradient(value: Any, flows: Iterator[Any]) -> Any:
    """Returns the gradient of a value, built from the next gradients of its tensors."""
    if not is_list(value):
        return as_tensor(next(flows))
    elements = elements_of(value)
    flow_through = [tensor is not None and tensor._dtype in CONTINUOUS for tensor in elements.tensors]
    return with_tensors(elements, [as_tensor(next(flows)) if flows_here else None for flows_here in flow_through])


def separate(values: Sequence[Any]) -> list[Any]:
    """Returns the values with duplicates copied, so that each gets its own gradient."""
    ids: set[int] = set()

    def separate(value: Any) -> Any:
        if is_list(value):
            elements = elements_of(value)
            return with_tensors(elements, [separate(tensor) for tensor in elements.tensors])
        is_repeated = id(value) in ids and value.__class__ is Tensor and bool(continuous_in(value))
        ids.add(id(value))
        return identity(value) if is_repeated else value

    return [separate(value) for value in values]
