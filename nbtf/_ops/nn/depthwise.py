"""Computes convolutions whose filters each process one channel, with `einsum` over views of the images.

Images are NHWC here and have as many channels as the results.
"""

from __future__ import annotations

from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.nn.layouts import by_phases, empty_images, under_windows
from nbtf._ops.nn.windows import Pair, Window


def convolve(xp: Any, wide: Any, filters: Any, w: Window, rows: int, columns: int) -> Any:
    """Returns the convolution with filters of shape [height, width, 1, channels]."""
    factors = filters[:, :, 0]
    if xp is not CPU.xp or w.strides[1] > 1:
        return xp.einsum("nyxijc,ijc->nyxc", under_windows(xp, wide, w, rows, columns), factors)
    # The numbers of a line under an element of the window are contiguous. NumPy processes these long runs in half the
    # time.
    channels = wide.shape[3]
    image, line, column, channel = wide.strides
    strides = image, line * w.strides[0], line * w.dilations[0], column * w.dilations[1], channel
    lines = xp.lib.stride_tricks.as_strided(wide, (len(wide), rows, *w.size, columns * channels), strides)
    results = xp.einsum("nyijc,ijc->nyc", lines, xp.tile(factors, (1, 1, columns)))
    return results.reshape(len(wide), rows, columns, channels)


def images_gradient(xp: Any, back: Any, filters: Any, w: Window, lengths: Pair, steps: Pair) -> Any:
    """Returns the images' gradient, given the convolution's, for windows for which `layouts.has_phases` is true."""
    result = empty_images(xp, back, w, lengths, back.shape[3])
    for images, taps, wide, small in by_phases(xp, back, lengths, w, steps):
        target = result[images]
        target[...] = convolve(xp, wide, filters[taps][::-1, ::-1], small, *target.shape[1:3])
    return result


def filters_gradient(xp: Any, wide: Any, back: Any, w: Window) -> Any:
    """Returns the gradient of the filters."""
    sums = xp.einsum("nyxijc,nyxc->ijc", under_windows(xp, wide, w, *back.shape[1:3]), back)
    return xp.expand_dims(sums, 2)
