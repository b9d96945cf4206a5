"""NumPy's products of arrays, on tensors."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays import broadcasting
from nbtf._ops.arrays.shapes import squeeze
from nbtf._ops.linalg import diagonals, products
from nbtf._ops.linalg import einsum as contractions
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.reductions import sums
from nbtf._runtime.tensor import Tensor
from nbtf.experimental.numpy.promotion import alike, asarray


def matmul(x1: Any, x2: Any) -> Tensor:
    """Returns the product of matrices; a vector stands for a row on the left and a column on the right.

    >>> tf.experimental.numpy.matmul([1, 2], [3, 4]).numpy()
    np.int64(11)
    """
    left, right = alike(x1, x2)
    row, column = len(left.shape) == 1, len(right.shape) == 1
    product = products.matmul(left[None, :] if row else left, right[:, None] if column else right)
    axes = ([-2] if row else []) + ([-1] if column else [])
    return squeeze(product, axes) if axes else product


def dot(a: Any, b: Any) -> Tensor:
    """Returns sums of products over the last axis of the first and the last but one of the second."""
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
    """Returns the sum of all products."""
    left, right = alike(a, b)
    return sums.reduce_sum(multiply(broadcasting.reshape(left, [-1]), broadcasting.reshape(right, [-1])))


def outer(a: Any, b: Any) -> Tensor:
    """Returns the products of each value with each."""
    left, right = alike(a, b)
    return multiply(broadcasting.reshape(left, [-1, 1]), broadcasting.reshape(right, [1, -1]))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Returns sums of products over axes."""
    left, right = alike(a, b)
    return contractions.tensordot(left, right, axes)


def einsum(subscripts: str, *operands: Any) -> Tensor:
    """Returns sums of products as a formula of letters says."""
    return contractions.einsum(subscripts, *alike(*(asarray(operand) for operand in operands)))


def trace(a: Any) -> Tensor:
    """Returns the sum of the diagonal."""
    return diagonals.trace(asarray(a))
