"""Samples of absolute values, signs, squares, the larger of two, and bounds."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import X, Y, Z

K = np.array([-3, 0, 5], np.int64)

SAMPLES = [
    Sample("Abs", tf.abs, [X], np.abs(X), differentiable=[0]),
    Sample("Abs", tf.abs, [K], np.abs(K)),
    Sample("ComplexAbs", tf.abs, [Z], np.abs(Z), differentiable=[0]),
    Sample("Sign", tf.sign, [X], np.sign(X), differentiable=[0]),
    Sample("Sign", tf.sign, [K], np.sign(K)),
    Sample("Sign", tf.sign, [Z], Z / np.abs(Z)),
    Sample("Square", tf.square, [X], X * X, differentiable=[0]),
    Sample("Square", tf.square, [np.array([16, 3], np.uint8)], [[0, 9]]),
    Sample("SquaredDifference", tf.math.squared_difference, [X, Y], (X - Y) ** 2, differentiable=[0, 1]),
    Sample("SquaredDifference", tf.math.squared_difference, [np.array(3), np.array(5)], 4),
    Sample("SquaredDifference", tf.math.squared_difference, [Z, 0], np.abs(Z) ** 2),
    Sample("Maximum", tf.maximum, [X, Y], np.maximum(X, Y), differentiable=[0, 1]),
    Sample("Maximum", tf.maximum, [K, 0], np.maximum(K, 0)),
    Sample("Minimum", tf.minimum, [X, Y], np.minimum(X, Y), differentiable=[0, 1]),
    Sample("Minimum", tf.clip_by_value, [X, -1.0, 2.0], np.clip(X, -1, 2), differentiable=[0]),
    Sample("Maximum", tf.saturate_cast, [np.array([300, -5, 7]), tf.uint8], [[255, 0, 7]]),
    Sample("Maximum", tf.saturate_cast, [np.array([1e300, -1e300]), tf.float32], np.array([1, -1]) * tf.float32.max),
]
