"""Samples of reductions, running sums, orders and norms."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.array([[1.5, -2.0, 0.25], [3.0, -0.5, 4.0]], np.float32)
CUBE = np.linspace(-2.0, 3.1, 24, dtype=np.float32).reshape(2, 3, 4)
K = np.array([[7, -8, 5], [100, 1, -3]], np.int32)
U = np.array([250, 251, 250], np.uint8)
H = np.array([[1.5, 2.5], [0.5, 4.0]], np.float16)
Z = np.array([[1 + 2j, -0.5 + 1j], [2j, 3.0]], np.complex64)
B = np.array([[True, False], [True, True]])
NOTHING = np.zeros((2, 0), np.float32)
VECTOR = np.array([3.0, -1.0, 2.0, 5.0, -4.0])


def softened(x: np.ndarray, axis: int | None = None, keepdims: bool = False) -> np.ndarray:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


SAMPLES = [
    Sample("Mean", tf.reduce_mean, [X], X.mean(), differentiable=[0]),
    Sample("Mean", tf.reduce_mean, [X, 0], X.mean(0), differentiable=[0]),
    Sample("Mean", tf.reduce_mean, [CUBE, [0, -1], True], CUBE.mean((0, 2), keepdims=True), differentiable=[0]),
    Sample("Mean", tf.reduce_mean, [H, 1], H.mean(1)),
    Sample("Mean", tf.reduce_mean, [Z, 0], Z.mean(0), differentiable=[0]),
    Sample("Mean", tf.reduce_mean, [K, 1], np.array([1, 32], np.int32)),
    Sample("Mean", tf.reduce_mean, [-K, 1], np.array([-1, -32], np.int32)),
    Sample("Mean", tf.reduce_mean, [U], np.uint8(250)),
    Sample("Mean", tf.reduce_mean, [NOTHING, 1], np.array([np.nan, np.nan])),
    Sample("Mean", tf.reduce_mean, [NOTHING.astype(np.int64), 1], np.array([0, 0])),
    Sample("Max", tf.reduce_max, [X, 1], X.max(1), differentiable=[0]),
    Sample("Max", tf.reduce_max, [CUBE, [0, 2], True], CUBE.max((0, 2), keepdims=True), differentiable=[0]),
    Sample("Max", tf.reduce_max, [K], np.int32(100)),
    Sample("Max", tf.reduce_max, [NOTHING, 1], np.array([-np.inf, -np.inf])),
    Sample("Max", tf.reduce_max, [NOTHING.astype(np.int8), 1], np.array([-128, -128])),
    Sample("Min", tf.reduce_min, [X], X.min(), differentiable=[0]),
    Sample("Min", tf.reduce_min, [U, 0], np.uint8(250)),
    Sample("Min", tf.reduce_min, [NOTHING, 1], np.array([np.inf, np.inf])),
    Sample("Prod", tf.reduce_prod, [X, 0], X.prod(0), differentiable=[0]),
    Sample("Prod", tf.reduce_prod, [CUBE, [0, 2]], CUBE.prod((0, 2)), differentiable=[0]),
    Sample("Prod", tf.reduce_prod, [np.array([2.0, 0.0, 3.0])], 0.0, differentiable=[0]),
    Sample("Prod", tf.reduce_prod, [U], np.prod(U, dtype=np.uint8)),
    Sample("Any", tf.reduce_any, [B, 1], B.any(1)),
    Sample("Any", tf.reduce_any, [B, [0, 1]], True),
    Sample("All", tf.reduce_all, [B, 1], B.all(1)),
    Sample("All", tf.reduce_all, [B, None, True], np.array([[False]])),
    Sample("EuclideanNorm", tf.math.reduce_euclidean_norm, [X, 1], np.linalg.norm(X, axis=1), differentiable=[0]),
    Sample("EuclideanNorm", tf.math.reduce_euclidean_norm, [K, 0], np.array([100, 8, 5], np.int32)),
    Sample("EuclideanNorm", tf.math.reduce_euclidean_norm, [Z], np.linalg.norm(Z)),
    Sample("ArgMax", tf.argmax, [X, 1], np.array([0, 2])),
    Sample("ArgMax", tf.argmax, [B], np.array([0, 1])),
    Sample("ArgMax", tf.argmax, [K, -1, tf.int32], np.array([0, 0], np.int32)),
    Sample("ArgMin", tf.argmin, [X, 1, "int16"], np.array([1, 1], np.int16)),
    Sample("Cumsum", tf.cumsum, [X, 1], np.cumsum(X, 1), differentiable=[0]),
    Sample("Cumsum", tf.cumsum, [X, 1, True, True], [[-1.75, 0.25, 0.0], [3.5, 4.0, 0.0]], differentiable=[0]),
    Sample("Cumsum", tf.cumsum, [U], np.cumsum(U, dtype=np.uint8)),
    Sample("Cumprod", tf.math.cumprod, [X, -1], np.cumprod(X, 1), differentiable=[0]),
    Sample("Cumprod", tf.math.cumprod, [X, 0, True], [[1.0, 1.0, 1.0], [1.5, -2.0, 0.25]], differentiable=[0]),
    Sample("Cumprod", tf.math.cumprod, [X, 1, False, True], np.cumprod(X[:, ::-1], 1)[:, ::-1], differentiable=[0]),
    Sample("Mean", tf.math.reduce_variance, [X, 1], X.var(1), differentiable=[0]),
    Sample("Mean", tf.math.reduce_variance, [Z], Z.var()),
    Sample("Mean", tf.math.reduce_std, [X], X.std(), differentiable=[0]),
    Sample("Max", tf.reduce_logsumexp, [X, 1], softened(X, 1), differentiable=[0]),
    Sample("Max", tf.reduce_logsumexp, [X, 0, True], softened(X, 0, True), differentiable=[0]),
    Sample("Max", tf.reduce_logsumexp, [np.array([-np.inf, -np.inf])], -np.inf),
    Sample("Sum", tf.math.count_nonzero, [K % 7, 1], np.array([2, 3])),
    Sample("Sum", tf.math.count_nonzero, [B, None, True, tf.int32], np.array([[3]], np.int32)),
    Sample("Sum", tf.math.count_nonzero, [np.array([b"", b"a"], object)], 1),
    Sample("Mean", tf.math.zero_fraction, [np.array([0.0, 1.0, 0.0, 3.0])], 0.5),
    Sample("Mean", tf.nn.moments, [X, [0]], [X.mean(0), X.var(0)], differentiable=[0]),
    Sample("Mean", tf.nn.moments, [H, 1], [H.mean(1), H.astype(np.float32).var(1)], tolerance=1e-3),
    Sample("TopKV2", tf.math.top_k, [X, 2], [np.array([[1.5, 0.25], [4.0, 3.0]]), np.array([[0, 2], [2, 0]])]),
    Sample("TopKV2", tf.math.top_k, [CUBE, 3], [CUBE[..., :0:-1], np.broadcast_to([3, 2, 1], (2, 3, 3))]),
    Sample("TopKV2", tf.math.top_k, [np.array([1, 2, 2, 0]), 3], [np.array([2, 2, 1]), np.array([1, 2, 0])]),
    Sample("TopKV2", tf.sort, [X], np.sort(X), differentiable=[0]),
    Sample("TopKV2", tf.sort, [CUBE, 1, "DESCENDING"], np.sort(CUBE, 1)[:, ::-1], differentiable=[0]),
    Sample("TopKV2", tf.sort, [K, 0], np.sort(K, 0)),
    Sample("TopKV2", tf.sort, [U], np.sort(U)),
    Sample("TopKV2", tf.argsort, [U, 0, "DESCENDING"], np.array([1, 0, 2], np.int32)),
    Sample("TopKV2", tf.argsort, [VECTOR], np.argsort(VECTOR).astype(np.int32)),
    Sample("InTopKV2", tf.math.in_top_k, [np.array([0, 2]), X, 2], np.array([True, True])),
    Sample("InTopKV2", tf.math.in_top_k, [np.array([1, 9]), X, 2], np.array([False, False])),
    Sample("Sum", tf.norm, [X], np.linalg.norm(X), differentiable=[0]),
    Sample("Sum", tf.norm, [X, "euclidean", 1, True], np.linalg.norm(X, axis=1, keepdims=True), differentiable=[0]),
    Sample("Sum", tf.norm, [X, 3, 0], np.linalg.norm(X, 3, 0), differentiable=[0]),
    Sample("Sum", tf.norm, [X, 1, [0, 1]], np.linalg.norm(X, 1), differentiable=[0]),
    Sample("Max", tf.norm, [X, np.inf, 1], np.abs(X).max(1), differentiable=[0]),
    Sample("Sum", tf.norm, [X, "fro", (0, 1)], np.linalg.norm(X)),
    Sample("Svd", tf.norm, [CUBE, 2, [0, 2]], np.linalg.norm(CUBE, 2, (0, 2)), tolerance=1e-5),
    Sample("Sum", tf.norm, [Z], np.linalg.norm(Z)),
    Sample("RealDiv", tf.linalg.normalize, [VECTOR], [VECTOR / 55**0.5, [55**0.5]]),
    Sample("Rsqrt", tf.math.l2_normalize, [X, 1], X / np.linalg.norm(X, axis=1, keepdims=True), differentiable=[0]),
    Sample("Rsqrt", tf.math.l2_normalize, [Z], Z / np.linalg.norm(Z)),
    Sample("Maximum", tf.clip_by_norm, [VECTOR, 5.5], VECTOR * 5.5 / 55**0.5, differentiable=[0]),
    Sample("Maximum", tf.clip_by_norm, [np.zeros(2), 1.0], np.zeros(2), differentiable=[0]),
    Sample("L2Loss", tf.linalg.global_norm, [[X, VECTOR[:2].astype(np.float32)]], np.sqrt(np.sum(X**2) + 10)),
    Sample("L2Loss", tf.clip_by_global_norm, [[VECTOR], 5.5], [VECTOR * 5.5 / 55**0.5, 55**0.5]),
    Sample("L2Loss", tf.nn.l2_loss, [X], np.sum(X**2) / 2, differentiable=[0]),
]
