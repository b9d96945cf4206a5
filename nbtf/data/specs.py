"""Specs of elements: shapes and dtypes, as far as they are known before an element exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from nbtf._graph.handles import CompositeSpec, tensor_like
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.structure import _like_mapping, flatten, pack_sequence_as
from nbtf._shapes import ShapeLike, TensorShape, TensorSpec
from nbtf._types import DType, DTypeLike, as_dtype, float32, int64, string
from nbtf.data.elements import is_mapping, is_tuple, tensor_on_host


class DatasetSpec(CompositeSpec):
    """The spec of a dataset, with the spec of its elements."""

    def __init__(self, element_spec: Any, dataset_shape: ShapeLike = ()) -> None:
        """Stores the spec of the elements, and the shape of a tensor of datasets."""
        self.element_spec: Any = element_spec
        self.dataset_shape: TensorShape = TensorShape(dataset_shape)

    def __repr__(self) -> str:
        """`DatasetSpec(TensorSpec(...), TensorShape([]))`."""
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


class RaggedTensorSpec(CompositeSpec):
    """The spec of a ragged tensor: its shape and dtype.

    >>> tf.RaggedTensorSpec([2, None], tf.int32)
    RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> None:
        """Stores the lengths (None for ragged axes), the dtypes and the number of ragged axes."""
        self.shape: TensorShape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        rank = self.shape.rank
        self.ragged_rank: int = (0 if rank is None else rank - 1) if ragged_rank is None else ragged_rank
        self.row_splits_dtype: DType = as_dtype(row_splits_dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a ragged tensor, or one with another spec, matches this spec."""
        spec = _spec_of_leaf(spec_or_value) if isinstance(spec_or_value, RaggedTensor) else spec_or_value
        return isinstance(spec, RaggedTensorSpec) and (
            (self.dtype, self.ragged_rank, self.row_splits_dtype)
            == (spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
            and self.shape.is_compatible_with(spec.shape)
        )

    def _stand_in(self) -> Any:
        """Returns a ragged tensor made of symbolic tensors."""
        if not self.ragged_rank:
            return tensor_like(self.shape, self.dtype)
        value: Any = tensor_like((None, *self.shape[self.ragged_rank + 1 :]), self.dtype)
        for axis in reversed(range(self.ragged_rank)):
            rows = self.shape[0] if axis == 0 else None
            row_splits: Any = tensor_like((None if rows is None else rows + 1,), self.row_splits_dtype)
            value = RaggedTensor(value, row_splits)
        return value

    def __repr__(self) -> str:
        """Returns `RaggedTensorSpec(TensorShape([2, None]), tf.int32, 1, tf.int64)`."""
        return f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, {self.row_splits_dtype!r})"


class SparseTensorSpec(CompositeSpec):
    """The spec of a sparse tensor: its shape and dtype.

    >>> tf.SparseTensorSpec([2, 3], tf.int32)
    SparseTensorSpec(TensorShape([2, 3]), tf.int32)
    """

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = float32) -> None:
        """Stores the lengths of the dense tensor, and the dtype."""
        self.shape: TensorShape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a sparse tensor, or one with another spec, matches this spec."""
        is_sparse = isinstance(spec_or_value, SparseTensor | SparseTensorSpec)
        return is_sparse and spec_or_value.dtype is self.dtype and self.shape.is_compatible_with(spec_or_value.shape)

    def _stand_in(self) -> SparseTensor:
        """Returns a sparse tensor made of symbolic tensors."""
        rank = self.shape.rank
        indices, lengths = tensor_like((None, rank), int64), tensor_like((rank,), int64)
        return SparseTensor(indices, tensor_like((None,), self.dtype), lengths)

    def __repr__(self) -> str:
        """Returns `SparseTensorSpec(TensorShape([2, 3]), tf.int32)`."""
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


class NoneTensorSpec(CompositeSpec):
    """The spec of the value None."""

    def _stand_in(self) -> None:
        """Returns None."""

    def __repr__(self) -> str:
        """`NoneTensorSpec()`."""
        return "NoneTensorSpec()"


def spec_of(element: Any) -> Any:
    """Returns the spec of each value of an element, in the element's structure."""
    return each(_spec_of_leaf, element)


def _spec_of_leaf(value: Any) -> Any:
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    own_spec = getattr(value, "_type_spec", None)
    return TensorSpec(value.shape, value.dtype) if own_spec is None else own_spec


def each(function: Callable[..., Any], structure: Any) -> Any:
    """Returns a structure with a function applied to each value; only tuples and dictionaries are structure."""
    if is_tuple(structure):
        values = [each(function, item) for item in structure]
        fields = getattr(structure, "_make", None)
        return tuple(values) if fields is None else fields(values)
    if is_mapping(structure):
        items: dict[Any, Any] = {key: each(function, item) for key, item in structure.items()}
        return items if structure.__class__ is dict else _like_mapping(structure, items)
    return function(structure)


def batch_of(spec: Any, length: int | None) -> Any:
    """Returns the spec of a batch of elements; `length` is None if it is unknown."""

    def batched(spec: Any) -> Any:
        if isinstance(spec, TensorSpec):
            return TensorSpec(TensorShape([length]).concatenate(spec.shape), spec.dtype)
        if isinstance(spec, RaggedTensorSpec):
            shape = TensorShape([length]).concatenate(spec.shape)
            return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)
        if isinstance(spec, SparseTensorSpec):
            return SparseTensorSpec(TensorShape([length]).concatenate(spec.shape), spec.dtype)
        return spec

    return each(batched, spec)


def row_of(spec: Any) -> Any:
    """Returns the spec of one row of a batch."""

    def row(spec: Any) -> Any:
        if isinstance(spec, RaggedTensorSpec):
            return RaggedTensorSpec(spec.shape[1:], spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)
        return type(spec)(spec.shape[1:], spec.dtype)

    return each(row, spec)


def both(first: Any, second: Any, refused: str | None = None) -> Any:
    """Returns the most specific spec that covers both.

    Raises:
      TypeError: if they have nothing in common.
    """
    text = f"Incompatible dataset elements:\n  {first} vs.   {second}" if refused is None else refused
    specs, other_specs = flatten(first), flatten(second)
    if len(specs) != len(other_specs) or repr(each(_point, first)) != repr(each(_point, second)):
        raise TypeError(text)
    return pack_sequence_as(first, [_common(a, b, text) for a, b in zip(specs, other_specs, strict=True)])


def _point(_: Any) -> int:
    return 0


def _common(a: Any, b: Any, text: str) -> Any:
    if a == b:
        return a
    if a.__class__ is b.__class__ is DatasetSpec:
        return DatasetSpec(both(a.element_spec, b.element_spec, text))
    if type(a) is not type(b) or not hasattr(a, "dtype") or a.dtype is not b.dtype:
        raise TypeError(text)
    return type(a)(a.shape.most_specific_compatible_shape(b.shape), a.dtype)


def stand_in(spec: Any, length: int, value: int, text: bytes, dataset: Callable[[Any], Any]) -> Any:
    """Returns an element that matches a spec, for trying out a function.

    Args:
      spec: the spec of the element.
      length: replacement for unknown lengths, at least 2.
      value: value of its numbers.
      text: value of its strings.
      dataset: creates a dataset of one element.

    Raises:
      ValueError: if no such element can be created.
    """

    def tensor_of(spec: Any) -> Any:
        if isinstance(spec, TensorSpec):
            return _tensor_like(spec.shape, spec.dtype, length, text if spec.dtype is string else value)
        if isinstance(spec, DatasetSpec):
            return dataset(stand_in(spec.element_spec, length, value, text, dataset))
        if isinstance(spec, RaggedTensorSpec) and spec.shape.rank is not None:
            return _ragged_like(spec, length, text if spec.dtype is string else value)
        if isinstance(spec, NoneTensorSpec):
            return None
        raise ValueError(f"cannot create an example of {spec}")

    return each(tensor_of, spec)


def _ragged_like(spec: RaggedTensorSpec, length: int, value: int | bytes) -> Any:
    lengths = [length if n is None else n for n in spec.shape]
    ragged = spec.ragged_rank
    values: Any = _tensor_like(TensorShape([prod(lengths[: ragged + 1]), *lengths[ragged + 1 :]]), spec.dtype, 0, value)
    for axis in range(ragged, 0, -1):
        values = RaggedTensor.from_row_lengths(values, [lengths[axis]] * prod(lengths[:axis]))
    return values


def _tensor_like(shape: TensorShape, dtype: DType, length: int, value: int | bytes) -> Any:
    if shape.rank is None:
        shape = TensorShape([length] * (length - 1))  # the rank varies between tries, so that it stays unknown
    lengths = [length if n is None else n for n in shape]
    array = np.empty(lengths, dtype.np_dtype)
    array.fill(value)
    return tensor_on_host(array, dtype)


def of_tries(tries: Sequence[Any]) -> Any:
    """Returns the spec that covers all results of a function."""
    merged = tries[0]
    for attempt in tries[1:]:
        merged = both(merged, attempt)
    return merged
