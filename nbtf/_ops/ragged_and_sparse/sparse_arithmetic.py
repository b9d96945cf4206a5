"""`tf.sparse.add`, `maximum` and `minimum`: two sparse tensors, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays.coordinates import gather_nd, scatter_nd
from nbtf._ops.arrays.creation import ones_like, zeros_like
from nbtf._ops.math.arithmetic import add as add_dense
from nbtf._ops.math.comparison import greater_equal, not_equal, where
from nbtf._ops.math.magnitude import abs as magnitude
from nbtf._ops.math.magnitude import maximum as larger
from nbtf._ops.math.magnitude import minimum as smaller
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, to_dense
from nbtf._runtime.conversion import as_tensor
from nbtf._types import int8
from nbtf.errors import InvalidArgumentError


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """Returns the sum of two tensors, of which at least one is sparse.

    Args:
      a: a sparse tensor, or a tensor.
      b: a sparse tensor, or a tensor.
      threshold: sums whose absolute value is smaller are left out; 0 keeps all, even those that cancel out.

    Returns:
      A sparse tensor if both are sparse, at the positions of either; otherwise a tensor.

    Raises:
      TypeError: if neither is sparse.
      InvalidArgumentError: if the shapes differ.

    >>> s = tf.sparse.add(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> tf.sparse.to_dense(s).numpy()
    array([1, 0, 5], dtype=int32)
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        first, second = [to_dense(value) if isinstance(value, SparseTensor) else as_tensor(value) for value in (a, b)]
        return add_dense(first, second)
    total = _combined(add_dense, a, b)
    limit = as_tensor(threshold)
    if not limit.numpy():
        return total
    positions: Any = where(greater_equal(magnitude(total.values), limit))
    return SparseTensor(gather_nd(total.indices, positions), gather_nd(total.values, positions), total.dense_shape)


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns the larger elements of two sparse tensors, at the positions of either.

    >>> s = tf.sparse.maximum(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> tf.sparse.to_dense(s).numpy()
    array([1, 0, 3], dtype=int32)
    """
    return _combined(larger, sp_a, sp_b)


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns the smaller elements of two sparse tensors, at the positions of either.

    >>> s = tf.sparse.minimum(tf.sparse.from_dense([1, 0, 2]), tf.sparse.from_dense([0, 0, 3]))
    >>> s.values.numpy()
    array([0, 2], dtype=int32)
    """
    return _combined(smaller, sp_a, sp_b)


def _combined(function: Callable[[Any, Any], Any], a: Any, b: Any) -> SparseTensor:
    """Returns a function of two sparse tensors at the positions of either, in row-major order."""
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    if a.shape.as_list() != b.shape.as_list():
        raise InvalidArgumentError(f"Operands do not have the same shapes; got {a.shape} and {b.shape}")
    stored = [scatter_nd(value.indices, ones_like(value.values, int8), value.dense_shape) for value in (a, b)]
    either = larger(stored[0], stored[1])
    indices: Any = where(not_equal(either, zeros_like(either)))
    values = [gather_nd(scatter_nd(value.indices, value.values, value.dense_shape), indices) for value in (a, b)]
    return SparseTensor(indices, function(*values), a.dense_shape)
