"""Does a traced `tf.cond` return `IndexedSlices` as TensorFlow does, also where the indices have different dtypes?"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import nbtf as tf

TYPES = (tf.int32, tf.int64)


@pytest.mark.parametrize(("first", "second"), [*product(TYPES, TYPES)], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("chosen", [True, False])
def test_indices_become_int64_where_those_of_the_branches_differ(first: Any, second: Any, chosen: bool) -> None:
    @tf.function
    def rows(condition: Any, values: Any) -> Any:
        return tf.cond(
            condition,
            lambda: tf.IndexedSlices(values, tf.constant([0, 2], first)),
            lambda: tf.IndexedSlices(values * 2.0, tf.constant([1, 3], second)),
        )

    result = rows(tf.constant(chosen), tf.ones([2, 1]))

    assert result.indices.dtype == (first if first is second else tf.int64)
    assert result.indices.numpy().tolist() == ([0, 2] if chosen else [1, 3])
    assert result.values.numpy().tolist() == [[1.0 if chosen else 2.0]] * 2
