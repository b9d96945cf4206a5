"""`tf.RaggedTensor`: rows of different lengths, stored as a tensor of values and the positions where rows start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.joining import concat
from nbtf._ops.attributes import as_ints
from nbtf._ops.ragged_and_sparse.ragged_rows import gathered, merged, summed
from nbtf._ops.ragged_and_sparse.ragged_shape import DynamicRaggedShape
from nbtf._ops.ragged_and_sparse.row_splits import (
    RaggedTensorToTensor,
    check_rowids,
    check_splits,
    kept_lengths,
    splits_of,
)
from nbtf._runtime.attributes import reads
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, TensorLike, int64
from nbtf.errors import UnimplementedError

_HOST: Any = CPU.xp
"""NumPy, since row positions are in host memory."""


class RaggedTensor:
    """A tensor with rows of different lengths.

    Created by `tf.ragged.constant`, `tf.strings.split`, and `tf.RaggedTensor.from_row_splits` and related methods.
    Arithmetic and comparisons work with numbers and with ragged tensors of the same row lengths; functions of
    `tf.strings` accept ragged tensors too. For other ops, use `to_tensor()`, `flat_values` or
    `tf.ragged.map_flat_values`.

    Differences from TensorFlow: `len(rt)` is the number of rows.

    >>> rt = tf.ragged.constant([[1, 2, 3], [4]])
    >>> rt, rt.shape
    (<tf.RaggedTensor [[1, 2, 3], [4]]>, TensorShape([2, None]))
    """

    __slots__ = ("__weakref__", "_row_splits", "_uniform", "_values")

    # Makes NumPy leave `array + ragged` to the ragged tensor.
    __array_priority__ = 100

    def __init__(self, values: Tensor | RaggedTensor, row_splits: Tensor, uniform: int | None = None) -> None:
        self._values = values
        self._row_splits = row_splits
        self._uniform = uniform

    # Creation

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor made from values and row splits.

        Args:
          values: the concatenated rows, a tensor or a ragged tensor.
          row_splits: row `i` is `values[row_splits[i]:row_splits[i + 1]]`.
          validate: whether to check that the splits fit the values; True by default.

        Raises:
          InvalidArgumentError: if the splits do not start at 0, decrease, or do not end at the number of values.

        >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        values = _tensor_or_ragged(values)
        splits = as_tensor(row_splits, None if isinstance(row_splits, Tensor) else int64)
        if validate:
            check_splits(splits, len(values))
        return cls(values, splits)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor made from values and row lengths; see `from_row_splits`.

        >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        return cls.from_row_splits(values, splits_of(as_ints(row_lengths)), validate=validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor made from values and row start positions; see `from_row_splits`.

        >>> tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2])
        <tf.RaggedTensor [[1, 2], [3]]>
        """
        values = _tensor_or_ragged(values)
        return cls.from_row_splits(values, [*as_ints(row_starts), len(values)], validate=validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor made from values and row end positions; see `from_row_splits`.

        >>> tf.RaggedTensor.from_row_limits([1, 2, 3], [2, 3])
        <tf.RaggedTensor [[1, 2], [3]]>
        """
        return cls.from_row_splits(values, [0, *as_ints(row_limits)], validate=validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: TensorLike,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Returns a ragged tensor made from values and their row numbers; rows without values are empty.

        >>> tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2])
        <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        rowids = as_ints(value_rowids)
        if validate:
            check_rowids(rowids)
        count = (rowids[-1] + 1 if rowids else 0) if nrows is None else as_ints(nrows)[0]
        lengths = [0] * count
        for row in rowids:
            lengths[row] += 1
        return cls.from_row_lengths(values, lengths, validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor whose rows all have the same length.

        >>> tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).shape
        TensorShape([2, 2])
        """
        values, length = _tensor_or_ragged(values), as_ints(uniform_row_length)[0]
        count = (len(values) // length if length else 0) if nrows is None else as_ints(nrows)[0]
        ragged = cls.from_row_splits(values, [length * i for i in range(count + 1)], validate=validate)
        ragged._uniform = length
        return ragged

    @classmethod
    def from_tensor(
        cls,
        tensor: TensorLike,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
    ) -> RaggedTensor:
        """Returns a matrix, or a tensor of higher rank, as a ragged tensor.

        Args:
          tensor: a tensor of shape `[rows, columns, ...]`.
          lengths: number of elements of each row to keep; all by default.
          padding: a value that is removed from the end of rows; none by default.
          ragged_rank: only 1 is supported.

        Raises:
          ValueError: if both `lengths` and `padding` are given, or `tensor` has fewer than two axes.

        >>> tf.RaggedTensor.from_tensor([[1, 0], [3, 4]], padding=0)
        <tf.RaggedTensor [[1], [3, 4]]>
        """
        dense = as_tensor(tensor)
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if ragged_rank != 1 or len(dense.shape) < 2:
            raise ValueError(f"ragged_rank must be 1 and the rank at least 2; got {ragged_rank} and {dense.shape.rank}")
        rows, columns = dense._array.shape[:2]
        values = reshape(dense, [rows * columns, *dense.shape[2:]])
        if lengths is None and padding is None:
            return cls.from_uniform_row_length(values, columns, rows)
        array = dense.numpy()
        row_lengths = kept_lengths(array, padding) if lengths is None else as_ints(lengths)
        chosen = [array[row, :length] for row, length in enumerate(row_lengths)]
        return cls.from_row_lengths(as_tensor(_HOST.concatenate(chosen), dense.dtype), row_lengths)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[TensorLike], name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Returns a ragged tensor with several levels of splits, outermost first; see `from_row_splits`.

        >>> tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]])
        <tf.RaggedTensor [[[1, 2]], [[3]]]>
        """
        ragged = flat_values
        for splits in reversed(nested_row_splits):
            ragged = cls.from_row_splits(ragged, splits, validate=validate)
        return ragged

    # Properties

    dtype: DType = reads("_values.dtype", "The dtype of the elements.")

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes; None for ragged axes."""
        rows = self._row_splits._array.shape[0] - 1
        return TensorShape([rows, self._uniform, *self._values.shape[1:]])

    def get_shape(self) -> TensorShape:
        """Returns `shape`."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of levels of splits."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    values: Tensor | RaggedTensor = reads("_values", "The concatenated rows.")

    @property
    def flat_values(self) -> Tensor:
        """The concatenated innermost values."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    row_splits: Tensor = reads("_row_splits", "The positions in `values` where rows start and end.")

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all levels, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def uniform_row_length(self) -> int | None:
        """The length of all rows if they are known to be equal, else None."""
        return self._uniform

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Returns the number of rows."""
        return as_tensor(len(self), out_type or self._row_splits.dtype)

    def row_starts(self, name: str | None = None) -> Tensor:
        """Returns the positions in `values` where rows start."""
        return self._of_splits(self._splits()[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Returns the positions in `values` where rows end."""
        return self._of_splits(self._splits()[1:])

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor:
        """Returns the lengths of the rows; only `axis=1` is supported."""
        if axis != 1:
            raise UnimplementedError(f"row_lengths supports only axis 1, not {axis}")
        return self._of_splits(_HOST.diff(self._splits()))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Returns the row lengths of all levels, outermost first."""
        inner = self._values.nested_row_lengths() if isinstance(self._values, RaggedTensor) else ()
        return (self.row_lengths(), *inner)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Returns the row number of each value."""
        splits = self._splits()
        return self._of_splits(_HOST.repeat(_HOST.arange(len(splits) - 1), _HOST.diff(splits)))

    def bounding_shape(self, axis: int | None = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """Returns the smallest shape that all rows fit into, or one of its lengths if `axis` is given.

        >>> tf.ragged.constant([[1, 2, 3], [4]]).bounding_shape().numpy()
        array([2, 3])
        """
        bounds = self._bounds()
        return as_tensor(bounds if axis is None else bounds[axis], out_type or self._row_splits.dtype)

    def _bounds(self) -> list[int]:
        lengths = _HOST.diff(self._splits())
        inner = self._values._bounds() if isinstance(self._values, RaggedTensor) else list(self._values._array.shape)
        return [len(lengths), int(lengths.max(initial=0)), *inner[1:]]

    def _splits(self) -> Any:
        return self._row_splits.numpy()

    def _of_splits(self, array: Any) -> Tensor:
        return as_tensor(array, self._row_splits.dtype)

    # Conversion

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same row splits and other values."""
        return RaggedTensor(_tensor_or_ragged(new_values), self._row_splits, self._uniform)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Returns a ragged tensor with the same row splits on all levels and other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def _with_converted(self, dtype: DType, convert: Callable[[Any, DType], Any]) -> RaggedTensor:
        return self.with_flat_values(convert(self.flat_values, dtype))

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Returns a ragged tensor, or a tensor, with the axes from `outer_axis` to `inner_axis` merged into one.

        Args:
          outer_axis: the first axis to merge, counted from the end if negative.
          inner_axis: the last axis to merge.

        Raises:
          ValueError: if an axis does not exist, or `outer_axis` is behind `inner_axis`.

        >>> tf.ragged.constant([[[1, 2], [3]], [[4]]]).merge_dims(0, 1)
        <tf.RaggedTensor [[1, 2], [3], [4]]>
        """
        return merged(self, outer_axis, inner_axis)

    @staticmethod
    def _gather(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
        """Returns slices where `params` or `indices` are ragged, for `tf.gather`."""
        return gathered(params, indices, axis, batch_dims)

    def _sum(self, axis: Any, keepdims: bool) -> Any:
        """Returns sums along axes, for `tf.reduce_sum`."""
        return summed(self, axis, keepdims)

    def _shape_as_tensor(self, dtype: DType) -> DynamicRaggedShape:
        """Returns the lengths of the axes, for `tf.shape`."""
        return DynamicRaggedShape(self, dtype)

    def to_list(self) -> list[Any]:
        """Returns the elements as nested Python lists.

        >>> tf.ragged.constant([["a"], []]).to_list()
        [[b'a'], []]
        """
        splits = self._splits()
        inner = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        return [inner[begin:end] for begin, end in pairwise(splits)]

    def numpy(self) -> Any:
        """Returns a NumPy array of rows, or an ordinary array if all rows have the same length."""
        rows: list[Any] = _HOST.split(self._values.numpy(), self._splits()[1:-1]) if len(self) else []
        if not rows:
            return _HOST.array([], self.dtype.np_dtype)
        return _HOST.array(rows, object if any(len(row) != len(rows[0]) for row in rows) else None)

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """Returns a tensor with short rows padded.

        Args:
          default_value: the padding, a scalar of the same dtype; by default zero, the empty string or False.
          shape: lengths to truncate or pad to; None for a length means the longest row.

        Returns:
          A tensor of shape `bounding_shape()`, or `shape`.

        >>> tf.ragged.constant([[1, 2], [3]]).to_tensor().numpy()
        array([[1, 2],
               [3, 0]], dtype=int32)
        """
        if default_value is None:
            default_value = {"O": b"", "b": False}.get(self.dtype.np_dtype.kind, 0)
        asked_lengths = [None] * len(self.shape) if shape is None else TensorShape(shape).as_list()
        lengths = tuple(bound if n is None else n for n, bound in zip(asked_lengths, self._bounds(), strict=True))
        default = as_tensor(default_value, self.dtype)
        return RaggedTensorToTensor(self.flat_values, default, self.nested_row_splits, shape=lengths, name=name)

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Raises an error, since ops that take tensors cannot handle rows."""
        raise UnimplementedError(
            "A RaggedTensor was passed where a tensor is required. Use its .to_tensor() or .flat_values, or apply the "
            "function with tf.ragged.map_flat_values(function, ragged)."
        )

    # Python protocols

    def __len__(self) -> int:
        return self._row_splits._array.shape[0] - 1

    def __iter__(self) -> Iterator[Tensor | RaggedTensor]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Returns a row, several rows, or parts of rows: `rt[1]`, `rt[1:]`, `rt[1, 2]`, `rt[:, 1:]`."""
        keys: tuple[Any, ...] = tuple(cast("Sequence[Any]", key)) if isinstance(key, tuple) else (key,)
        first, inner_keys = (keys[0], keys[1:]) if keys else (slice(None), ())
        if first.__class__ is slice:
            return self._slice_rows(first)._each(inner_keys)
        if first is None or first is Ellipsis:
            raise UnimplementedError("A ragged tensor can be indexed only with integers and slices")
        row = self._row(as_ints(first)[0])
        return row[inner_keys] if inner_keys else row

    def _row(self, row: int) -> Any:
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"Row key {row} out of bounds")
        begin, end = self._splits()[row % rows :][:2].tolist()
        return self._values[begin:end]

    def _slices(self) -> list[Any]:
        """Returns the rows, for `tf.map_fn`."""
        return [*self]

    def _slice_rows(self, rows: slice) -> RaggedTensor:
        if rows == slice(None):
            return self
        chosen = range(len(self))[rows]
        if chosen.step == 1:
            splits = self._splits()
            begin, end = int(splits[chosen.start]), int(splits[max(chosen.start, chosen.stop)])
            row_starts = splits[chosen.start : max(chosen.start, chosen.stop) + 1] - begin
            return RaggedTensor(self._values[begin:end], self._of_splits(row_starts), self._uniform)
        return self._gathered([self._row(row) for row in chosen])

    def _each(self, keys: Sequence[Any]) -> RaggedTensor:
        """Returns a ragged tensor with the rest of a key applied to each row."""
        if not keys:
            return self
        if not isinstance(keys[0], slice):
            raise ValueError("Cannot index into an inner ragged dimension.")
        return self._gathered([self._row(row)[tuple(keys)] for row in range(len(self))])

    def _gathered(self, rows: Sequence[Any]) -> RaggedTensor:
        """Returns a ragged tensor made from rows, each a tensor or a ragged tensor."""
        splits = self._of_splits(splits_of([len(row) for row in rows]))
        return RaggedTensor(_joined(rows) if rows else self._values[0:0], splits)

    def __repr__(self) -> str:
        with _HOST.printoptions(formatter={"all": _row_text}):
            return f"<tf.RaggedTensor {_row_text(self.numpy())}>"

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable.")


def _row_text(value: Any) -> str:
    if not isinstance(value, _HOST.ndarray):
        return str(value)
    return _HOST.array2string(value, separator=", ") if value.size else repr(value.tolist())


def _tensor_or_ragged(value: Any) -> Any:
    return value if isinstance(value, RaggedTensor) else as_tensor(value)


def _joined(rows: Sequence[Any]) -> Any:
    """Returns concatenated rows, which are tensors or ragged tensors."""
    if not isinstance(rows[0], RaggedTensor):
        return concat(rows, 0)
    lengths = [length for row in rows for length in _HOST.diff(row._splits()).tolist()]
    splits = as_tensor(splits_of(lengths), rows[0].row_splits.dtype)
    return RaggedTensor(_joined([row.values for row in rows]), splits)
