"""Pipeline steps that pad elements of different lengths and combine them into batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import DType, string
from nbtf.data.batching import Batched
from nbtf.data.elements import (
    at_next,
    host_array_of,
    is_mapping,
    is_sequence,
    is_tuple,
    leaves,
    on_host,
    packer,
    tensor_on_host,
)
from nbtf.data.stage import Stage
from nbtf.errors import DataLossError


class PaddedBatched(Batched, op="PaddedBatchDatasetV2", constants=2):
    """Batches of elements that are padded to equal lengths."""

    def __init__(self, source: Stage, size: int, drop_remainder: bool, shapes: Any, values: Any) -> None:
        """Stores the shapes to pad to (None for the longest of a batch) and the padding values.

        Raises:
          TypeError: if a padding value has another dtype.
          ValueError: if an element does not fit into its shape, or the rank is unknown.
        """
        super().__init__(source, size, drop_remainder)
        self._element = source.spec
        self._specs: list[Any] = flatten(self._element)
        self._targets = self._shapes(shapes)
        # Without shapes, the longest element decides, regardless of its spec.
        self._rooms = (
            [TensorShape([None] * len(target)) for target in self._targets] if shapes is None else self._targets
        )
        self._values = self._fillers(values)

    def _shapes(self, shapes: Any) -> list[TensorShape]:
        if shapes is None:
            shapes_of_elements = [spec.shape for spec in self._specs]
            if any(shape.rank is None for shape in shapes_of_elements):
                raise ValueError("You must provide `padded_shapes` argument because input has unknown shapes.")
            return shapes_of_elements
        pairs = zip(self._specs, _up_to(self._element, shapes), strict=True)
        return [_padded_shape(shape, spec) for spec, shape in pairs]

    def _fillers(self, values: Any) -> list[Any]:
        if values is None or not (is_tuple(self._element) or is_mapping(self._element)):
            fill_values = [values] * len(self._specs)
        elif is_tuple(values) or is_mapping(values):
            fill_values = _up_to(self._element, values)
        else:
            fill_values = [values] * len(self._specs)
        return [_filler(value, spec.dtype) for value, spec in zip(fill_values, self._specs, strict=True)]

    @property
    def spec(self) -> Any:
        """The padded shapes with one more axis."""
        length = self._size if self._whole else None
        specs = zip(self._targets, self._specs, strict=True)
        padded_specs = [TensorSpec(TensorShape([length]).concatenate(target), spec.dtype) for target, spec in specs]
        return pack_sequence_as(self._element, padded_specs)

    start = Batched.join_groups

    def join(self, elements: Sequence[Any]) -> Any:
        """Returns a batch of padded elements."""
        columns = zip(*map(leaves, elements), self._rooms, self._values, strict=True)
        return packer(elements[0])([_fill_up(column[:-2], column[-2], column[-1]) for column in columns])


def _up_to(structure: Any, values: Any) -> list[Any]:
    """Returns the values at the leaves of a structure; a value may itself be a list."""
    if is_tuple(structure):
        if not is_sequence(values) or len(values) != len(structure):
            raise ValueError(f"The padded shapes {values} do not match the structure of the elements.")
        return [leaf for inner, value in zip(structure, values, strict=True) for leaf in _up_to(inner, value)]
    if is_mapping(structure):
        return [leaf for key in sorted(structure) for leaf in _up_to(structure[key], values[key])]
    return [values]


def _padded_shape(requested: Any, spec: Any) -> TensorShape:
    try:
        lengths = requested.numpy().tolist() if isinstance(requested, Tensor) else list(TensorShape(requested))
        shape = TensorShape([None if n == -1 else n for n in lengths])
    except (TypeError, ValueError) as error:
        requested_shape = np.shape(requested)
        raise ValueError(
            f"Padded shape {requested} must be a `tf.int64` vector tensor, but its shape was {requested_shape}."
        ) from error
    element_shape = spec.shape
    fits = element_shape.rank in (None, shape.rank) and (
        element_shape.rank is None
        or all(a is None or b is None or a >= b for a, b in zip(shape, element_shape, strict=True))
    )
    if not fits:
        raise ValueError(
            f"The padded shape {shape} is not compatible with the shape {element_shape} of the corresponding input "
            "component."
        )
    return shape


def _filler(value: Any, dtype: DType) -> Any:
    if value is None:
        return b"" if dtype is string else dtype.np_dtype.type(0)
    fill_dtype = value.dtype if isinstance(value, Tensor) else None
    tensor = on_host(as_tensor, value)
    if (fill_dtype or tensor.dtype) is not dtype:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {tensor.dtype!s} does not match type {dtype!s} of "
            "the corresponding input component."
        )
    return tensor.numpy()


def _fill_up(values: Sequence[Tensor], target: TensorShape, filler: Any) -> Tensor:
    arrays = [host_array_of(value) for value in values]
    longest = [max(lengths) for lengths in zip(*(array.shape for array in arrays), strict=True)]
    shape = [
        longest_length if requested is None else requested
        for requested, longest_length in zip(target, longest, strict=True)
    ]
    if any(longest_length > room for longest_length, room in zip(longest, shape, strict=True)):
        raise at_next(DataLossError, "Attempted to pad to a smaller size than the input element.")
    batch = np.empty((len(arrays), *shape), arrays[0].dtype)
    batch.fill(filler)
    for row, array in enumerate(arrays):
        batch[(row, *map(slice, array.shape), ...)] = array
    return tensor_on_host(batch, values[0].dtype)
