"""NumPy's products of arrays, on tensors."""

from __future__ import annotations

from typing import Any

from nbtf._ops import broadcasting, diagonals, linalg
from nbtf._ops import einsum as sums
from nbtf._ops.elementwise import multiply
from nbtf._ops.shape import squeeze
from nbtf._runtime.tensor import Tensor
from nbtf.experimental.numpy.promotion import alike, asarray


def matmul(x1: Any, x2: Any) -> Tensor:
    """Returns the product of matrices; a vector stands for a row on the left and a column on the right.

    >>> tf.experimental.numpy.matmul([1, 2], [3, 4]).numpy()
    np.int64(11)
    """
    one, other = alike(x1, x2)
    row, column = len(one.shape) == 1, len(other.shape) == 1
    product = linalg.matmul(one[None, :] if row else one, other[:, None] if column else other)
    axes = ([-2] if row else []) + ([-1] if column else [])
    return squeeze(product, axes) if axes else product


def dot(a: Any, b: Any) -> Tensor:
    """Returns sums of products over the last axis of the first and the last but one of the second."""
    one, other = alike(a, b)
    if not one.shape.rank or not other.shape.rank:
        return multiply(one, other)
    return sums.tensordot(one, other, [[-1], [-1 if other.shape.rank == 1 else -2]])


def inner(a: Any, b: Any) -> Tensor:
    """Returns sums of products over the last axes."""
    one, other = alike(a, b)
    return (
        multiply(one, other) if not one.shape.rank or not other.shape.rank else sums.tensordot(one, other, [[-1], [-1]])
    )


def vdot(a: Any, b: Any) -> Tensor:
    """Returns the sum of all products."""
    one, other = alike(a, b)
    return broadcasting.reduce_sum(multiply(broadcasting.reshape(one, [-1]), broadcasting.reshape(other, [-1])))


def outer(a: Any, b: Any) -> Tensor:
    """Returns the products of each value with each."""
    one, other = alike(a, b)
    return multiply(broadcasting.reshape(one, [-1, 1]), broadcasting.reshape(other, [1, -1]))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Returns sums of products over axes."""
    one, other = alike(a, b)
    return sums.tensordot(one, other, axes)


def einsum(subscripts: str, *operands: Any) -> Tensor:
    """Returns sums of products as a formula of letters says."""
    return sums.einsum(subscripts, *alike(*(asarray(one) for one in operands)))


def trace(a: Any) -> Tensor:
    """Returns the sum of the diagonal."""
    return diagonals.trace(asarray(a))
