"""Histograms: counts and bins are those of NumPy, values beyond the range are in the outer bins, errors are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

VALUES = np.random.default_rng(0).normal(0, 3, (20, 7))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_counts_are_those_of_clipped_values(dtype: str, count: int) -> None:
    values, ends = tf.constant(VALUES.astype(dtype)), tf.constant([-4, 4], dtype)
    clipped = np.clip(VALUES.astype(dtype), -4, 4)

    for result_dtype in (tf.int32, tf.int64):
        counts = tf.histogram_fixed_width(values, ends, count, result_dtype)
        assert counts.dtype is result_dtype
        np.testing.assert_array_equal(counts, np.histogram(clipped, count, (-4, 4))[0])
    if dtype.startswith("float"):
        bins: Any = tf.histogram_fixed_width_bins(values, ends, count)
        np.testing.assert_array_equal(np.bincount(bins.numpy().ravel(), minlength=count), counts)
        assert (bins.dtype, bins.shape) == (tf.int32, values.shape)


def test_faults_are_named() -> None:
    values = VALUES.astype(np.float32)
    for ends, count, text in (
        ([4.0, -4.0], 5, r"but got '\[4, -4\]'"),
        ([1.0, 2.0, 3.0], 5, "vector of 2 elements"),
        (1.0, 5, "should be a vector"),
        ([1.0, 2.0], 0, "positive number, but got '0'"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            tf.histogram_fixed_width(values, ends, count)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32, int64"):
        tf.histogram_fixed_width(values, [0.0, 1.0], dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must > 0"):
        tf.histogram_fixed_width_bins(values, [0.0, 1.0], nbins=0)
