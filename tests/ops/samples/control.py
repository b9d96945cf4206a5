"""What maps and loops are tried on."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.arange(6, dtype=np.float32).reshape(2, 3)

SAMPLES = [
    Sample("NoOp", tf.no_op, []),
    Sample("Pack", tf.map_fn, [tf.reduce_sum, X], X.sum(1), differentiable=[1]),
    Sample("Pack", tf.vectorized_map, [tf.square, X], X**2, differentiable=[1]),
    Sample("Pack", tf.scan, [tf.add, X], np.cumsum(X, 0), differentiable=[1]),
    Sample("Unpack", tf.foldl, [tf.add, X], X.sum(0), differentiable=[1]),
    Sample("Unpack", tf.foldr, [tf.subtract, X], X[1] - X[0], differentiable=[1]),
]
