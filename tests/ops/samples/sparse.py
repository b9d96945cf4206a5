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
HALF = Made(lambda: tf.sparse.SparseTensor(PLACES[:1], VALUES[:1], [2, 2]))
COUNTED = Made(lambda: tf.sparse.SparseTensor([[0], [2], [5]], np.array([1, 3, 1]), [6]))
SET = Made(lambda: tf.sparse.SparseTensor([[0, 1]], np.array([1]), [2, 2]))
IDS = Made(lambda: tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 2], [2, 2]))
WIDE_PLACES = np.array([[0, 1], [0, 3], [1, 0], [1, 2]], np.int64)
PAIR = Made(lambda: [tf.sparse.SparseTensor(PLACES, VALUES, [2, 2])] * 2)
WILD = Made(lambda: tf.sparse.SparseTensor(PLACES[::-1], VALUES, [2, 2]))


def from_values(values: Any) -> Any:
    return tf.sparse.to_dense(tf.sparse.SparseTensor(PLACES, values, [2, 2]))


def product_of_values(values: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    sparse = tf.sparse.SparseTensor([[0, 1], [1, 0], [1, 2]], values, [2, 3])
    return tf.sparse.sparse_dense_matmul(sparse, b, adjoint_a, adjoint_b)


def with_values(values: Any, count: int = 3) -> Any:
    return tf.sparse.SparseTensor([[0, 0], [0, 2], [2, 1]][:count], values, [4, 3])


def filled_values(values: Any, default_value: Any) -> Any:
    return tf.sparse.fill_empty_rows(with_values(values, 2), default_value)[0].values


def sum_of_values(values: Any) -> Any:
    return tf.sparse.reduce_sum(with_values(values), 1)


def maximum_of_values(values: Any) -> Any:
    return tf.sparse.reduce_max(with_values(values), 1)


def sum_of_two(first: Any, second: Any) -> Any:
    return tf.sparse.add(with_values(first, 2), with_values(second)).values


def times(values: Any, dense: Any) -> Any:
    return (tf.sparse.SparseTensor(PLACES, values, [2, 2]) * dense).values


def over(values: Any, dense: Any) -> Any:
    return (tf.sparse.SparseTensor(PLACES, values, [2, 2]) / dense).values


A_LETTER = Made(tf.SparseTensor, [[0, 0]], ["a"], [1, 1])

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
    Sample("SparseReshape", tf.sparse.reshape, [SPARSE, [4]], [[[1], [2]], VALUES, [4]]),
    Sample("SparseConcat", tf.sparse.concat, [1, PAIR], [WIDE_PLACES, VALUES[[0, 0, 1, 1]], [2, 4]]),
    Sample(
        "SparseFillEmptyRows", tf.sparse.fill_empty_rows, [HALF, 7.0], [[[0, 1], [1, 0]], [2, 7], [2, 2], [False, True]]
    ),
    Sample("SparseFillEmptyRows", filled_values, [V3[:2], np.array(4.0, np.float32)], differentiable=[0, 1]),
    Sample("SparseFillEmptyRowsGrad", tf.raw_ops.SparseFillEmptyRowsGrad, [np.array([0, 2]), V3], [V3[[0, 2]], V3[1]]),
    Sample("SparseCross", tf.sparse.cross_hashed, [[A_LETTER], 100], [[[0, 0]], [15], [1, 1]]),
    Sample("SparseReduceSum", tf.sparse.reduce_sum, [SPARSE, 1], DENSE.sum(1)),
    Sample("SparseReduceSum", tf.sparse.reduce_sum, [SPARSE, None, True], DENSE.sum(keepdims=True)),
    Sample("SparseReduceSum", sum_of_values, [V3], differentiable=[0]),
    Sample("SparseReduceMax", tf.sparse.reduce_max, [SPARSE, 0], DENSE.max(0)),
    Sample("SparseReduceMax", maximum_of_values, [V3], differentiable=[0]),
    Sample("SparseReduceSumSparse", tf.sparse.reduce_sum, [SPARSE, 1, False, True], [[[0], [1]], VALUES, [2]]),
    Sample("SparseReduceMaxSparse", tf.sparse.reduce_max, [SPARSE, 1, True, True], [[[0, 0], [1, 0]], VALUES, [2, 1]]),
    Sample("SparseAdd", tf.sparse.add, [SPARSE, SPARSE], [PLACES, 2 * VALUES, [2, 2]]),
    Sample("SparseAdd", sum_of_two, [VALUES, V3], differentiable=[0, 1]),
    Sample("SparseAddGrad", tf.raw_ops.SparseAddGrad, [VALUES, PLACES, PLACES[1:], PLACES], [VALUES, VALUES[1:]]),
    Sample("SparseSparseMaximum", tf.sparse.maximum, [SPARSE, HALF], [PLACES, VALUES, [2, 2]]),
    Sample("SparseSparseMinimum", tf.sparse.minimum, [SPARSE, HALF], [PLACES, [2, 0], [2, 2]]),
    Sample("SparseDenseCwiseMul", tf.SparseTensor.__mul__, [SPARSE, B], [PLACES, VALUES * [2, 3], [2, 2]]),
    Sample("SparseDenseCwiseMul", times, [VALUES, B[:1]], differentiable=[0, 1]),
    Sample("SparseDenseCwiseDiv", tf.SparseTensor.__truediv__, [SPARSE, B], [PLACES, VALUES / [2, 3], [2, 2]]),
    Sample("SparseDenseCwiseDiv", over, [VALUES, B[:, :1]], differentiable=[0, 1]),
    Sample(
        "DenseCountSparseOutput", tf.sparse.bincount, [Made(lambda: np.array([1, 3, 1]))], [[[1], [3]], [2, 1], [4]]
    ),
    Sample("SparseCountSparseOutput", tf.sparse.bincount, [COUNTED], [[[1], [3]], [2, 1], [4]]),
    Sample(
        "DenseToDenseSetOperation",
        tf.sets.intersection,
        [Made(lambda: np.array([[1, 2, 3]])), np.array([[3, 1]])],
        [[[0, 0], [0, 1]], [1, 3], [1, 2]],
    ),
    Sample(
        "DenseToSparseSetOperation",
        tf.sets.union,
        [np.array([[4, 9], [7, 7]]), SET],
        [[[0, 0], [0, 1], [0, 2], [1, 0]], [1, 4, 9, 7], [2, 3]],
    ),
    Sample("SparseToSparseSetOperation", tf.sets.difference, [SET, SET], [np.zeros((0, 2)), [], [2, 0]]),
    Sample("SetSize", tf.sets.size, [SET], [1, 0]),
    *(
        Sample(
            f"SparseSegment{kind}",
            tf.nn.embedding_lookup_sparse,
            [M3, IDS, None, combiner],
            np.stack([(M3[0] + M3[2]) / factor, M3[2]]),
            differentiable=[0],
        )
        for kind, combiner, factor in (("Sum", "sum", 1), ("Mean", "mean", 2), ("SqrtN", "sqrtn", np.sqrt(2)))
    ),
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
