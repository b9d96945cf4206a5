"""What Fourier transforms and Bessel functions are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

WAVES = np.random.default_rng(0).normal(size=(2, 3, 4, 6)).astype(np.float32)
TURNING = (WAVES + 1j * WAVES[::-1]).astype(np.complex64)
NUMBERS = np.array([-50.0, -5, -0.5, 0, 0.25, 7, 29.5, 31])
SMALL = np.array([-5.0, -0.5, 0, 0.25, 3])


def bessel(order: int, x: Any, scaled: bool) -> Any:
    """Returns the Bessel function of numbers: a mean over a period, by the midpoint rule."""
    angles = (np.arange(2000) + 0.5) * np.pi / 2000
    size = np.abs(x)[:, None]
    means = np.mean(np.exp(x[:, None] * np.cos(angles) - size) * np.cos(order * angles), 1)
    return means if scaled else means * np.exp(size[:, 0])


SAMPLES = [
    Sample("FFT", tf.signal.fft, [TURNING], np.fft.fft(TURNING), differentiable=[0], tolerance=1e-5),
    Sample("IFFT", tf.signal.ifft, [TURNING], np.fft.ifft(TURNING), differentiable=[0], tolerance=1e-5),
    Sample("FFT2D", tf.signal.fft2d, [TURNING], np.fft.fft2(TURNING), differentiable=[0], tolerance=1e-5),
    Sample("IFFT2D", tf.signal.ifft2d, [TURNING], np.fft.ifft2(TURNING), differentiable=[0], tolerance=1e-5),
    Sample(
        "FFT3D", tf.signal.fft3d, [TURNING], np.fft.fftn(TURNING, axes=(1, 2, 3)), differentiable=[0], tolerance=1e-5
    ),
    Sample(
        "IFFT3D", tf.signal.ifft3d, [TURNING], np.fft.ifftn(TURNING, axes=(1, 2, 3)), differentiable=[0], tolerance=1e-5
    ),
    Sample("RFFT", tf.signal.rfft, [WAVES], np.fft.rfft(WAVES), differentiable=[0], tolerance=1e-5),
    Sample("RFFT2D", tf.signal.rfft2d, [WAVES], np.fft.rfft2(WAVES), differentiable=[0], tolerance=1e-5),
    Sample("RFFT3D", tf.signal.rfft3d, [WAVES], np.fft.rfftn(WAVES, axes=(1, 2, 3)), tolerance=1e-5),
    Sample("IRFFT", tf.signal.irfft, [TURNING], np.fft.irfft(TURNING), differentiable=[0], tolerance=1e-5),
    Sample("IRFFT2D", tf.signal.irfft2d, [TURNING], np.fft.irfft2(TURNING), differentiable=[0], tolerance=1e-5),
    Sample("IRFFT3D", tf.signal.irfft3d, [TURNING], np.fft.irfftn(TURNING, axes=(1, 2, 3)), tolerance=1e-5),
    Sample("BesselI0", tf.math.bessel_i0, [SMALL], bessel(0, SMALL, False), differentiable=[0]),
    Sample("BesselI0e", tf.math.bessel_i0e, [NUMBERS], bessel(0, NUMBERS, True), differentiable=[0]),
    Sample("BesselI1", tf.math.bessel_i1, [SMALL], bessel(1, SMALL, False), differentiable=[0]),
    Sample("BesselI1e", tf.math.bessel_i1e, [NUMBERS], bessel(1, NUMBERS, True), differentiable=[0]),
]
