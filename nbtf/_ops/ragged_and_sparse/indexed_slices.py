"""`tf.IndexedSlices`: some rows of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.coordinates import scatter_nd
from nbtf._ops.arrays.joining import concat
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.attributes import as_ints
from nbtf._ops.math.arithmetic import cast, negative
from nbtf._runtime.attributes import reads
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape
from nbtf._types import DType, TensorLike, int64


class IndexedSlices:
    """Rows of a larger tensor: `dense[indices[i]]` is `values[i]`; all other rows are zero.

    Args:
      values: the rows, shape `[n, d1, ..., dk]`.
      indices: the row numbers, shape `[n]`; values of repeated rows are summed.
      dense_shape: the shape of the larger tensor, if known.

    >>> print(tf.IndexedSlices([[1.0, 2.0]], [3]))
    IndexedSlices(indices=[3], values=[[1.0, 2.0]])
    """

    def __init__(self, values: TensorLike, indices: TensorLike, dense_shape: TensorLike | None = None) -> None:
        self._values: Any = values
        self._indices: Any = indices
        self._dense_shape: Any = dense_shape

    values: Any = reads("_values", "The rows, in the given order.")

    indices: Any = reads("_indices", "The row numbers.")

    dense_shape: Any = reads("_dense_shape", "The shape of the larger tensor, if known.")

    @property
    def shape(self) -> TensorShape:
        """The shape of the larger tensor, as far as it is known."""
        return TensorShape(None if self._dense_shape is None else as_ints(self._dense_shape))

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return as_tensor(self._values).dtype

    @property
    def device(self) -> str:
        """The full name of the device that holds the rows."""
        return as_tensor(self._values).device

    def _with_converted(self, dtype: DType, convert: Callable[[Any, DType], Any]) -> IndexedSlices:
        return IndexedSlices(convert(self._values, dtype), self._indices, self._dense_shape)

    def __neg__(self) -> IndexedSlices:
        """Returns the slices with negated values."""
        return IndexedSlices(negative(self._values), self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"

    def __tf_tensor__(self, dtype: DType | None = None) -> Tensor:
        """Returns the larger tensor, for ops that take a tensor."""
        if self._dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices for argument `value` without dense_shape: {self}"
            )
        indices = as_tensor(self._indices)
        values = as_tensor(self._values, dtype)
        return scatter_nd(expand_dims(indices, -1), values, cast(self._dense_shape, indices.dtype))


def join_indices(parts: Sequence[IndexedSlices]) -> Tensor:
    """Returns the concatenated indices of several slices, as int64 unless all are int32.

    Source: TensorFlow, `math_ops._as_indexed_slices_list`.
    """
    indices = [as_tensor(part.indices) for part in parts]
    if len({tensor.dtype for tensor in indices}) > 1:
        indices = [tensor if tensor.dtype is int64 else cast(tensor, int64) for tensor in indices]
    return concat(indices, 0)
