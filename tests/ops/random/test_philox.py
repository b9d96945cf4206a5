"""Random bits become the same numbers on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.random import philox


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("draw", [philox.uniform, philox.normal])
def test_many_numbers_are_those_of_few(draw: Any, dtype: tf.DType) -> None:
    group = 2 if dtype is tf.float64 else 4
    whole = draw(np, np.uint64(5), (3, 4), group * (philox.BLOCKS_AT_ONCE + 2), dtype)
    end = draw(np, np.uint64(5), (3 + philox.BLOCKS_AT_ONCE, 4), 2 * group, dtype)

    assert end.tolist() == whole[-2 * group :].tolist()
