"""What indexing, gathering, scattering, searching and partitions are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from nbtf._ops.arrays.indexing import Masks
from tests.ops.samples import Sample

X = np.arange(6, dtype=np.float32).reshape(2, 3)
N = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
C = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7
T = np.array([b"a", b"b", b"c"], object)
ROWS = np.array([[0], [2], [0]], np.int32)
POINTS = np.array([[0, 1], [1, 2], [0, 1]], np.int64)

KEYS: list[Any] = [
    0,
    -1,
    slice(1, None),
    slice(None, None, -1),
    Ellipsis,
    None,
    (1, 2),
    (0, -1, 3),
    (slice(None), 1),
    (slice(0, 2), slice(2, 0, -1)),
    (Ellipsis, 0),
    (0, Ellipsis, slice(1, 3)),
    (None, 0, None),
    (),
    slice(5, 1),
    (slice(-9, 9), slice(None, None, 2)),
    [1, 0],
    np.int64(1),
    (True, 0),
]


def as_numpy_key(key: Any) -> Any:
    """Returns what NumPy needs to be told: a list is a tuple, and a boolean in it a number."""
    if isinstance(key, list | tuple):
        return tuple(int(part) if isinstance(part, bool) else part for part in key)
    return key


SLICED = [
    Sample("StridedSlice", tf.Tensor.__getitem__, [C, key], C[as_numpy_key(key)], differentiable=[0]) for key in KEYS
]

INDEXING = [
    *SLICED,
    Sample("StridedSlice", tf.Tensor.__getitem__, [T, 1], b"b"),
    Sample("StridedSlice", tf.Tensor.__getitem__, [N, (np.array(1), slice(np.array(1), None))], N[1, 1:]),
    Sample("StridedSlice", tf.strided_slice, [N, [0, 2], [2, 0], [1, -1]], N[0:2, 2:0:-1]),
    Sample("StridedSlice", tf.strided_slice, [X, [0, 1], [2, 2]], X[:, 1], {"shrink_axis_mask": 2}, differentiable=[0]),
    Sample(
        "StridedSliceGrad",
        tf.raw_ops.StridedSliceGrad,
        [X[0]],
        np.array([[0.0, 0, 0], [2, 1, 0]]),
        {
            "shape": [2, 3],
            "begin": [1, 0],
            "end": [2, 0],
            "strides": [1, -1],
            "masks": Masks(begin=2, end=2, shrink_axis=1),
        },
        differentiable=[0],
    ),
]

GATHERING = [
    Sample("GatherNd", tf.gather_nd, [X, POINTS], np.array([1.0, 5.0, 1.0]), differentiable=[0]),
    Sample("GatherNd", tf.gather_nd, [C, ROWS % 2], C[[0, 0, 0]], differentiable=[0]),
    Sample("GatherNd", tf.gather_nd, [N, ROWS[:2], 1], np.stack([N[0, 0], N[1, 2]])),
    Sample("GatherNd", tf.gather_nd, [T, ROWS], T[[0, 2, 0]]),
    Sample("ScatterNd", tf.scatter_nd, [ROWS, X[0], [4]], np.array([2.0, 0, 1, 0]), differentiable=[1]),
    Sample("ScatterNd", tf.scatter_nd, [ROWS[:2], X, [3, 3]], np.stack([X[0], X[0] * 0, X[1]]), differentiable=[1]),
    Sample("ScatterNd", tf.scatter_nd, [ROWS[:2], T[:2], [3]], np.array([b"a", b"", b"b"], object)),
    Sample("ScatterNd", tf.scatter_nd, [POINTS, np.ones(3, np.int32), [2, 3]], np.array([[0, 2, 0], [0, 0, 1]])),
    Sample("GatherV2", tf.gather, [X, np.array([1, 0, 1])], X[[1, 0, 1]], differentiable=[0]),
    Sample("GatherV2", tf.gather, [C, np.array([[2, 0]], np.int32)], C[:, [[2, 0]]], {"axis": 1}, differentiable=[0]),
    Sample(
        "GatherV2", tf.gather, [X, np.array([2, 0], np.int32)], X[[0, 1], [2, 0]], {"batch_dims": 1}, differentiable=[0]
    ),
    Sample(
        "GatherV2",
        tf.gather,
        [C, np.array([[3, 0, 3], [1, 1, 2]])],
        np.take_along_axis(C, np.array([[3, 0, 3], [1, 1, 2]])[:, None], 2),
        {"axis": -1, "batch_dims": 1},
        differentiable=[0],
    ),
    Sample("GatherV2", tf.gather, [T, np.int16(2)], b"c"),
    Sample("GatherV2", tf.gather, [X, np.zeros((0,), np.int32)], X[:0]),
    Sample(
        "GatherV2",
        tf.boolean_mask,
        [X, np.array([[True, False, True], [False, True, False]])],
        np.array([0.0, 2, 4]),
        differentiable=[0],
    ),
    Sample("GatherV2", tf.boolean_mask, [N, np.array([True, False, True]), 1], N[:, [0, 2]]),
    Sample("GatherV2", tf.Tensor.__getitem__, [X, X > 1], X[X > 1], differentiable=[0]),
    Sample("GatherV2", tf.repeat, [X, [1, 2], 0], np.repeat(X, [1, 2], 0), differentiable=[0]),
    Sample("Tile", tf.repeat, [N, 2, -1], np.repeat(N, 2, -1)),
    Sample("Tile", tf.repeat, [X, 3], np.repeat(X, 3), differentiable=[0]),
]

SCATTERING = [
    Sample(
        "TensorScatterUpdate",
        tf.tensor_scatter_nd_update,
        [X[0], ROWS[:2], X[1, :2]],
        np.array([3.0, 1, 4]),
        differentiable=[0, 2],
    ),
    Sample(
        "TensorScatterUpdate", tf.tensor_scatter_nd_update, [T, ROWS[1:2], T[:1]], np.array([b"a", b"b", b"a"], object)
    ),
    Sample(
        "TensorScatterAdd", tf.tensor_scatter_nd_add, [X[0], ROWS, X[1]], np.array([8.0, 1, 6]), differentiable=[0, 2]
    ),
    Sample(
        "TensorScatterAdd",
        tf.tensor_scatter_nd_add,
        [N[0], ROWS, N[1, :3]],
        np.stack([N[0, 0] + N[1, 0] + N[1, 2], N[0, 1], N[0, 2] + N[1, 1]]),
    ),
    Sample(
        "TensorScatterSub", tf.tensor_scatter_nd_sub, [X[0], ROWS, X[1]], np.array([-8.0, 1, -2]), differentiable=[0, 2]
    ),
    Sample(
        "TensorScatterMax",
        tf.tensor_scatter_nd_max,
        [X, POINTS[:2], X[0, :2] + 0.5],
        np.array([[0.0, 1, 2], [3, 4, 5]]),
        differentiable=[0, 2],
    ),
    Sample(
        "TensorScatterMin",
        tf.tensor_scatter_nd_min,
        [X, POINTS[:2], X[0, :2] + 0.5],
        np.array([[0.0, 0.5, 2], [3, 4, 1.5]]),
        differentiable=[0, 2],
    ),
]

SEARCHING = [
    Sample("Unique", tf.unique, [np.array([5, 7, 5, 1], np.int32)], [np.array([5, 7, 1]), np.array([0, 1, 0, 2])]),
    Sample("Unique", tf.unique, [T, tf.int64], [T, np.arange(3)]),
    Sample(
        "UniqueWithCounts", tf.unique_with_counts, [np.array([2.5, 1, 2.5])], [np.array([2.5, 1]), [0, 1, 0], [2, 1]]
    ),
    Sample("LowerBound", tf.searchsorted, [X, X + 0.5], np.array([[1, 2, 3]] * 2)),
    Sample("LowerBound", tf.searchsorted, [X[0], X[0, ::-1]], np.array([2, 1, 0])),
    Sample(
        "UpperBound",
        tf.searchsorted,
        [N[0], N[0]],
        np.array([[1, 2, 3, 4]] * 3),
        {"side": "right", "out_type": tf.int64},
    ),
    Sample("InvertPermutation", tf.math.invert_permutation, [np.array([2, 0, 1])], np.array([1, 2, 0])),
    Sample("Less", tf.sequence_mask, [np.array([1, 3], np.int32)], np.array([[True, False, False], [True] * 3])),
    Sample("DynamicPartition", tf.dynamic_partition, [X[0], [0, 1, 0], 2], [X[0, ::2], X[0, 1:2]], differentiable=[0]),
    Sample(
        "DynamicPartition",
        tf.dynamic_partition,
        [N, [[0, 0, 2], [0, 2, 2]], 3],
        [N[[0, 0, 1], [0, 1, 0]], N[:0, 0], N[[0, 1, 1], [2, 1, 2]]],
    ),
    Sample(
        "DynamicStitch",
        tf.dynamic_stitch,
        [[[0, 3], [1]], [X[:, :2], X[1:, :2]]],
        np.stack([X[0, :2], X[1, :2], X[0, :2] * 0, X[1, :2]]),
        differentiable=[1],
    ),
]

SAMPLES = [*INDEXING, *GATHERING, *SCATTERING, *SEARCHING]
