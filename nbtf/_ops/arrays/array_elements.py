"""The elements of a `TensorArray` in eager mode: a Python list that is modified in place.

Source of the errors: TensorFlow, `python/ops/tensor_array_ops.py`, `_EagerTensorArray`.
"""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.element_lists import check_vectors
from nbtf._ops.arrays.joining import concat, split, stack, unstack
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType
from nbtf.errors import InvalidArgumentError, OutOfRangeError


class ArrayElements:
    """Tensors by index; None for elements that were not written or that a read has cleared."""

    def __init__(
        self, dtype: DType, length: int, grows: bool, clears: bool, infers_shape: bool, shape: TensorShape
    ) -> None:
        """Creates a list in which no element is written.

        Args:
          dtype: the dtype of the elements.
          length: the number of elements.
          grows: whether writing past the end extends the list.
          clears: whether reading an element clears it.
          infers_shape: whether all elements must have the first one's shape.
          shape: the elements' shape, as far as it is known.
        """
        self.tensors: list[Tensor | None] = [None] * length
        self.shape = shape
        self._dtype, self._grows, self._clears, self._infers_shape = dtype, grows, clears, infers_shape
        self._read: set[int] = set()

    def write(self, index: Any, value: Any) -> None:
        """Sets the element at an index."""
        index = _plain(index)
        if index < 0:
            raise OutOfRangeError(f"Writing to negative indices (index {index}) is not allowed.")
        size = len(self.tensors)
        if index >= size and not self._grows:
            raise OutOfRangeError(f"Tried to write to index {index} but array is not resizeable and size is: {size} ")
        element = as_element(value, self._dtype)
        if element._dtype is not self._dtype:
            raise InvalidArgumentError(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {element._dtype.name} "
            )
        if not self.shape.is_compatible_with(element.shape):
            raise ValueError(f"Incompatible shape for value ({element.shape}), expected ({self.shape})")
        if self._infers_shape:
            self.shape = self.shape.merge_with(element.shape)
        if index >= size:
            self.tensors += [None] * (index + 1 - size)
        self.tensors[index] = element

    def read(self, index: Any) -> Tensor:
        """Returns the element at an index, then clears it unless the list keeps its elements."""
        index, size = _plain(index), len(self.tensors)
        if index < 0:
            raise OutOfRangeError(f"Reading from negative indices (index {index}) is not allowed.")
        if index >= size:
            raise OutOfRangeError(f"Tried to read from index {index} but array size is: {size} ")
        if self.tensors[index] is None and index in self._read:
            raise InvalidArgumentError(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )
        element = self._or_zeros(index)
        if self._clears:
            self.tensors[index] = None
            self._read.add(index)
        return element

    def _or_zeros(self, index: int) -> Tensor:
        element = self.tensors[index]
        if element is None:
            if not self.shape.is_fully_defined():
                raise ValueError(f"Cannot convert a partially known TensorShape {self.shape} to a Tensor.")
            element = self.tensors[index] = zeros(self.shape, self._dtype)
        return element

    def stack(self) -> Tensor:
        """Returns the elements, stacked to one tensor."""
        if self.tensors:
            return stack([self._or_zeros(index) for index in range(len(self.tensors))], name="packed")
        rows = self.shape if self.shape.is_fully_defined() else TensorShape([])
        return zeros(TensorShape([0]).concatenate(rows), self._dtype)

    def gather(self, indices: Any) -> Tensor:
        """Returns the elements at the given indices, stacked to one tensor."""
        numbers = as_tensor(indices).numpy().tolist()
        return stack([self._or_zeros(index) for index in numbers])

    def concat(self) -> Tensor:
        """Returns the elements joined along their first axis."""
        if not self.tensors:
            raise InvalidArgumentError("Cannot concatenate the elements of an empty TensorArray.")
        elements = [self._or_zeros(index) for index in range(len(self.tensors))]
        check_vectors(elements)
        return concat(elements, 0)

    def unstack(self, value: Any) -> None:
        """Sets the elements to the rows of a tensor."""
        rows: list[Any] = [*unstack(as_element(value, self._dtype))]
        size = len(self.tensors)
        if len(rows) > size and not self._grows:
            raise ValueError(f"Cannot unstack {len(rows)} tensors into a TensorArray of static size {size} ")
        self.tensors = rows

    def scatter(self, indices: Any, value: Any) -> None:
        """Sets the elements at the given indices to the rows of a tensor."""
        numbers = as_tensor(indices).numpy().tolist()
        for index, row in zip(numbers, unstack(as_element(value, self._dtype)), strict=False):  # as in TensorFlow
            self.write(index, row)

    def split(self, value: Any, lengths: Any) -> None:
        """Sets the elements to parts of a tensor."""
        tensor, length_vector = as_element(value, self._dtype), as_tensor(lengths)
        if length_vector.shape.rank != 1:
            raise InvalidArgumentError(
                f"Expected lengths to be a vector, received shape: {length_vector.shape.as_list()} "
            )
        if not tensor.shape.rank:
            raise InvalidArgumentError(
                f"Expected value to be at least a vector, but received shape: {tensor.shape.as_list()} "
            )
        numbers, size = length_vector.numpy().tolist(), len(self.tensors)
        if sum(numbers) != tensor.shape[0]:
            raise InvalidArgumentError(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(numbers)} and value's shape is: {tensor.shape.as_list()} "
            )
        if len(numbers) != size and not self._grows:
            raise InvalidArgumentError(
                f"TensorArray's size is not equal to the size of lengths ({size} vs. {len(numbers)}), and the "
                "TensorArray is not marked as dynamically resizeable."
            )
        self.tensors = [*split(tensor, numbers)]


def _plain(index: Any) -> int:
    number = index.numpy() if hasattr(index, "numpy") else index
    if not hasattr(number, "__index__"):
        raise TypeError(f"list indices must be integers or slices, not {type(number).__name__}")
    return number.__index__()


def as_element(value: Any, dtype: DType) -> Any:
    """Returns a value as a tensor, with the given dtype if the value can have it."""
    if hasattr(value, "_dtype"):
        return as_tensor(value)
    try:
        return as_tensor(value, dtype)
    except (TypeError, ValueError):
        return as_tensor(value)
