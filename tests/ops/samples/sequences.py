"""Samples of reversed sequences, of unique slices, of buckets and of quantiles."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

WORDS = np.linspace(-1.0, 2.0, 3 * 4 * 2, dtype=np.float32).reshape(3, 4, 2)
LENGTHS = np.array([4, 0, 3], np.int32)
ROWS = np.array([[2, 1], [0, 5], [2, 1], [2, 2]], np.int64)
SHARES = np.array([0.02, 0.3, 0.5, 0.8, 0.95], np.float32)


def reversed_up_to(words: Any, lengths: Any, *_: Any) -> Any:
    parts = [np.concatenate([one[:n][::-1], one[n:]]) for one, n in zip(words, lengths, strict=True)]
    return np.stack(parts)


def bisected(function: Any, values: Any) -> Any:
    """The inverse of an increasing function, by halving an interval."""

    def inverse(value: float) -> float:
        low, high = -8.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if function(middle) < value else (low, middle)
        return low

    return np.array([inverse(value) for value in values.tolist()])


SAMPLES = [
    Sample("ReverseSequence", tf.reverse_sequence, [WORDS, LENGTHS, 1, 0], reversed_up_to, differentiable=[0]),
    Sample(
        "ReverseSequence",
        tf.reverse_sequence,
        [WORDS.swapaxes(0, 1).copy(), LENGTHS.astype(np.int64), 0, 1],
        reversed_up_to(WORDS, LENGTHS).swapaxes(0, 1),
        differentiable=[0],
    ),
    Sample("UniqueV2", tf.raw_ops.UniqueV2, [ROWS, [0]], [ROWS[[0, 1, 3]], [0, 1, 0, 2]]),
    Sample("UniqueV2", tf.raw_ops.UniqueV2, [ROWS[:, [0, 0, 1]], [-1], tf.int64], [ROWS, [0, 0, 1]]),
    Sample("UniqueV2", tf.raw_ops.UniqueV2, [ROWS[:, 0], []], [[2, 0], [0, 1, 0, 0]]),
    Sample(
        "UniqueWithCountsV2", tf.raw_ops.UniqueWithCountsV2, [ROWS, [0]], [ROWS[[0, 1, 3]], [0, 1, 0, 2], [2, 1, 1]]
    ),
    Sample("Bucketize", tf.raw_ops.Bucketize, [ROWS, [1.0, 2.5]], [[1, 1], [0, 2], [1, 1], [1, 1]]),
    Sample("Erfinv", tf.math.erfinv, [2 * SHARES - 1], lambda x: bisected(erf, x), {}, [0], 1e-5),
    Sample(
        "Ndtri",
        tf.math.ndtri,
        [SHARES],
        lambda x: bisected(lambda z: (1 + erf(z / 2**0.5)) / 2, x),
        {},
        [0],
        1e-5,
    ),
    Sample("NextAfter", tf.math.nextafter, [SHARES, -SHARES], np.nextafter(SHARES, -SHARES), differentiable=[0]),
]
