"""Samples of division in its kinds, and of reciprocals."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import J, K, U, W, X, Y, Z

N = np.array([7, -7, 7, -7, 0], np.int32)
M = np.array([2, 2, -2, -2, 3], np.int32)

SAMPLES = [
    Sample("RealDiv", tf.divide, [X, Y], X / Y, differentiable=[0, 1]),
    Sample("RealDiv", tf.truediv, [Z, W], Z / W, differentiable=[0, 1]),
    Sample("RealDiv", tf.truediv, [K, J], K / J),
    Sample("RealDiv", tf.divide, [U, np.array([4, 2, 0], np.uint8)], np.array([62.5, 1.5, np.nan], np.float32)),
    Sample("DivNoNan", tf.math.divide_no_nan, [X, Y], X / Y, differentiable=[0, 1]),
    Sample("DivNoNan", tf.math.divide_no_nan, [np.array([3.0, np.nan]), np.array([0.0, 0.0])], np.array([0.0, 0.0])),
    Sample("DivNoNan", tf.math.divide_no_nan, [K, 0], np.zeros(4)),
    Sample("FloorDiv", tf.math.floordiv, [X, Y], np.floor(X / Y)),
    Sample("FloorDiv", tf.math.floordiv, [N, M], N // M),
    Sample("FloorDiv", tf.math.floordiv, [np.array([250], np.uint8), np.array([7], np.uint8)], [[35]]),
    Sample("FloorMod", tf.math.floormod, [X, Y], X - np.floor(X / Y) * Y),
    Sample("FloorMod", tf.math.floormod, [X, Y + 0.3], np.mod(X, Y + 0.3), differentiable=[0, 1]),
    Sample("FloorMod", tf.math.mod, [N, M], N % M),
    Sample("TruncateDiv", tf.truncatediv, [X, Y], np.trunc(X / Y)),
    Sample("TruncateDiv", tf.truncatediv, [N, M], np.array([3, -3, -3, 3, 0])),
    Sample("TruncateDiv", tf.truncatediv, [np.array(-7, np.int8), np.array(2, np.int8)], -3),
    Sample("TruncateMod", tf.truncatemod, [X, Y], np.fmod(X, Y)),
    Sample("TruncateMod", tf.truncatemod, [N, M], np.fmod(N, M)),
    Sample("Reciprocal", tf.math.reciprocal, [X], 1 / X, differentiable=[0]),
    Sample("Reciprocal", tf.math.reciprocal, [Z], 1 / Z, differentiable=[0]),
    Sample("DivNoNan", tf.math.reciprocal_no_nan, [np.array([2.0, 0.0])], np.array([0.5, 0.0])),
]
