"""What constant, fill, range and their kin are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.array([[0.5, 1.5]], np.float32)
D = np.array([1.0, -2.0])
T = np.array([b"a", b"b"], object)
PLACES = np.array([[0, 2], [-1, 1]], np.int32)

SAMPLES = [
    Sample("Fill", tf.fill, [[2, 3], np.array(1.5, np.float32)], np.full((2, 3), 1.5), differentiable=[1]),
    Sample("Fill", tf.fill, [[], np.int64(7)], np.int64(7)),
    Sample("Fill", tf.fill, [2, "a"], np.array([b"a", b"a"], object)),
    Sample("Fill", tf.fill, [[0, 2], True], np.zeros((0, 2), bool)),
    Sample("Fill", tf.zeros, [[2, 1], tf.string], np.array([[b""], [b""]], object)),
    Sample("Fill", tf.ones, [[3], tf.bool], np.ones(3, bool)),
    Sample("Fill", tf.constant, [[7], tf.int64, [2, 2]], np.full((2, 2), 7)),
    Sample("ZerosLike", tf.zeros_like, [X], np.zeros((1, 2), np.float32)),
    Sample("ZerosLike", tf.zeros_like, [T], np.array([b"", b""], object)),
    Sample("OnesLike", tf.ones_like, [PLACES], np.ones((2, 2), np.int32)),
    Sample("OnesLike", tf.ones_like, [np.array([False])], np.array([True])),
    Sample("Range", tf.range, [3], np.arange(3, dtype=np.int32)),
    Sample("Range", tf.range, [5, 0, -2], np.array([5, 3, 1], np.int32)),
    Sample("Range", tf.range, [0.0, 1.0, 0.3], np.arange(4, dtype=np.float32) * np.float32(0.3)),
    Sample("Range", tf.range, [np.int64(1), 4], np.arange(1, 4)),
    Sample("Range", tf.range, [4], np.arange(4, dtype=np.float16), {"dtype": tf.float16}),
    Sample("LinSpace", tf.linspace, [np.array(0.0), np.array(10.0), 4], np.linspace(0, 10, 4), differentiable=[0, 1]),
    Sample(
        "LinSpace", tf.linspace, [D, D + 1, 3], np.linspace(D, D + 1, 3, axis=1), {"axis": -1}, differentiable=[0, 1]
    ),
    Sample("LinSpace", tf.linspace, [D, D[:1], 1], D[None], differentiable=[0]),
    Sample("LinSpace", tf.linspace, [0, 1, 3], np.array([0.0, 0.5, 1.0])),
    Sample("OneHot", tf.one_hot, [PLACES, 3], np.array([[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 1, 0]]], np.float32)),
    Sample("OneHot", tf.one_hot, [PLACES[0], 3, 5, 1, 0], np.array([[5, 1], [1, 1], [1, 5]], np.int32)),
    Sample("OneHot", tf.one_hot, [np.uint8(1), 2], np.array([False, True]), {"on_value": True, "off_value": False}),
    Sample("MatrixDiagV3", tf.eye, [2], np.eye(2, dtype=np.float32)),
    Sample(
        "MatrixDiagV3", tf.eye, [2], np.broadcast_to(np.eye(2), (3, 2, 2)), {"batch_shape": [3], "dtype": tf.float64}
    ),
    Sample("MatrixSetDiagV3", tf.eye, [2, 3], np.eye(2, 3, dtype=np.float32)),
    *(Sample("MatrixSetDiagV3", tf.eye, [2, 3], np.eye(2, 3, dtype=d), {"dtype": d}) for d in ("bool", "complex64")),
    Sample("Mul", tf.meshgrid, [D, X[0].astype(np.float64)], np.meshgrid(D, X[0].astype(np.float64))),
]
