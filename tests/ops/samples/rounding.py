"""Samples of floats made whole, and of which are finite."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

X = np.array([0.5, 1.5, -0.5, -2.5, 2.4, 1e10], np.float32)
ODD = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)

SAMPLES = [
    Sample("Round", tf.round, [X], np.rint(X)),
    Sample("Rint", tf.math.rint, [X], np.rint(X)),
    Sample("Floor", tf.floor, [X], np.floor(X)),
    Sample("Floor", tf.floor, [X[:5].astype(np.float16)], np.floor(X[:5])),
    Sample("Ceil", tf.math.ceil, [X], np.ceil(X)),
    Sample("IsNan", tf.math.is_nan, [ODD], np.isnan(ODD)),
    Sample("IsInf", tf.math.is_inf, [ODD], np.isinf(ODD)),
    Sample("IsFinite", tf.math.is_finite, [ODD], np.isfinite(ODD)),
]
