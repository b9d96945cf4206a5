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
SPARSE = Made(lambda: tf.sparse.SparseTensor(PLACES, VALUES, [2, 2]))
WILD = Made(lambda: tf.sparse.SparseTensor(PLACES[::-1], VALUES, [2, 2]))


def from_values(values: Any) -> Any:
    return tf.sparse.to_dense(tf.sparse.SparseTensor(PLACES, values, [2, 2]))


SAMPLES = [
    Sample("SparseToDense", tf.sparse.to_dense, [SPARSE], DENSE),
    Sample("SparseToDense", tf.sparse.to_dense, [SPARSE, 7.0], np.array([[7.0, 2.0], [3.0, 7.0]])),
    Sample("SparseToDense", from_values, [VALUES], DENSE, differentiable=[0]),
    Sample("SparseReorder", tf.sparse.reorder, [WILD], [PLACES, VALUES[::-1], [2, 2]]),
    Sample("SparseTensorDenseMatMul", tf.sparse.sparse_dense_matmul, [SPARSE, B], DENSE @ B),
    Sample("SparseTensorDenseMatMul", tf.sparse.sparse_dense_matmul, [SPARSE, B, True, True], DENSE.T @ B.T),
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
