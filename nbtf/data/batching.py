"""Pipeline steps that combine elements and split them again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.structure import flatten
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorSpec
from nbtf.data.elements import (
    at_next,
    host_array_of,
    join_elements,
    leaves,
    on_host,
    packer,
    tensor_on_host,
    wrap_message,
)
from nbtf.data.specs import DatasetSpec, RaggedTensorSpec, batch_of, each, row_of, spec_of
from nbtf.data.stage import Maker, Stage, chunks, runs
from nbtf.errors import InvalidArgumentError


class Batched(Stage, op="BatchDatasetV2", constants=2):
    """Batches of elements, with one more axis."""

    def __init__(self, source: Stage, size: int, drop_remainder: bool, parallel: bool = False) -> None:
        """Stores the batch size, and whether to drop a smaller last batch.

        Raises:
          InvalidArgumentError: if the size is not positive.
        """
        if parallel:
            self.class_name: str = "_ParallelBatchDataset"
            self.op: str = "ParallelBatchDataset"
            self.constants: int = 3
        if size <= 0:
            raise InvalidArgumentError(wrap_message(self.op, "Batch size must be greater than zero."))
        self.inputs: tuple[Stage, ...] = (source,)
        self._size, self._whole = size, drop_remainder
        self._min_rows: int = size if drop_remainder else 1

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The input's spec with one more axis, whose length is known only if no batch can be smaller."""
        return batch_of(self.inputs[0].spec, self._size if self._whole else None)

    def cardinality(self) -> int:
        """Returns the number of batches."""
        length = self.inputs[0].cardinality()
        if length < 0:
            return length
        return length // self._size if self._whole else -(-length // self._size)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        source, size = self.inputs[0], self._size
        if source.columns is None:
            return self.join_groups()
        rows, span = source.columns.rows, source.span
        groups = chunks(source.picks(), size) if span is None else runs(span, size)
        return (rows(group) for group in groups if len(group) >= self._min_rows)

    def join_groups(self) -> Iterator[Any]:
        """Starts a pass that joins elements individually, even if they are rows of arrays."""
        groups = chunks(self.inputs[0].start(), self._size)
        return (self.join(chunk) for chunk in groups if len(chunk) >= self._min_rows)

    def sample(self) -> list[Any]:
        """Returns a batch of one element."""
        return [self.join([element]) for element in self.inputs[0].sample()]

    def join(self, elements: Sequence[Any]) -> Any:
        """Returns a batch of elements."""
        return join_elements(elements)


class RaggedBatched(Batched, op="BatchDatasetV2"):
    """Batches of elements whose first axes may differ in length."""

    @property
    def spec(self) -> Any:
        """The batch spec, in which values of unknown length are ragged."""
        spec = batch_of(self.inputs[0].spec, self._size if self._whole else None)

        def make_ragged(component: Any) -> Any:
            if isinstance(component, TensorSpec) and None in component.shape[1:]:
                return RaggedTensorSpec(component.shape, component.dtype)
            return component

        return each(make_ragged, spec)

    start = Batched.join_groups

    def join(self, elements: Sequence[Any]) -> Any:
        """Returns a batch of elements, ragged where the spec leaves lengths unknown."""
        specs = flatten(self.spec)
        columns = zip(*map(leaves, elements), strict=True)
        pairs = zip(specs, columns, strict=True)
        columns_joined = [
            _ragged_of(column) if isinstance(spec, RaggedTensorSpec) else join_elements(column)
            for spec, column in pairs
        ]
        return packer(elements[0])(columns_joined)


def _ragged_of(rows: Sequence[Any]) -> RaggedTensor:
    arrays = [host_array_of(row) for row in rows]
    values = tensor_on_host(np.concatenate(arrays), rows[0].dtype)
    return on_host(RaggedTensor.from_row_lengths, values, [len(array) for array in arrays])


class Unbatched(Stage, op="UnbatchDataset"):
    """The rows of each element, one by one."""

    def __init__(self, source: Stage) -> None:
        """Stores the input.

        Raises:
          ValueError: if a value is a scalar, without rows.
        """
        self.inputs: tuple[Stage, ...] = (source,)
        if any(spec.shape.rank == 0 for spec in flatten(source.spec)):
            raise ValueError("Cannot unbatch an input with scalar components.")
        self.spec: Any = row_of(source.spec)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        for batch in self.inputs[0].start():
            yield from rows_of(batch)


def rows_of(batch: Any) -> Iterator[Any]:
    """Yields the rows of a batch.

    Raises:
      InvalidArgumentError: if its values differ in their number of rows.
    """
    columns, pack = leaves(batch), packer(batch)
    count = len(columns[0])
    if any(len(leaf) != count for leaf in columns):
        raise at_next(InvalidArgumentError, "Input shapes are incompatible: the number of rows differs.")
    for row in range(count):
        yield pack([cut(leaf, row) for leaf in columns])


def cut(leaf: Any, key: Any) -> Any:
    """Returns one or several rows of a value."""
    if leaf.__class__ is Tensor:
        return tensor_on_host(host_array_of(leaf)[key, ...], leaf.dtype)
    return on_host(leaf.__getitem__, key)


class Rebatched(Stage, op="RebatchDatasetV2", constants=2):
    """The same rows in batches of other sizes, which are used in turn."""

    def __init__(self, source: Stage, sizes: Sequence[int], drop_remainder: bool) -> None:
        """Stores the sizes, and whether to drop a smaller last batch.

        Raises:
          ValueError: if elements have no rows.
        """
        self.inputs: tuple[Stage, ...] = (source,)
        if any(spec.shape.rank == 0 for spec in flatten(source.spec)):
            raise ValueError(
                "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar elements. "
                "Fix the issue by adding the `batch` transformation to the dataset."
            )
        self._sizes, self._whole = tuple(sizes), drop_remainder
        self.spec: Any = batch_of(row_of(source.spec), self._certain_length())

    def _certain_length(self) -> int | None:
        """Returns the length of all batches, if it is the same and known."""
        shapes = [spec.shape for spec in flatten(self.inputs[0].spec)]
        batch_lengths = {shape[0] for shape in shapes if shape.rank is not None and shape[0] is not None}
        if len(batch_lengths) > 1:
            raise ValueError(f"Invalid `input_dataset.` The lengths of its batches differ: {sorted(batch_lengths)}.")
        size, *other_sizes = set(self._sizes)
        even = self._whole or any(length % size == 0 for length in batch_lengths)
        return size if even and not other_sizes else None

    def start(self) -> Iterator[Any]:
        """Starts a pass; if possible, a new batch is a slice of an input batch."""
        turn = 0
        waiting: deque[Any] = deque()
        rows = 0
        for batch in self.inputs[0].start():
            waiting.append(batch)
            rows += len(leaves(batch)[0])
            while rows >= self._sizes[turn]:
                size = self._sizes[turn]
                yield _front(waiting, size)
                rows -= size
                turn = (turn + 1) % len(self._sizes)
        if rows and not self._whole:
            yield _front(waiting, rows)


def _front(waiting: deque[Any], count: int) -> Any:
    """Removes and returns the first rows of a queue of batches."""
    columns_of_batches: list[Any] = []
    like = waiting[0]
    pack = packer(like)
    while count or not columns_of_batches:
        batch = waiting.popleft()
        columns = leaves(batch)
        row_count = min(count, len(columns[0]))
        columns_of_batches.append([cut(leaf, slice(0, row_count)) for leaf in columns])
        if row_count < len(columns[0]):
            waiting.appendleft(pack([cut(leaf, slice(row_count, None)) for leaf in columns]))
        count -= row_count
    return pack([_concatenate(column) for column in zip(*columns_of_batches, strict=True)])


def _concatenate(tensors: Sequence[Tensor]) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    return tensor_on_host(np.concatenate([host_array_of(tensor) for tensor in tensors]), tensors[0].dtype)


class Windows(Stage, op="WindowDataset", constants=4):
    """Windows: datasets of neighbouring elements."""

    def __init__(self, source: Stage, size: int, shift: int, stride: int, drop_remainder: bool) -> None:
        """Stores the window size, the distance between window starts, and the distance within a window.

        Raises:
          InvalidArgumentError: if any of them is not positive.
        """
        for name, number in (("size", size), ("shift", shift), ("stride", stride)):
            if number <= 0:
                text = f"Window {name} must be greater than zero."
                raise InvalidArgumentError(wrap_message(self.op, text))
        self.inputs: tuple[Stage, ...] = (source,)
        self._size, self._shift, self._stride, self._whole = size, shift, stride, drop_remainder

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A dataset for each value of an element."""
        return each(DatasetSpec, self.inputs[0].spec)

    def cardinality(self) -> int:
        """Returns the number of windows."""
        length = self.inputs[0].cardinality()
        if length < 0:
            return length
        if self._whole:
            span = (self._size - 1) * self._stride + 1
            return max(0, (length - span) // self._shift + 1)
        return -(-length // self._shift)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        elements = self.inputs[0].start()
        span = (self._size - 1) * self._stride + 1
        buffer = deque(islice(elements, span))
        while buffer:
            window = list(islice(buffer, 0, None, self._stride))
            if len(window) == self._size or not self._whole:
                yield self._datasets(window)
            for _ in range(self._shift):
                if buffer:
                    buffer.popleft()
                else:
                    next(elements, None)
            buffer.extend(islice(elements, span - len(buffer)))

    def _datasets(self, elements: list[Any]) -> Any:
        columns = zip(*map(leaves, elements), strict=True)
        return packer(elements[0])([Maker.dataset(Listed(column)) for column in columns])


class Listed(Stage, op="", class_name="_VariantDataset"):
    """Elements that exist already."""

    def __init__(self, elements: Sequence[Any], spec: Any = None) -> None:
        """Stores the elements, and their spec in case the list is empty."""
        self._elements = list(elements)
        self.spec: Any = spec_of(self._elements[0]) if spec is None else spec

    def cardinality(self) -> int:
        """Returns the number of elements, as in TensorFlow."""
        return len(self._elements)

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        return iter(self._elements)
