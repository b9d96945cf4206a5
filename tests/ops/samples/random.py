"""Samples of random numbers; which numbers they are, test_random.py says."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Made, Sample

SEED = np.array([1, 2])

GENERATOR = Made(tf.random.Generator.from_seed, 7)
SLOPES = np.array([0.8069791168, 0.0])
"""How gamma numbers of these shapes and values move with the shape; differences of their quantiles say the same."""

SAMPLES = [
    Sample("RandomUniform", tf.random.uniform, [[2, 3]]),
    Sample("RandomUniform", tf.random.uniform, [[5], 1.0, 2.0, tf.float64]),
    Sample("RandomUniform", tf.random.uniform, [[5]], kwargs={"dtype": tf.float16, "seed": 4}),
    Sample("RandomUniformInt", tf.random.uniform, [[7], -3, 9, tf.int32]),
    Sample("RandomUniformInt", tf.random.uniform, [[7], 0, 10**12, tf.int64]),
    Sample("RandomUniformInt", tf.random.uniform, [[0], 5, 4, tf.int32], np.zeros(0, np.int32)),
    Sample("RandomStandardNormal", tf.random.normal, [[2, 3], 1.0, 0.5]),
    Sample("RandomStandardNormal", tf.random.normal, [[5]], kwargs={"dtype": tf.float64}),
    Sample("TruncatedNormal", tf.random.truncated_normal, [[100]]),
    Sample("TruncatedNormal", tf.random.truncated_normal, [[100]], kwargs={"dtype": tf.float64}),
    Sample("RandomShuffle", tf.random.shuffle, [np.arange(10)]),
    Sample("RandomShuffle", tf.random.shuffle, [np.array([b"a", b"b"], object)]),
    Sample("RandomShuffle", tf.random.shuffle, [np.array(5.0)], 5.0),
    Sample("StatelessRandomGetKeyCounter", tf.random.stateless_uniform, [[2], SEED]),
    Sample("StatelessRandomUniformV2", tf.random.stateless_uniform, [[2], SEED, 3.0, 5.0]),
    Sample("StatelessRandomUniformIntV2", tf.random.stateless_uniform, [[5], SEED, 0, 9, tf.int64]),
    Sample("StatelessRandomUniformFullIntV2", tf.random.stateless_uniform, [[5], SEED, None, None, tf.uint64]),
    Sample("StatelessRandomUniformFullIntV2", tf.random.split, [SEED.astype(np.int32), 3]),
    Sample("StatelessRandomNormalV2", tf.random.stateless_normal, [[5], SEED]),
    Sample("StatelessTruncatedNormalV2", tf.random.stateless_truncated_normal, [[5], SEED]),
    Sample("Multinomial", tf.random.categorical, [np.array([[0.0, 1.0], [2.0, 0.0]], np.float32), 5]),
    Sample("Multinomial", tf.random.categorical, [np.array([[0.0, -np.inf]]), 3, tf.int32], np.zeros((1, 3), np.int32)),
    Sample("StatelessMultinomial", tf.random.stateless_categorical, [np.array([[0.0, 1.0]], np.float16), 5, SEED]),
    Sample("StatefulRandomBinomial", tf.random.Generator.binomial, [GENERATOR, [3], 5.0, 1.0], np.full(3, 5, np.int32)),
    Sample("StatefulRandomBinomial", tf.random.Generator.binomial, [GENERATOR, [2, 2], [9.0, 30.0], [0.5, 0.7]]),
    Sample("StatelessRandomBinomial", tf.random.stateless_binomial, [[2], SEED, 5.0, 1.0], np.full(2, 5, np.int32)),
    Sample("StatelessRandomBinomial", tf.random.stateless_binomial, [[2, 2], SEED, [9.0, 30.0], [0.5, 0.7], tf.int64]),
    Sample("StatelessRandomGammaV3", tf.random.stateless_gamma, [[3, 2], SEED, [0.5, 1.0], [2.0, 3.0]]),
    Sample("StatelessRandomGammaV3", tf.random.stateless_gamma, [[3], SEED, 4.0], kwargs={"dtype": tf.float64}),
    Sample("RandomGammaGrad", tf.raw_ops.RandomGammaGrad, [np.array([1.0, 2.0]), np.array([0.5, 0.0])], SLOPES),
    Sample("RngReadAndSkip", tf.random.Generator.skip, [GENERATOR, 3], np.array([7, 0, 0])),
    Sample("RngReadAndSkip", tf.random.Generator.normal, [GENERATOR, [2, 3]]),
    Sample("Bitcast", tf.bitcast, [np.array([1.0, -2.0], np.float32), tf.int32], np.array([1065353216, -1073741824])),
    Sample("Bitcast", tf.bitcast, [np.array([1.0]), tf.uint8], np.array([[0, 0, 0, 0, 0, 0, 240, 63]], np.uint8)),
    Sample("Bitcast", tf.bitcast, [np.array([[0, 1072693248]], np.int32), tf.float64], np.array([1.0])),
]
