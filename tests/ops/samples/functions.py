"""Samples of powers, exponentials and logarithms, and of the error function."""

from __future__ import annotations

import math

import numpy as np

import nbtf as tf
from nbtf._ops.math.exponentials import sigmoid_grad, tanh_grad
from tests.ops.samples import Sample
from tests.ops.samples.elementwise import X, Y, Z

A = np.array([[0.5, 2.0], [1.0, 3.5]], np.float32)
H = np.array([0.25, 4.0], np.float16)
SIGMOID = 1 / (1 + np.exp(-X))
ZEROS = np.array([0.0, 2.0])
FREE = np.array([0.0, 3.0])

SAMPLES = [
    Sample("Pow", tf.pow, [A, np.array([2.0, -1.5], np.float32)], A ** [2, -1.5], differentiable=[0, 1]),
    Sample("Pow", tf.pow, [X, 2], X**2, differentiable=[0]),
    Sample("Pow", tf.pow, [Z, np.array([2 + 1j, 1 - 1j], np.complex64)], differentiable=[0, 1]),
    Sample("Pow", tf.pow, [np.array([2, -3], np.int32), [31, 3]], [[-2147483648, -27]]),
    Sample("Sqrt", tf.sqrt, [A], np.sqrt(A), differentiable=[0]),
    Sample("Sqrt", tf.sqrt, [Z], np.sqrt(Z), differentiable=[0]),
    Sample("Sqrt", tf.sqrt, [H], np.array([0.5, 2.0])),
    Sample("Rsqrt", tf.math.rsqrt, [A], 1 / np.sqrt(A), differentiable=[0]),
    Sample("Rsqrt", tf.math.rsqrt, [H], np.array([2.0, 0.5])),
    Sample("Exp", tf.exp, [X], np.exp(X), differentiable=[0]),
    Sample("Exp", tf.exp, [Z], np.exp(Z), differentiable=[0]),
    Sample("Expm1", tf.math.expm1, [X], np.expm1(X), differentiable=[0]),
    Sample("Log", tf.math.log, [A], np.log(A), differentiable=[0]),
    Sample("Log", tf.math.log, [Z], np.log(Z), differentiable=[0]),
    Sample("Log1p", tf.math.log1p, [A], np.log1p(A), differentiable=[0]),
    Sample("Sigmoid", tf.sigmoid, [X], SIGMOID, differentiable=[0]),
    Sample("Sigmoid", tf.sigmoid, [Z], 1 / (1 + np.exp(-Z)), differentiable=[0]),
    Sample("Sigmoid", tf.sigmoid, [np.array([-1e3, 1e3], np.float16)], np.array([0.0, 1.0])),
    Sample("Tanh", tf.tanh, [X], np.tanh(X), differentiable=[0]),
    Sample("TanhGrad", tf.raw_ops.TanhGrad, [X, 2 * X], 2 * X * (1 - X * X), differentiable=[0, 1]),
    Sample("TanhGrad", tanh_grad, [X, 2 * X], 2 * X * (1 - X * X), differentiable=[0, 1]),
    Sample("TanhGrad", tanh_grad, [Z, Z], Z * (1 - Z * Z), differentiable=[0, 1]),
    Sample("SigmoidGrad", tf.raw_ops.SigmoidGrad, [X, 2 * X], 2 * X * X * (1 - X), differentiable=[0, 1]),
    Sample("SigmoidGrad", sigmoid_grad, [X, 2 * X], 2 * X * X * (1 - X), differentiable=[0, 1]),
    Sample("SigmoidGrad", sigmoid_grad, [Z, Z], Z * Z * (1 - Z), differentiable=[0, 1]),
    Sample("Tanh", tf.tanh, [Z], np.tanh(Z), differentiable=[0]),
    Sample("Erf", tf.math.erf, [X], np.vectorize(math.erf)(X), differentiable=[0]),
    Sample("Erf", tf.math.erf, [H], np.vectorize(math.erf)(H), tolerance=1e-3),
    Sample("Erfc", tf.math.erfc, [X], np.vectorize(math.erfc)(X), differentiable=[0]),
    Sample("MulNoNan", tf.math.multiply_no_nan, [X, Y], X * Y, differentiable=[0, 1]),
    Sample("MulNoNan", tf.math.multiply_no_nan, [np.array([np.inf, 3.0]), ZEROS], np.array([0.0, 6.0])),
    Sample("Xdivy", tf.math.xdivy, [X, Y], X / Y, differentiable=[0, 1]),
    Sample("Xdivy", tf.math.xdivy, [FREE, ZEROS], np.array([0.0, 1.5])),
    Sample("Xlogy", tf.math.xlogy, [A, A[0]], A * np.log(A[0]), differentiable=[0, 1]),
    Sample("Xlogy", tf.math.xlogy, [FREE, ZEROS], np.array([0.0, 3 * np.log(2)])),
    Sample("Xlog1py", tf.math.xlog1py, [A, A[0]], A * np.log1p(A[0]), differentiable=[0, 1]),
    Sample("Xlog1py", tf.math.xlog1py, [FREE, ZEROS - 1], np.array([0.0, 3 * np.log(2)])),
]
