"""Random bits become the same numbers on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.random import philox


def test_sine_and_cosine_are_those_of_the_c_library_in_single_precision() -> None:
    near_quarters = [quarter * (1 << 21) + offset for quarter in range(4) for offset in range(-50, 51)]
    numbers = np.concatenate([np.arange(0, 1 << 23, 101), np.mod(near_quarters, 1 << 23)])
    fractions = (numbers / (1 << 23)).astype(np.float32)
    angles = (philox.TURN * fractions.astype(np.float64)).astype(np.float32).astype(np.float64)
    sine, cosine = philox._sine_and_cosine(np, angles)

    assert np.array_equal(np.sin(angles).astype(np.float32), sine)
    assert np.array_equal(np.cos(angles).astype(np.float32), cosine)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("draw", [philox.uniform, philox.normal])
def test_many_numbers_are_those_of_few(draw: Any, dtype: tf.DType) -> None:
    group = 2 if dtype is tf.float64 else 4
    whole = draw(np, np.uint64(5), (3, 4), group * (philox.BLOCKS_AT_ONCE + 2), dtype)
    end = draw(np, np.uint64(5), (3 + philox.BLOCKS_AT_ONCE, 4), 2 * group, dtype)

    assert end.tolist() == whole[-2 * group :].tolist()
