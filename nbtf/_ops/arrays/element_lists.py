"""The value of a `TensorArray` inside a function: a tensor of dtype `variant` that holds a tuple of tensors.

The elements remain ordinary tensors on their devices, so tapes and memory views treat them like all others. A list
is immutable: writing returns a new list. Source of the errors: TensorFlow, `core/kernels/list_kernels.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from nbtf._devices.base import buffer_of
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.joining import concat, split, stack, unstack
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import add_n
from nbtf._runtime.context import CURRENT, open_graph
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf._shapes import TensorShape
from nbtf._types import DType, int32, variant
from nbtf.errors import InvalidArgumentError


class Elements(NamedTuple):
    """The elements of a list: tensors, or None for those that have not been written."""

    tensors: tuple[Any, ...]
    dtype: DType
    shape: TensorShape
    """The elements' shape, as far as it is known."""

    def __repr__(self) -> str:
        """Returns TensorFlow's `<TensorList>`."""
        return "<TensorList>"


def as_variant(elements: Elements) -> Tensor:
    """Returns the tensor that holds a list."""
    array = CPU.xp.empty((), object)
    array[()] = elements
    return tensor_of(buffer_of(array), variant, CURRENT.context.host)


def elements_of(tensor: Tensor) -> Elements:
    """Returns the list that a tensor holds.

    Raises:
      InvalidArgumentError: if the tensor does not hold a list.
    """
    value = tensor._array[()] if tensor._dtype is variant and not tensor._array.shape else None
    if not isinstance(value, Elements):
        raise InvalidArgumentError(f"Input handle is not a list. Saw: '{tensor._dtype.name}'")
    return value


def with_tensors(elements: Elements, tensors: Sequence[Any]) -> Tensor:
    """Returns a list of other tensors with this list's dtype and shape."""
    return as_variant(elements._replace(tensors=tuple(tensors)))


def is_list(value: Any) -> bool:
    """Returns whether a value is a tensor that holds a list."""
    return value.__class__ is Tensor and value._dtype is variant and isinstance(value._array[()], Elements)


def called(
    type: str,
    run: Callable[[Sequence[Any]], Sequence[Any]],
    inputs: Sequence[Any],
    specs: Sequence[tuple[Any, DType]],
) -> Any:
    """Returns the single result of a function of values, run as a node of the current graph or immediately.

    Args:
      type: TensorFlow's op type of such a node.
      run: the function.
      inputs: tensors.
      specs: the shape and dtype of the result.
    """
    graph = open_graph()
    if graph is None:
        return run(inputs)[0]
    if hasattr(graph, "run_later"):  # a graph of TensorFlow 1
        return graph.run_later(type, run, inputs, specs)[0]
    return graph.call(type, run, inputs, specs, does_more=False)[0]


# ---- Functions that nodes run: they take and return values


def reserve(dtype: DType, shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns a list of the given length in which no element is written."""
    length = int(values[0])
    if length < 0:
        raise InvalidArgumentError(f"The num_elements to reserve must be a non negative number, but got {length}")
    return [as_variant(Elements((None,) * length, dtype, shape))]


def set_item(resizes: bool, values: Sequence[Any]) -> Sequence[Any]:
    """Returns a list with one element replaced; if `resizes`, the list grows up to the index."""
    elements, index, value = elements_of(values[0]), int(values[1]), values[2]
    tensors = [*elements.tensors]
    if resizes and index >= len(tensors):
        tensors += [None] * (index + 1 - len(tensors))
    if not 0 <= index < len(tensors):
        raise InvalidArgumentError(f"Trying to modify element {index} in a list with {len(tensors)} elements.")
    _check_element(elements, value)
    tensors[index] = value
    return [with_tensors(elements, tensors)]


def _check_element(elements: Elements, value: Any) -> None:
    if not elements.shape.is_compatible_with(value.shape):
        raise InvalidArgumentError(
            "Tried to set a tensor with incompatible shape at a list index. "
            f"Item element shape: {_brackets(value.shape)} list shape: {_brackets(elements.shape)}"
        )


def _brackets(shape: TensorShape) -> str:
    dims = shape.dims
    return "<unknown>" if dims is None else f"[{','.join('?' if n is None else str(n) for n in dims)}]"


def get_item(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns the element at an index; zeros if it was not written."""
    elements, index = elements_of(values[0]), int(values[1])
    count = len(elements.tensors)
    if not 0 <= index < count:
        raise InvalidArgumentError(f"Trying to access element {index} in a list with {count} elements.")
    if elements.tensors[index] is not None:
        return [elements.tensors[index]]
    element_shape = common_shape(elements, shape)
    if not element_shape.is_fully_defined():
        raise InvalidArgumentError(
            "Trying to read an uninitialized tensor but element_shape is not fully defined: "
            f"{_brackets(element_shape)} and no list element is set."
        )
    return [zeros(element_shape, elements.dtype)]


def common_shape(elements: Elements, shape: TensorShape) -> TensorShape:
    """Returns the common shape of the elements, merged from all known shapes.

    Raises:
      InvalidArgumentError: if the elements' shapes differ.
    """
    merged = elements.shape.merge_with(shape)
    for tensor in elements.tensors:
        if tensor is None:
            continue
        try:
            merged = merged.merge_with(tensor.shape)
        except ValueError:
            raise InvalidArgumentError(
                f"PartialTensorShape: Incompatible shapes during merge: {_brackets(merged)} vs. "
                f"{_brackets(tensor.shape)}"
            ) from None
    return merged


def stack_items(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns all elements, stacked to one tensor; elements that were not written are zeros."""
    elements = elements_of(values[0])
    element_shape = common_shape(elements, shape)
    if not element_shape.is_fully_defined():
        subject = (
            "list which only contains uninitialized tensors and has a non-fully-defined element_shape"
            if elements.tensors
            else "elements of an empty list with non-fully-defined element_shape"
        )
        raise InvalidArgumentError(f"Tried to stack {subject}: {_brackets(element_shape)}")
    if not elements.tensors:
        return [zeros(TensorShape([0]).concatenate(element_shape), elements.dtype)]
    return [stack(_filled(elements, element_shape))]


def _filled(elements: Elements, element_shape: TensorShape) -> list[Any]:
    return [zeros(element_shape, elements.dtype) if tensor is None else tensor for tensor in elements.tensors]


def gather_items(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns the elements at the given indices, stacked to one tensor."""
    elements, indices = elements_of(values[0]), as_ints(values[1])
    count = len(elements.tensors)
    for index in indices:
        if not 0 <= index < count:
            raise InvalidArgumentError(
                f"Index {index} out o range; list only has {count} elements."
            )  # the typo is TensorFlow's
    chosen = elements._replace(tensors=tuple([elements.tensors[index] for index in indices]))
    if not indices or any([tensor is None for tensor in chosen.tensors]):
        element_shape = common_shape(elements, shape)
        if not element_shape.is_fully_defined():
            raise InvalidArgumentError(
                "Tried to gather uninitialized tensors from a list with non-fully-defined shape: "
                f"{_brackets(element_shape)}"
            )
        chosen = chosen._replace(shape=element_shape)
    return stack_items(shape, [as_variant(chosen)])


def concat_items(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns all elements joined along their first axis."""
    elements = elements_of(values[0])
    if not elements.tensors:
        rows = elements.shape.merge_with(shape)[1:] if elements.shape.merge_with(shape).rank else TensorShape(None)
        if not rows.is_fully_defined():
            raise InvalidArgumentError(
                "All except the first dimension must be fully defined when concating an empty tensor list. "
                f"element_shape: {_brackets(elements.shape.merge_with(shape))}"
            )
        return [zeros(TensorShape([0]).concatenate(rows), elements.dtype)]
    element_shape = TensorShape(None)
    if any([tensor is None for tensor in elements.tensors]):
        element_shape = common_shape(elements, shape)
        if not element_shape.is_fully_defined():
            raise InvalidArgumentError(
                "Trying to concat list with only uninitialized tensors but element_shape is not fully defined: "
                f"{_brackets(element_shape)}"
            )
    tensors = _filled(elements, element_shape)
    check_vectors(tensors)
    return [concat(tensors, 0)]


def check_vectors(tensors: Sequence[Any]) -> None:
    """Raises an error if an element is a scalar.

    Raises:
      InvalidArgumentError: if an element is a scalar.
    """
    for number, tensor in enumerate(tensors):
        if not tensor.shape.rank:
            raise InvalidArgumentError(f"Concat saw a scalar shape at index {number} but requires at least vectors.")


def from_rows(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns a list with the rows of a tensor."""
    (value,) = values
    if not value.shape.rank:
        raise InvalidArgumentError("Tensor must be at least a vector, but saw shape: []")
    return [as_variant(Elements(tuple(unstack(value)), value._dtype, shape))]


def scatter_items(values: Sequence[Any]) -> Sequence[Any]:
    """Returns a list with the rows of a tensor at the given indices; it grows up to the largest index."""
    elements, value, indices = elements_of(values[0]), values[1], as_ints(values[2])
    rows = unstack(value) if value.shape.rank else []
    if len(indices) != len(rows):
        raise InvalidArgumentError(f"Expected len(indices) == tensor.shape[0], but saw: {len(indices)} vs. {len(rows)}")
    if min(indices, default=0) < 0:
        raise InvalidArgumentError(f"Indices in TensorListScatter must all be non-negative. Found: {min(indices)}")
    tensors = [*elements.tensors]
    tensors += [None] * (max(indices, default=-1) + 1 - len(tensors))
    for index, row in zip(indices, rows, strict=True):
        _check_element(elements, row)
        tensors[index] = row
    return [with_tensors(elements, tensors)]


def split_rows(shape: TensorShape, values: Sequence[Any]) -> Sequence[Any]:
    """Returns a list with the parts of a tensor that have the given lengths."""
    value = values[0]
    if values[1].shape.rank != 1:
        raise InvalidArgumentError(f"Expected lengths to be a vector, received shape: {_brackets(values[1].shape)}")
    lengths = as_ints(values[1])
    if not value.shape.rank:
        raise InvalidArgumentError("Tensor must be at least a vector, but saw shape: []")
    if min(lengths, default=0) < 0:
        raise InvalidArgumentError(f"Invalid value in lengths: {min(lengths)}")
    total, available = sum(lengths), value.shape[0]
    if total > available:
        raise InvalidArgumentError(
            f"Attempt to slice [{total - lengths[-1]}, {total}] from tensor with length {available}"
        )
    if total < available:
        raise InvalidArgumentError(f"Unused values in tensor. Length of tensor: {available} Values used: {total}")
    return [as_variant(Elements(tuple(split(value, lengths)), value._dtype, shape))]


def length_of(values: Sequence[Any]) -> Sequence[Any]:
    """Returns the number of elements."""
    return [
        tensor_of(buffer_of(CPU.xp.array(len(elements_of(values[0]).tensors), "int32")), int32, CURRENT.context.host)
    ]


def sum_of_lists(tensors: Sequence[Any]) -> Any:
    """Returns a list with the elementwise sums of lists; an element that is None in all lists stays None."""
    return called("AddN", _sum_lists, tensors, [((), variant)])


def _sum_lists(values: Sequence[Any]) -> Sequence[Any]:
    lists = [elements_of(value) for value in values]
    sums: list[Any] = []
    for number in range(max([len(elements.tensors) for elements in lists])):
        terms = [elements.tensors[number] for elements in lists if number < len(elements.tensors)]
        terms = [term for term in terms if term is not None]
        sums.append(add_n(terms) if len(terms) > 1 else terms[0] if terms else None)
    return [with_tensors(lists[0], sums)]
