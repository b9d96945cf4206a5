"""`tf.experimental.DynamicRaggedShape`: what `tf.shape` returns for a ragged tensor."""

from __future__ import annotations

from typing import Any

from nbtf._ops.ragged_and_sparse.ragged_rows import is_ragged
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import UnimplementedError


class DynamicRaggedShape:
    """The lengths of a ragged tensor's axes, of which only uniform ones have an index.

    >>> shape = tf.shape(tf.ragged.constant([[1, 2], [], [3]]))
    >>> shape, shape[0].numpy()
    (<DynamicRaggedShape lengths=[3, (2, 0, 1)] num_row_partitions=1>, np.int32(3))
    """

    def __init__(self, ragged: Any, dtype: DType) -> None:
        """Reads the lengths of a ragged tensor; those that are indexed get the dtype."""
        self._dtype = dtype
        self._lengths: list[Any] = [len(ragged)]
        self._is_uniform = [True]
        rows: Any = ragged
        while is_ragged(rows):
            uniform = rows.uniform_row_length
            self._lengths.append(tuple(rows.row_lengths().numpy().tolist()) if uniform is None else uniform)
            self._is_uniform.append(uniform is not None)
            rows = rows.values
        inner = rows.shape.as_list()[1:]
        self._lengths += inner
        self._is_uniform += [True] * len(inner)
        self._partitions = ragged.ragged_rank

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._lengths)

    @property
    def num_row_partitions(self) -> int:
        """The number of levels of row splits."""
        return self._partitions

    def __getitem__(self, index: Any) -> Tensor:
        """Returns the length of a uniform axis.

        Raises:
          UnimplementedError: if the index is not an integer.
          ValueError: if the lengths along the axis differ.
        """
        if not hasattr(index, "__index__"):
            raise UnimplementedError("The shape of a ragged tensor can be indexed only with integers.")
        number = index.__index__()
        if not -self.rank <= number < self.rank:
            raise IndexError(f"Axis {number} does not exist: the ragged tensor has {self.rank} axes.")
        if not self._is_uniform[number]:
            raise ValueError(f"Index {number} is not uniform")
        return as_tensor(self._lengths[number], self._dtype)

    def __repr__(self) -> str:
        lengths = ", ".join(map(str, self._lengths))
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self._partitions}>"
