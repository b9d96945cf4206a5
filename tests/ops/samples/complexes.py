"""Samples of complex numbers put together and taken apart."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import X, Y, Z

SAMPLES = [
    Sample("Complex", tf.complex, [X, Y], X + 1j * Y, differentiable=[0, 1]),
    Sample("Complex", tf.complex, [np.array(1.0), np.array(np.inf)], complex(1, np.inf)),
    Sample("Real", tf.math.real, [Z], Z.real, differentiable=[0]),
    Sample("Imag", tf.math.imag, [Z], Z.imag, differentiable=[0]),
    Sample("Angle", tf.math.angle, [Z], np.angle(Z), differentiable=[0]),
    Sample("SelectV2", tf.math.angle, [X], np.angle(X)),
]
