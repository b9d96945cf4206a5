"""Frames of signals, their windows and spectra: against NumPy, for all lengths, and there and back."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import nbtf as tf

WAVE = np.random.default_rng(0).normal(size=(2, 11)).astype(np.float32)


@pytest.mark.parametrize(("length", "step", "pad_end"), [*product((1, 3, 4, 12), (1, 2, 5), (False, True))])
def test_frames_are_slices_of_the_signal(length: int, step: int, pad_end: bool) -> None:
    count = WAVE.shape[1]
    starts = range(0, count if pad_end else max(0, count - length + 1), step)
    wide = np.pad(WAVE, [(0, 0), (0, length)], constant_values=7)
    expected = (
        np.stack([wide[:, start : start + length] for start in starts], 1) if starts else np.empty((2, 0, length))
    )
    traced = tf.function(
        lambda x: tf.signal.frame(x, length, step, pad_end, 7), input_signature=[tf.TensorSpec([None, None])]
    )

    for found in (tf.signal.frame(WAVE, length, step, pad_end, 7), traced(WAVE)):
        np.testing.assert_array_equal(found, expected)
    across = tf.signal.frame(WAVE.T, length, step, pad_end, 7, axis=0)
    np.testing.assert_array_equal(across, expected.transpose(1, 2, 0))


@pytest.mark.parametrize(("length", "step"), [*product((1, 3, 4), (1, 2, 5))])
def test_frames_add_up(length: int, step: int) -> None:
    frames = np.arange(2 * 3 * length, dtype=np.float32).reshape(2, 3, length)
    expected = np.zeros((2, 2 * step + length), np.float32)
    for number in range(3):
        expected[:, number * step : number * step + length] += frames[:, number]

    np.testing.assert_array_equal(tf.signal.overlap_and_add(frames, step), expected)


@pytest.mark.parametrize("window", [tf.signal.hann_window, tf.signal.hamming_window, tf.signal.kaiser_window])
def test_spectra_give_the_signal_again(window: Any) -> None:
    spectra = tf.signal.stft(WAVE, 4, 2, window_fn=window, pad_end=True)
    back = tf.signal.inverse_stft(spectra, 4, 2, window_fn=tf.signal.inverse_stft_window_fn(2, window))

    assert spectra.shape == [2, 6, 3]
    np.testing.assert_allclose(back[:, 2:11], WAVE[:, 2:], atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_windows_are_those_of_numpy(length: int) -> None:
    np.testing.assert_allclose(tf.signal.hann_window(length, periodic=False), np.hanning(length), atol=1e-6)
    np.testing.assert_allclose(tf.signal.hamming_window(length, periodic=False), np.hamming(length), atol=1e-6)
    np.testing.assert_allclose(tf.signal.kaiser_window(length, 6.0, tf.float64), np.kaiser(length, 6.0), atol=1e-12)
    if length % 2 == 0:  # the period of an even length is one longer
        np.testing.assert_allclose(tf.signal.hann_window(length), np.hanning(length + 1)[:-1], atol=1e-6)


@pytest.mark.parametrize("fft_length", [3, 6, 9, 10])
def test_gradients_of_cut_and_extended_transforms_are_those_of_the_slice(fft_length: int) -> None:
    x = tf.constant(WAVE[:, :9])
    whole = tf.pad(x, [[0, 0], [0, 3]])[:, :fft_length]
    weights = tf.constant(np.arange(fft_length // 2 + 1, dtype=np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, whole])
        one = tf.reduce_sum(tf.math.real(tf.signal.rfft(x, [fft_length])) * weights)
        other = tf.reduce_sum(tf.math.real(tf.signal.rfft(whole)) * weights)
    expected = np.zeros((2, 12), np.float32)
    expected[:, :fft_length] = tape.gradient(other, whole)

    np.testing.assert_allclose(tape.gradient(one, x), expected[:, :9], atol=1e-4)


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match="floating point"):
        tf.signal.hann_window(4, dtype=tf.int32)
    with pytest.raises(ValueError, match="integers"):
        tf.signal.overlap_and_add([[1.0]], 2.0)
    with pytest.raises(ValueError, match="RFFT requires"):
        tf.signal.rfft(tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="fft_length must have shape"):
        tf.signal.rfft([1.0, 2.0], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank of at least 2"):
        tf.signal.fft2d(tf.constant([1j], tf.complex64))
