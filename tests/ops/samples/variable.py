"""Samples of the ops that read and assign variables."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from nbtf._ops.variables.resource import read_variable
from tests.ops.samples import Made, Sample

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
D = np.array([[0.5, -1.0], [2.0, 0.0]], np.float32)
N = np.array([1, 2, 3], np.int32)
Z = np.array([1 + 2j, 3.0], np.complex64)
T = np.array(["a", "b"], object)

PLACES = np.array([[0], [2], [0]], np.int32)
UPDATES = np.array([10, 20, 30], np.int32)

SAMPLES = [
    Sample("VarHandleOp", tf.Variable, [X], X),
    Sample("VarHandleOp", tf.Variable, [N], N),
    Sample("VarHandleOp", tf.Variable, [T], np.array([b"a", b"b"], object)),
    Sample("ReadVariableOp", tf.Variable.value, [Made(tf.Variable, X)], X),
    Sample("ReadVariableOp", tf.Variable.read_value, [Made(tf.Variable, True)], True),
    Sample("ReadVariableOp", read_variable, [X], X, differentiable=[0]),
    Sample("AssignVariableOp", tf.Variable.assign, [Made(tf.Variable, X), D], D),
    Sample("AssignVariableOp", tf.Variable.assign, [Made(tf.Variable, 1.0), 2], 2.0),
    Sample("AssignVariableOp", tf.Variable.assign, [Made(tf.Variable, T), ["c", "d"]], np.array([b"c", b"d"], object)),
    Sample("AssignAddVariableOp", tf.Variable.assign_add, [Made(tf.Variable, X), D], X + D),
    Sample("AssignAddVariableOp", tf.Variable.assign_add, [Made(tf.Variable, 3), 4], 7),
    Sample("AssignAddVariableOp", tf.Variable.assign_add, [Made(tf.Variable, Z), Z], Z + Z),
    Sample("AssignSubVariableOp", tf.Variable.assign_sub, [Made(tf.Variable, X), D], X - D),
    Sample("AssignSubVariableOp", tf.Variable.assign_sub, [Made(tf.Variable, 3.0), 0.0], 3.0),
    Sample(
        "ResourceStridedSliceAssign", tf.Variable._assign_part, [Made(tf.Variable, N), slice(1, None), 9], [[1, 9, 9]]
    ),
    Sample(
        "ResourceStridedSliceAssign",
        tf.Variable._assign_part,
        [Made(tf.Variable, X), (..., 1), D[0]],
        np.array([[1.0, 0.5], [3.0, -1.0]]),
    ),
    Sample(
        "ResourceScatterNdUpdate",
        tf.Variable.scatter_nd_update,
        [Made(tf.Variable, N), PLACES[:2], [7, 8]],
        [[7, 2, 8]],
    ),
    Sample(
        "ResourceScatterNdUpdate",
        tf.Variable.scatter_nd_update,
        [Made(tf.Variable, X), [[1]], D[:1]],
        [[*X[:1], *D[:1]]],
    ),
    Sample("ResourceScatterNdAdd", tf.Variable.scatter_nd_add, [Made(tf.Variable, N), PLACES, UPDATES], [[41, 2, 23]]),
    Sample(
        "ResourceScatterNdSub", tf.Variable.scatter_nd_sub, [Made(tf.Variable, N), PLACES, UPDATES], [[-39, 2, -17]]
    ),
    Sample(
        "ResourceScatterUpdate",
        tf.Variable.scatter_update,
        [Made(tf.Variable, N), Made(tf.IndexedSlices, [7, 8], [2, 0])],
        [[8, 2, 7]],
    ),
    Sample(
        "ResourceScatterAdd",
        tf.Variable.scatter_add,
        [Made(tf.Variable, N), Made(tf.IndexedSlices, UPDATES, [2, 0, 2])],
        [[21, 2, 43]],
    ),
    Sample(
        "ResourceScatterMax",
        tf.Variable.scatter_max,
        [Made(tf.Variable, N), Made(tf.IndexedSlices, [0, 9, 8], [1, 2, 2])],
        [[1, 2, 9]],
    ),
    Sample(
        "ResourceScatterMin",
        tf.Variable.scatter_min,
        [Made(tf.Variable, X), Made(tf.IndexedSlices, D, [1, 1])],
        np.array([X[0], np.minimum(np.minimum(X[1], D[0]), D[1])]),
    ),
    Sample(
        "ResourceScatterMul",
        tf.Variable.scatter_mul,
        [Made(tf.Variable, N), Made(tf.IndexedSlices, [2, 3, 4], [2, 0, 2])],
        [[3, 2, 24]],
    ),
    Sample(
        "ResourceScatterMul",
        tf.Variable.scatter_mul,
        [Made(tf.Variable, X), Made(tf.IndexedSlices, X, [1, 1])],
        np.array([X[0], X[1] * X[0] * X[1]]),
    ),
    Sample(
        "ResourceScatterDiv",
        tf.Variable.scatter_div,
        [Made(tf.Variable, [7, -7, 40]), Made(tf.IndexedSlices, [2, 2, 4, 3], [0, 1, 2, 2])],
        [[3, -3, 3]],
    ),
    Sample(
        "ResourceScatterDiv",
        tf.Variable.scatter_div,
        [Made(tf.Variable, X), Made(tf.IndexedSlices, X, [1, 1])],
        np.array([X[0], X[1] / X[0] / X[1]]),
    ),
    Sample("ResourceScatterNdMax", tf.Variable.scatter_nd_max, [Made(tf.Variable, N), PLACES, UPDATES], [[30, 2, 20]]),
    Sample("ResourceScatterNdMin", tf.Variable.scatter_nd_min, [Made(tf.Variable, N), PLACES, UPDATES], [[1, 2, 3]]),
    Sample(
        "ResourceScatterSub",
        tf.Variable.scatter_sub,
        [Made(tf.Variable, X), Made(tf.IndexedSlices, D, [1, 1])],
        np.array([X[0], X[1] - D[0] - D[1]]),
    ),
]
