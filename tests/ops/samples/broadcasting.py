"""What reshape, broadcast_to and reduce_sum are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)

SAMPLES = [
    Sample("Reshape", tf.reshape, [NUMBERS, [3, 2]], NUMBERS.reshape(3, 2), differentiable=[0]),
    Sample("Reshape", tf.reshape, [NUMBERS, -1], NUMBERS.ravel()),
    Sample("Reshape", tf.reshape, [np.zeros((0, 2), np.int32), (2, 0)], np.zeros((2, 0), np.int32)),
    Sample("BroadcastTo", tf.broadcast_to, [NUMBERS, [2, 2, 3]], np.stack([NUMBERS, NUMBERS]), differentiable=[0]),
    Sample("BroadcastTo", tf.broadcast_to, [np.int64(3), [2]], np.array([3, 3])),
    Sample("Sum", tf.reduce_sum, [NUMBERS], NUMBERS.sum(), differentiable=[0]),
    Sample("Sum", tf.reduce_sum, [NUMBERS, 1], NUMBERS.sum(1), differentiable=[0]),
    Sample("Sum", tf.reduce_sum, [NUMBERS, [0, -1], True], NUMBERS.sum(keepdims=True), differentiable=[0]),
    Sample("Sum", tf.reduce_sum, [np.array([2**31 - 1, 1], np.int32)], np.int32(-(2**31))),
    Sample("Sum", tf.reduce_sum, [np.ones(300, np.uint8)], np.uint8(44)),
    Sample("Sum", tf.reduce_sum, [np.zeros((0, 2), np.float64), 0], np.zeros(2)),
]
