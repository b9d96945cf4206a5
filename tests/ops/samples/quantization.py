"""Samples of rounding to few bits; the bounds move to multiples of the step."""

from __future__ import annotations

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

NUMBERS = np.array([[-9.0, 0.4], [2.0, -1.2]], np.float32)
ROUNDED = np.array([[-2.0, 0.0], [1.0, -1.0]], np.float32)
GRADIENTS = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
WITHIN = np.array([[0.0, 2.0], [0.0, 4.0]], np.float32)
LOW, HIGH = np.array(-1.5, np.float32), np.array(1.5, np.float32)
LOWS, HIGHS = np.full(2, LOW), np.full(2, HIGH)
TWO_BITS = {"num_bits": 2}

SAMPLES = [
    Sample(
        "FakeQuantWithMinMaxArgs", tf.quantization.fake_quant_with_min_max_args, [NUMBERS, -1.5, 1.5, 2, False], ROUNDED
    ),
    Sample(
        "FakeQuantWithMinMaxArgsGradient",
        tf.quantization.fake_quant_with_min_max_args_gradient,
        [GRADIENTS, NUMBERS, -1.5, 1.5],
        WITHIN,
        TWO_BITS,
    ),
    Sample(
        "FakeQuantWithMinMaxVars",
        tf.quantization.fake_quant_with_min_max_vars,
        [NUMBERS, LOW, HIGH],
        ROUNDED,
        TWO_BITS,
    ),
    Sample(
        "FakeQuantWithMinMaxVarsGradient",
        tf.quantization.fake_quant_with_min_max_vars_gradient,
        [GRADIENTS, NUMBERS, LOW, HIGH],
        [WITHIN, np.array(1.0), np.array(3.0)],
        TWO_BITS,
    ),
    Sample(
        "FakeQuantWithMinMaxVarsPerChannel",
        tf.quantization.fake_quant_with_min_max_vars_per_channel,
        [NUMBERS, LOWS, HIGHS],
        ROUNDED,
        TWO_BITS,
    ),
    Sample(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient,
        [GRADIENTS, NUMBERS, LOWS, HIGHS],
        [WITHIN, np.array([1.0, 0.0]), np.array([3.0, 0.0])],
        TWO_BITS,
    ),
]
