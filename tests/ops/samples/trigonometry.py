"""Samples of angles and their hyperbolic kin."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import X, Y, Z

SMALL = X / 8
LARGE = np.abs(X) + 1
Z2 = Z * np.complex64(0.4 + 0.3j)

SAMPLES = [
    Sample("Sin", tf.sin, [X], np.sin(X), differentiable=[0]),
    Sample("Sin", tf.sin, [Z], np.sin(Z), differentiable=[0]),
    Sample("Cos", tf.cos, [X], np.cos(X), differentiable=[0]),
    Sample("Cos", tf.cos, [Z], np.cos(Z), differentiable=[0]),
    Sample("Tan", tf.tan, [SMALL], np.tan(SMALL), differentiable=[0]),
    Sample("Tan", tf.tan, [Z2], np.tan(Z2), differentiable=[0]),
    Sample("Asin", tf.asin, [SMALL], np.arcsin(SMALL), differentiable=[0]),
    Sample("Acos", tf.acos, [SMALL], np.arccos(SMALL), differentiable=[0]),
    Sample("Atan", tf.atan, [X], np.arctan(X), differentiable=[0]),
    Sample("Atan", tf.atan, [Z2], np.arctan(Z2), differentiable=[0]),
    Sample("Atan2", tf.atan2, [X, Y], np.arctan2(X, Y), differentiable=[0, 1]),
    Sample("Sinh", tf.sinh, [X], np.sinh(X), differentiable=[0]),
    Sample("Cosh", tf.cosh, [X], np.cosh(X), differentiable=[0]),
    Sample("Asinh", tf.asinh, [X], np.arcsinh(X), differentiable=[0]),
    Sample("Acosh", tf.acosh, [LARGE], np.arccosh(LARGE), differentiable=[0]),
    Sample("Atanh", tf.atanh, [SMALL], np.arctanh(SMALL), differentiable=[0]),
    Sample("Atanh", tf.atanh, [Z2], np.arctanh(Z2), differentiable=[0]),
]
