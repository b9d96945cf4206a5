"""Fourier transforms of a signal's frames, and the signal that has given ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.arrays.padding import pad, tile
from nbtf._ops.arrays.shapes import reshape
from nbtf._ops.math.arithmetic import multiply
from nbtf._ops.math.division import divide
from nbtf._ops.math.magnitude import square
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.signal.fourier import irfft, rfft
from nbtf._ops.signal.frames import frame, known_length, overlap_and_add
from nbtf._ops.signal.windows import hann_window
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import TensorLike

Window = Callable[..., Tensor] | None
"""A function of a length and a `dtype` that returns weights; None for no weights."""


def stft(
    signals: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Window = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the short-time Fourier transform: the transform of each frame of a signal.

    Args:
      signals: float32 or float64 numbers, shape `[..., samples]`.
      frame_length: the number of samples of a frame.
      frame_step: the distance of two frames' starts.
      fft_length: the length of each transform; by default the power of 2 that is at least `frame_length`.
      window_fn: a function of a length and a `dtype` that returns the weights of a frame's samples; None for none.
      pad_end: whether frames may reach beyond the signal's end, where it counts as 0.
      name: accepted and ignored.

    Returns:
      Complex numbers, shape `[..., frames, fft_length // 2 + 1]`.

    Raises:
      ValueError: if `signals` is a scalar or has another dtype, or a length is not an integer scalar.

    >>> tf.signal.stft(tf.ones([8]), frame_length=4, frame_step=2).shape
    TensorShape([3, 3])
    """
    waves = as_tensor(signals)
    length = known_length(frame_length)
    frames = frame(waves, length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        frames = multiply(frames, window_fn(length, dtype=frames.dtype))
    return rfft(frames, [_transform_length(length) if fft_length is None else known_length(fft_length)])


def inverse_stft(
    stfts: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: Window = hann_window,
    name: str | None = None,
) -> Tensor:
    """Returns the signal that is the sum of the frames with given Fourier transforms.

    With the window of `inverse_stft_window_fn`, the result of `stft` gives the signal again.

    Args:
      stfts: complex numbers, shape `[..., frames, fft_length // 2 + 1]`.
      frame_length: the number of samples of a frame.
      frame_step: the distance of two frames' starts.
      fft_length: the length of each transform; by default the power of 2 that is at least `frame_length`.
      window_fn: a function of a length and a `dtype` that returns the weights of a frame's samples; None for none.
      name: accepted and ignored.

    Returns:
      Real numbers, shape `[..., (frames - 1) * frame_step + frame_length]`.

    Raises:
      ValueError: if `stfts` has fewer than two axes or another dtype, or a length is not an integer scalar.

    >>> wave = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    >>> parts = tf.signal.stft(wave, frame_length=4, frame_step=2)
    >>> window = tf.signal.inverse_stft_window_fn(2)
    >>> tf.signal.inverse_stft(parts, 4, 2, window_fn=window).numpy()[2:6].round(3)
    array([3., 4., 5., 6.], dtype=float32)
    """
    spectra = as_tensor(stfts)
    spectra.shape.with_rank_at_least(2)
    length = known_length(frame_length)
    frames = irfft(spectra, [_transform_length(length) if fft_length is None else known_length(fft_length)])
    count = frames.shape[-1]
    if count > length:
        frames = frames[..., :length]
    elif count < length:
        frames = pad(frames, [*[[0, 0]] * (len(frames.shape) - 1), [0, length - count]])
    if window_fn is not None:
        frames = multiply(frames, window_fn(length, dtype=frames.dtype))
    return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: Callable[..., Tensor] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """Returns a window for `inverse_stft` that undoes the window of `stft` and the overlap of frames.

    Args:
      frame_step: the distance of two frames' starts.
      forward_window_fn: the window that `stft` was given.
      name: accepted and ignored.

    Returns:
      A function of a frame's length and a `dtype` that returns the weights of its samples.

    >>> tf.signal.inverse_stft_window_fn(2)(4, dtype=tf.float32).numpy().round(2)
    array([0., 1., 1., 1.], dtype=float32)
    """
    step = known_length(frame_step)

    def window(frame_length: int, dtype: Any) -> Tensor:
        # Source: Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984, equation 7.
        length = known_length(frame_length)
        weights = forward_window_fn(length, dtype=dtype)
        overlaps = -(-length // step)
        squares = reshape(pad(square(weights), [[0, overlaps * step - length]]), [overlaps, step])
        return divide(weights, tile(reduce_sum(squares, 0), [overlaps])[:length])

    return window


def _transform_length(frame_length: int) -> int:
    return 1 << (frame_length - 1).bit_length()
