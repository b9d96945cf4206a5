"""Random bits become the same numbers on every machine."""

from __future__ import annotations

import numpy as np

from nbtf._ops.random import philox


def test_sine_and_cosine_are_those_of_the_c_library_in_single_precision() -> None:
    near_quarters = [quarter * (1 << 21) + offset for quarter in range(4) for offset in range(-50, 51)]
    numbers = np.concatenate([np.arange(0, 1 << 23, 101), np.mod(near_quarters, 1 << 23)])
    fractions = (numbers / (1 << 23)).astype(np.float32)
    angles = (philox.TURN * fractions.astype(np.float64)).astype(np.float32).astype(np.float64)
    sine, cosine = philox._sine_and_cosine(np, angles)

    assert np.array_equal(np.sin(angles).astype(np.float32), sine.astype(np.float32))
    assert np.array_equal(np.cos(angles).astype(np.float32), cosine.astype(np.float32))
