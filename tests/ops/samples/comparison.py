"""Samples of comparisons and of choosing by them."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from nbtf._ops.math.comparison import differs, equals
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import TEXT, X, Y, Z

C = X > 0

SAMPLES = [
    Sample("Equal", tf.equal, [X, 1.5], X == 1.5),
    Sample("Equal", tf.equal, [TEXT, "bc"], [[False, True]]),
    Sample("Equal", tf.equal, [Z, Z], [[True, True]]),
    Sample("Equal", equals, [X, Y], X == Y),
    Sample("Equal", equals, [X, np.zeros(7, np.float32)], np.array(False)),
    Sample("NotEqual", tf.not_equal, [X, 1.5], X != 1.5),
    Sample("NotEqual", tf.not_equal, [np.array([np.nan]), np.array([np.nan])], [[True]]),
    Sample("NotEqual", differs, [X, np.zeros(7, np.float32)], np.array(True)),
    Sample("Less", tf.less, [X, Y], X < Y),
    Sample("LessEqual", tf.less_equal, [X, 0.25], X <= 0.25),
    Sample("Greater", tf.greater, [X, Y], X > Y),
    Sample("Greater", tf.greater, [np.array([3, 200], np.uint8), 100], [[False, True]]),
    Sample("GreaterEqual", tf.greater_equal, [X, 0.25], X >= 0.25),
    Sample("SelectV2", tf.where, [C, X, Y], np.where(C, X, Y), differentiable=[1, 2]),
    Sample("SelectV2", tf.where, [C[0], TEXT[0], "y"], [[b"a", b"y", b"a"]]),
    Sample("SelectV2", tf.where, [np.array(True), 1, [2, 3]], [[1, 1]]),
    Sample("Where", tf.where, [C], np.argwhere(C)),
    Sample("Where", tf.where, [np.array([0, 3, 0, -1])], [[[1], [3]]]),
]
