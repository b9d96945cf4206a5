"""Samples of truth values and bits."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

P = np.array([True, True, False, False])
Q = np.array([True, False, True, False])
K = np.array([6, -5, 0], np.int32)
J = np.array([3, 1, 7], np.int32)
U = np.array([200, 7], np.uint8)

SAMPLES = [
    Sample("LogicalAnd", tf.logical_and, [P, Q], P & Q),
    Sample("LogicalAnd", tf.math.logical_xor, [P, Q], P ^ Q),
    Sample("LogicalOr", tf.logical_or, [P, True], P | True),
    Sample("LogicalNot", tf.logical_not, [P], ~P),
    Sample("BitwiseAnd", tf.bitwise.bitwise_and, [K, J], K & J),
    Sample("BitwiseOr", tf.bitwise.bitwise_or, [K, J], K | J),
    Sample("BitwiseXor", tf.bitwise.bitwise_xor, [K, J], K ^ J),
    Sample("Invert", tf.bitwise.invert, [K], ~K),
    Sample("Invert", tf.bitwise.invert, [U], ~U),
    Sample("LeftShift", tf.bitwise.left_shift, [K, J], K << J),
    Sample("LeftShift", tf.bitwise.left_shift, [U, 1], [[144, 14]]),
    Sample("RightShift", tf.bitwise.right_shift, [K, J], K >> J),
    Sample("RightShift", tf.bitwise.right_shift, [np.array(-8, np.int8), 99], -1),
]
