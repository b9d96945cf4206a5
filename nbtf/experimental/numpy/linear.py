"""NumPy's products of arrays, for tensors."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays import broadcasting
from nbtf._ops.arrays.shapes import squeeze, transpose
from nbtf._ops.linalg import diagonals, products
from nbtf._ops.linalg import einsum as contractions
from nbtf._ops.math.arithmetic import multiply
from nbtf._runtime.tensor import Tensor
from nbtf.experimental.numpy.arrays import axis_of
from nbtf.experimental.numpy.promotion import alike, asarray
from nbtf.experimental.numpy.reductions import sum


def matmul(x1: Any, x2: Any) -> Tensor:
    """Returns the product of matrices; a vector counts as a row on the left and as a column on the right.

    >>> tf.experimental.numpy.matmul([1, 2], [3, 4]).numpy()
    np.int64(11)
    """
    left, right = alike(x1, x2)
    row, column = len(left.shape) == 1, len(right.shape) == 1
    product = products.matmul(left[None, :] if row else left, right[:, None] if column else right)
    axes = ([-2] if row else []) + ([-1] if column else [])
    return squeeze(product, axes) if axes else product


def dot(a: Any, b: Any) -> Tensor:
    """Returns sums of products over the last axis of `a` and the second-to-last axis of `b`."""
    left, right = alike(a, b)
    if not left.shape.rank or not right.shape.rank:
        return multiply(left, right)
    return contractions.tensordot(left, right, [[-1], [-1 if right.shape.rank == 1 else -2]])


def inner(a: Any, b: Any) -> Tensor:
    """Returns sums of products over the last axes."""
    left, right = alike(a, b)
    return (
        multiply(left, right)
        if not left.shape.rank or not right.shape.rank
        else contractions.tensordot(left, right, [[-1], [-1]])
    )


def vdot(a: Any, b: Any) -> Tensor:
    """Returns the sum of the products of all elements."""
    left, right = (broadcasting.reshape(tensor, [-1]) for tensor in alike(a, b))
    return contractions.tensordot(left, right, 1)


def outer(a: Any, b: Any) -> Tensor:
    """Returns the products of each value of `a` with each value of `b`."""
    left, right = alike(a, b)
    return multiply(broadcasting.reshape(left, [-1, 1]), broadcasting.reshape(right, [1, -1]))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Returns sums of products over the given axes."""
    left, right = alike(a, b)
    return contractions.tensordot(left, right, axes)


def einsum(subscripts: str, *operands: Any) -> Tensor:
    """Returns sums of products as specified by a formula of letters."""
    return contractions.einsum(subscripts, *alike(*(asarray(operand) for operand in operands)))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Returns the sums along a diagonal of the matrices formed by two axes.

    Args:
      a: an array with at least two axes.
      offset: diagonal to use; 0 for the main diagonal, positive above it.
      axis1: axis of the rows; 0 by default.
      axis2: axis of the columns; 1 by default.
      dtype: dtype of the sums.

    Raises:
      ValueError: if one of the axes does not exist, or if both are the same.

    >>> tf.experimental.numpy.trace([[1, 2], [3, 4]], offset=1).numpy()
    np.int64(2)
    """
    tensor = asarray(a, dtype)
    rank = len(tensor.shape)
    rows, columns = axis_of(tensor, axis1), axis_of(tensor, axis2)
    if rows == columns:
        raise ValueError(f"axis1 and axis2 cannot be the same. Got {axis1} and {axis2}.")
    if offset == 0 and (rows, columns) == (rank - 2, rank - 1):
        return diagonals.trace(tensor)
    order = [axis for axis in range(rank) if axis not in (rows, columns)]
    matrices = transpose(tensor, [*order, rows, columns])
    if not -matrices.shape[-2] < offset < matrices.shape[-1]:
        return sum(matrices[..., :0], (-2, -1), dtype)  # such a diagonal is empty
    return sum(diagonals.diag_part(matrices, k=offset), -1, dtype)
