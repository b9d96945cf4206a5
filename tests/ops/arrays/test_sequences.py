"""Which sequences cannot be reversed, and what unique slices and buckets refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.ops.refusals import refused

WORDS = np.ones((3, 4, 2), np.float32)
BUCKETS: Any = tf.raw_ops.Bucketize


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.reverse_sequence(WORDS, [1, 2, 9], 1), "seq_lens(2) > input.dims(seq_dim)"),
        (lambda: tf.reverse_sequence(WORDS, [1, -2, 1], 1), "seq_lens(1) < 0"),
        (lambda: tf.reverse_sequence(WORDS, [1, 2], 1), "Length of seq_lens != input.dims(0), (2 vs. 3)"),
        (lambda: tf.reverse_sequence(WORDS, [1, 2, 3], 0), "batch_dim == seq_dim == 0"),
        (lambda: tf.reverse_sequence(WORDS, [1, 2, 3], 7), "seq_dim must be < input rank ( 7 vs. 3)"),
        (lambda: tf.reverse_sequence(WORDS, [1, 2, 3], -1), "Invalid seq_dim -1"),
        (lambda: tf.raw_ops.UniqueV2(WORDS, []), "unique expects a 1D vector."),
        (lambda: tf.raw_ops.UniqueV2(WORDS, [3]), "axis has to be between [0, 3)"),
        (lambda: tf.raw_ops.UniqueV2(WORDS, [0, 1]), "axis does not support input tensors larger than 1 elements"),
        (lambda: BUCKETS(WORDS, [2.0, 1.0]), "Expected sorted boundaries"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str) -> None:
    refused(call, text)


def test_a_sequence_has_an_axis() -> None:
    with pytest.raises(TypeError, match="`seq_axis` must be an integer"):
        tf.reverse_sequence(WORDS, [1, 2, 3])


@pytest.mark.parametrize("seed", range(20))
def test_unique_slices_are_those_of_numpy_in_order_of_appearance(seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers, axis = random.integers(0, 3, random.integers(1, 5, 3)), int(random.integers(3))

    values, indices, counts = tf.raw_ops.UniqueWithCountsV2(numbers, [axis])

    expected, first = np.unique(numbers, return_index=True, axis=axis)
    np.testing.assert_array_equal(values, np.take(expected, np.argsort(first), axis))
    np.testing.assert_array_equal(np.take(values.numpy(), indices.numpy(), axis), numbers)
    assert np.bincount(indices.numpy()).tolist() == counts.numpy().tolist()


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_are_inverse_at_both_ends(seed: int) -> None:
    shares = 10.0 ** -np.random.default_rng(seed).uniform(0.5, 300, 50)

    np.testing.assert_allclose(tf.math.erfc(-tf.math.ndtri(shares) / 2**0.5) / 2, shares, rtol=1e-10)
    np.testing.assert_allclose(tf.math.erf(tf.math.erfinv(shares)), shares, rtol=1e-13)
    assert tf.math.ndtri([0.0, 1.0, -0.5]).numpy().tolist()[:2] == [-np.inf, np.inf]
    assert np.isnan(tf.math.erfinv([2.0, -1.5])).all()


def test_the_same_seed_drops_the_same_elements() -> None:
    ones = tf.ones([1000])

    kept = tf.nn.experimental.stateless_dropout(ones, 0.25, [3, 4])

    assert set(kept.numpy().tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert kept.numpy().tolist() == tf.nn.experimental.stateless_dropout(ones, 0.25, [3, 4]).numpy().tolist()
    assert abs(kept.numpy().mean() - 1) < 0.1
    assert tf.nn.experimental.stateless_dropout(ones, 0.0, [3, 4]) is ones
