"""Samples of activations, losses and what else layers are made of."""

from __future__ import annotations

import math

import numpy as np

import nbtf as tf
from nbtf._ops.nn.activations import relu_grad
from tests.ops.samples import Sample

X = np.array([[1.5, -2.0, 0.25], [3.0, -0.5, 7.5]], np.float32)
K = np.array([-3, 0, 9], np.int32)
LOGITS = np.array([[2.0, -1.0, 0.5], [0.25, 3.0, -2.0]], np.float32)
SHARES = np.array([[0.2, 0.3, 0.5], [0.1, 0.9, 0.0]], np.float32)
CUBE = np.linspace(-2.0, 3.1, 24, dtype=np.float32).reshape(2, 3, 4)
RIGHT = np.array([2, 1])
BIAS = np.array([10.0, 20.0, 30.0], np.float32)


def shares(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def crossed(y: np.ndarray, x: np.ndarray, axis: int = -1) -> np.ndarray:
    return -np.sum(y * np.log(shares(x, axis)), axis)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def normal_share(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda one: (1 + math.erf(one / 2**0.5)) / 2)(x)


def crossed_with_shares(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """As the op's gradient takes it: labels add up to 1."""
    return tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(y), x)


def steady_dropout(x: tf.Tensor) -> tf.Tensor:
    """Drops the same elements at each call."""
    tf.random.set_seed(3)
    return tf.nn.dropout(x, 0.5)


PICTURE = np.linspace(-1, 1.5, 24, dtype=np.float32).reshape(1, 2, 3, 4)

SAMPLES = [
    Sample("Relu", tf.nn.relu, [X], np.maximum(X, 0), differentiable=[0]),
    Sample("Relu", tf.nn.relu, [K], np.maximum(K, 0)),
    Sample("ReluGrad", tf.raw_ops.ReluGrad, [X, -X], np.where(X < 0, X, 0), differentiable=[0]),
    Sample("ReluGrad", relu_grad, [X, -X], np.where(X < 0, X, 0), differentiable=[0]),
    Sample("Relu6", tf.nn.relu6, [X], np.clip(X, 0, 6), differentiable=[0]),
    Sample("Elu", tf.nn.elu, [X], np.where(X > 0, X, np.expm1(X)), differentiable=[0]),
    Sample(
        "Selu",
        tf.nn.selu,
        [X],
        1.0507009873554805 * np.where(X > 0, X, 1.6732632423543772 * np.expm1(X)),
        differentiable=[0],
    ),
    Sample("LeakyRelu", tf.nn.leaky_relu, [X, 0.1], np.where(X > 0, X, 0.1 * X), differentiable=[0]),
    Sample("LeakyRelu", tf.nn.leaky_relu, [K], np.array([-0.6, 0.0, 9.0])),
    Sample("Relu", tf.nn.crelu, [X], np.maximum(np.concatenate([X, -X], -1), 0), differentiable=[0]),
    Sample("Erfc", tf.nn.gelu, [X], X * normal_share(X), differentiable=[0], tolerance=1e-5),
    Sample("Tanh", tf.nn.gelu, [X, True], X * normal_share(X), tolerance=5e-4),
    Sample("Softplus", tf.nn.softplus, [X], np.log1p(np.exp(X)), differentiable=[0]),
    Sample("Softsign", tf.nn.softsign, [X], X / (1 + np.abs(X)), differentiable=[0]),
    Sample("Sigmoid", tf.nn.silu, [X], X * logistic(X), differentiable=[0]),
    Sample("Sigmoid", tf.nn.swish, [X, 2.0], X * logistic(2 * X)),
    # Of real numbers: TensorFlow's gradient of complex ones is not the slope, see `tests/recorded/expressions.json`.
    Sample("IdentityN", tf.nn.silu, [X.astype(np.complex64)], X * logistic(X), differentiable=[0]),
    Sample("Softmax", tf.nn.softmax, [X], shares(X), differentiable=[0]),
    Sample("Softmax", tf.nn.softmax, [CUBE, 1], shares(CUBE, 1), differentiable=[0]),
    Sample("Softmax", tf.nn.softmax, [np.array([1000.0, 1000.0])], [0.5, 0.5]),
    Sample("Softmax", tf.nn.softmax, [np.zeros((0, 3))], np.zeros((0, 3))),
    Sample("LogSoftmax", tf.nn.log_softmax, [X], np.log(shares(X)), differentiable=[0]),
    Sample("LogSoftmax", tf.nn.log_softmax, [CUBE, 0], np.log(shares(CUBE, 0)), differentiable=[0]),
    Sample("BiasAdd", tf.nn.bias_add, [X, BIAS], X + BIAS, differentiable=[0, 1]),
    Sample("BiasAdd", tf.nn.bias_add, [CUBE, BIAS, "NCW"], CUBE + BIAS[:, None], differentiable=[0, 1]),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        tf.nn.sparse_softmax_cross_entropy_with_logits,
        [RIGHT, LOGITS],
        -np.log(shares(LOGITS)[[0, 1], RIGHT]),
        differentiable=[1],
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        tf.nn.sparse_softmax_cross_entropy_with_logits,
        [np.array([[0, 1, 2], [3, 0, 1]]), CUBE],
        -np.log(np.take_along_axis(shares(CUBE), np.array([[0, 1, 2], [3, 0, 1]])[..., None], -1))[..., 0],
        differentiable=[1],
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        tf.nn.sparse_softmax_cross_entropy_with_logits,
        [RIGHT.astype(np.int32), LOGITS.astype(np.float16)],
        -np.log(shares(LOGITS)[[0, 1], RIGHT]),
        tolerance=1e-3,
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        tf.nn.softmax_cross_entropy_with_logits,
        [SHARES, LOGITS],
        crossed(SHARES, LOGITS),
        differentiable=[1],
    ),
    Sample("SoftmaxCrossEntropyWithLogits", crossed_with_shares, [SHARES, LOGITS], differentiable=[0, 1]),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        tf.nn.softmax_cross_entropy_with_logits,
        [shares(CUBE, 1), 2 * CUBE],
        crossed(shares(CUBE, 1), 2 * CUBE, 1),
        {"axis": 1},
    ),
    Sample(
        "Log1p",
        tf.nn.sigmoid_cross_entropy_with_logits,
        [SHARES, LOGITS],
        -SHARES * np.log(logistic(LOGITS)) - (1 - SHARES) * np.log(logistic(-LOGITS)),
        differentiable=[0, 1],
    ),
    Sample(
        "Log1p",
        tf.nn.weighted_cross_entropy_with_logits,
        [SHARES, LOGITS, 3.0],
        -3 * SHARES * np.log(logistic(LOGITS)) - (1 - SHARES) * np.log(logistic(-LOGITS)),
        differentiable=[0, 1],
    ),
    Sample("DivNoNan", tf.nn.compute_average_loss, [BIAS], 20.0, differentiable=[0]),
    Sample("DivNoNan", tf.nn.compute_average_loss, [BIAS, BIAS, 4], 350.0),
    Sample("DivNoNan", tf.nn.compute_average_loss, [K], 2.0),
    Sample("RealDiv", tf.nn.scale_regularization_loss, [BIAS], 60.0),
    Sample("RandomUniform", tf.nn.dropout, [X, 0.5]),
    Sample("RandomUniform", tf.nn.dropout, [X, np.array(0.25, np.float32)], kwargs={"noise_shape": [2, 1]}),
    Sample("RandomUniform", steady_dropout, [X], differentiable=[0]),
    Sample("GatherV2", tf.nn.embedding_lookup, [X, RIGHT % 2], X[RIGHT % 2], differentiable=[0]),
    Sample("GatherV2", tf.nn.embedding_lookup, [[X, 2 * X], np.array([3, 0])], [X[1] * 2, X[0]]),
    Sample("Rsqrt", tf.nn.batch_normalization, [X, 1.0, 4.0, 3.0, 2.0, 0.0], X + 2),
    Sample("Rsqrt", tf.nn.batch_normalization, [X, BIAS, BIAS, None, None, 0.0], (X - BIAS) / np.sqrt(BIAS)),
    Sample("LRN", tf.nn.lrn, [PICTURE], PICTURE / np.sqrt(1 + (PICTURE**2).sum(-1, keepdims=True)), differentiable=[0]),
    Sample("LRN", tf.nn.lrn, [PICTURE, 0, 2.0, 0.5, 0.75], PICTURE / (2 + 0.5 * PICTURE**2) ** 0.75),
    Sample(
        "LRNGrad",
        tf.raw_ops.LRNGrad,
        [np.ones_like(PICTURE), PICTURE, PICTURE / (1 + PICTURE**2)],
        (1 - PICTURE**2) / (1 + PICTURE**2) ** 2,
        {"depth_radius": 0, "bias": 1.0, "alpha": 1.0, "beta": 1.0},
        tolerance=1e-5,
    ),
]
