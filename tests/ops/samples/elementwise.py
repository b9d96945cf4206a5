"""Samples of sums and products, and of conversion."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.array([[1.5, -2.0, 0.25], [3.0, -0.5, 4.0]], np.float32)
Y = np.array([[2.0, 0.5, -4.0]], np.float32)
K = np.array([7, -7, 2147483647, 1], np.int32)
J = np.array([2, 3, 1, -5], np.int32)
U = np.array([250, 3, 0], np.uint8)
Z = np.array([1 + 2j, -0.5 + 1j], np.complex64)
W = np.array([3 - 1j, 2 + 2j], np.complex64)
TEXT = np.array([b"a", b"bc"], object)

SAMPLES = [
    Sample("AddV2", tf.add, [X, Y], X + Y, differentiable=[0, 1]),
    Sample("AddV2", tf.add, [X, 2.0], X + 2),
    Sample("AddV2", tf.add, [K, J], K + J),
    Sample("AddV2", tf.add, [U, 10], U + np.uint8(10)),
    Sample("AddV2", tf.add, [np.float16(1.5).reshape(()), np.array([2.0], np.float16)], np.array([3.5])),
    Sample("Add", tf.add, [TEXT, "x"], [[b"ax", b"bcx"]]),
    Sample("Add", tf.add, ["a", "x"], b"ax"),
    Sample("Sub", tf.subtract, [X, Y], X - Y, differentiable=[0, 1]),
    Sample("Sub", tf.subtract, [U, np.array([1, 4, 1], np.uint8)], [[249, 255, 255]]),
    Sample("Mul", tf.multiply, [X, Y], X * Y, differentiable=[0, 1]),
    Sample("Mul", tf.multiply, [Z, W], Z * W, differentiable=[0, 1]),
    Sample("Mul", tf.multiply, [K, J], K * J),
    Sample("Mul", tf.scalar_mul, [2, X], 2 * X),
    Sample("Conj", tf.math.conj, [Z], Z.conj(), differentiable=[0]),
    Sample("Neg", tf.negative, [X], -X, differentiable=[0]),
    Sample("Neg", tf.negative, [K], -K),
    Sample("AddN", tf.add_n, [[X, 2 * X, 3 * X]], 6 * X, differentiable=[0]),
    Sample("AddN", tf.add_n, [[K, K]], K + K),
    Sample("Cast", tf.cast, [X, tf.float64], X.astype(np.float64)),
    Sample("Cast", tf.cast, [X.astype(np.float64), "float32"], X),
    Sample("Cast", tf.cast, [X, tf.complex128], X.astype(np.complex128), differentiable=[0]),
    Sample("Cast", tf.cast, [Z.astype(np.complex128), tf.float64], Z.real, differentiable=[0]),
    Sample("Cast", tf.cast, [X, "int32"], X.astype(np.int32)),
    Sample("Cast", tf.cast, [K, tf.int8], K.astype(np.int8)),
    Sample("Cast", tf.cast, [Z, tf.float32], Z.real),
    Sample("Cast", tf.cast, [np.array([0.0, -2.0]), tf.bool], np.array([False, True])),
    Sample("Cast", tf.cast, [np.array([True, False]), tf.uint8], np.array([1, 0])),
]
