"""Samples of the ops on sparse and on ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Made, Sample

PLACES = np.array([[0, 1], [1, 0]], np.int64)
VALUES = np.array([2.0, 3.0], np.float32)
DENSE = np.array([[0.0, 2.0], [3.0, 0.0]], np.float32)
B = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
V3 = np.array([2.0, 3.0, -1.5], np.float32)
M3 = np.array([[1.0, 2.0], [3.0, 4.0], [-0.5, 1.5]], np.float32)
Z3 = np.array([1 + 2j, -0.5 + 1j, 2 - 1j], np.complex64)
Z2 = np.array([[1 + 1j, 2 - 0.5j], [-1j, 0.5 + 2j]], np.complex64)
SPARSE = Made(lambda: tf.sparse.SparseTensor(PLACES, VALUES, [2, 2]))
WILD = Made(lambda: tf.sparse.SparseTensor(PLACES[::-1], VALUES, [2, 2]))


def from_values(values: Any) -> Any:
    return tf.sparse.to_dense(tf.sparse.SparseTensor(PLACES, values, [2, 2]))


def product_of_values(values: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    sparse = tf.sparse.SparseTensor([[0, 1], [1, 0], [1, 2]], values, [2, 3])
    return tf.sparse.sparse_dense_matmul(sparse, b, adjoint_a, adjoint_b)


SAMPLES = [
    Sample("SparseToDense", tf.sparse.to_dense, [SPARSE], DENSE),
    Sample("SparseToDense", tf.sparse.to_dense, [SPARSE, 7.0], np.array([[7.0, 2.0], [3.0, 7.0]])),
    Sample("SparseToDense", from_values, [VALUES], DENSE, differentiable=[0]),
    Sample("SparseReorder", tf.sparse.reorder, [WILD], [PLACES, VALUES[::-1], [2, 2]]),
    Sample("SparseTensorDenseMatMul", tf.sparse.sparse_dense_matmul, [SPARSE, B], DENSE @ B),
    Sample("SparseTensorDenseMatMul", tf.sparse.sparse_dense_matmul, [SPARSE, B, True, True], DENSE.T @ B.T),
    *(
        Sample("SparseTensorDenseMatMul", product_of_values, [V3, b, *adjoint], differentiable=[0, 1])
        for b, adjoint in ((M3, (False, False)), (M3.T.copy(), (False, True)), (B, (True, False)), (B, (True, True)))
    ),
    Sample("SparseTensorDenseMatMul", product_of_values, [Z3, Z2, True, True], differentiable=[0, 1]),
    Sample(
        "RaggedTensorToTensor",
        tf.RaggedTensor.to_tensor,
        [Made(tf.ragged.constant, [[1], [], [2, 3]])],
        [[[1, 0], [0, 0], [2, 3]]],
    ),
    Sample(
        "RaggedTensorToTensor",
        tf.RaggedTensor.to_tensor,
        [Made(tf.ragged.constant, [[["a"]], [["b", "c"], ["d"]]]), "-"],
        np.array([[[b"a", b"-"], [b"-", b"-"]], [[b"b", b"c"], [b"d", b"-"]]], object),
    ),
]
