"""The product of two sparse tensors, under the private names in TensorFlow that Keras calls for it."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.coordinates import gather_nd
from nbtf._ops.arrays.creation import ones_like
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.linalg.products import matmul
from nbtf._ops.math.comparison import greater, where
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, to_dense
from nbtf._types import DType, float32, int64

__all__ = ["csr_sparse_matrix_to_sparse_tensor", "sparse_matrix_sparse_mat_mul", "sparse_tensor_to_csr_sparse_matrix"]


def sparse_tensor_to_csr_sparse_matrix(indices: Any, values: Any, dense_shape: Any) -> SparseTensor:
    """Returns a sparse matrix, or a batch of them; nbtf has no other format for it than `SparseTensor`."""
    return SparseTensor(indices, values, dense_shape)


def csr_sparse_matrix_to_sparse_tensor(matrix: SparseTensor, type: DType) -> SparseTensor:
    """Returns a sparse matrix as a sparse tensor."""
    return matrix


def sparse_matrix_sparse_mat_mul(
    a: SparseTensor, b: SparseTensor, type: DType, transpose_a: bool = False, transpose_b: bool = False
) -> SparseTensor:
    """Returns the product of two sparse matrices, which stores each element that stored elements contribute to."""
    product = matmul(to_dense(a), to_dense(b), transpose_a, transpose_b)
    left, right = [to_dense(matrix.with_values(ones_like(matrix.values, float32))) for matrix in (a, b)]
    pairs = matmul(left, right, transpose_a, transpose_b)
    indices: Any = where(greater(pairs, 0.0))
    return SparseTensor(indices, gather_nd(product, indices), shape(product, int64))
