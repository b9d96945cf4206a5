"""Numbers of float8: they are converted and moved, and no op computes in them, as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

ml_dtypes = pytest.importorskip("ml_dtypes")
NAMES = ["float8_e5m2", "float8_e4m3fn"]
VALUES = [1.1, -3.3, 1e6, float("nan"), 0.001]


@pytest.mark.parametrize("name", NAMES)
def test_casts_round_as_ml_dtypes_does(name: str) -> None:
    short = getattr(ml_dtypes, name)
    cast = tf.cast(VALUES, name)

    assert tf.as_dtype(short) is cast.dtype
    assert (name, 1, True) == (cast.dtype.name, cast.dtype.size, cast.dtype.is_floating)
    assert float(ml_dtypes.finfo(short).max) == float(cast.dtype.max)
    expected = np.array(VALUES, np.float32).astype(short).astype(np.float32)
    np.testing.assert_array_equal(expected, tf.cast(cast, tf.float32).numpy())


MOVING: list[Callable[[Any], Any]] = [
    tf.identity,
    lambda x: tf.reshape(x, [5, 1]),
    lambda x: tf.concat([x, x], 0),
    lambda x: x[1:3],
    lambda x: tf.gather(x, [4, 0]),
    lambda x: tf.function(lambda y: tf.stack([y, y]))(x),
    lambda x: tf.Variable(x).read_value(),
]


@pytest.mark.parametrize("move", MOVING, ids=["identity", "reshape", "concat", "slice", "gather", "traced", "variable"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_moved(name: str, move: Callable[[Any], Any]) -> None:
    x = tf.cast(VALUES, name)
    expected = move(tf.cast(x, tf.float32)).numpy()

    assert x.dtype is move(x).dtype
    np.testing.assert_array_equal(expected, tf.cast(move(x), tf.float32).numpy())


@pytest.mark.parametrize("compute", [lambda x: x + x, lambda x: x == x, tf.abs], ids=["add", "equal", "abs"])
@pytest.mark.parametrize("name", NAMES)
def test_no_op_computes_in_float8(name: str, compute: Callable[[Any], Any]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError, TypeError), match="float8"):
        compute(tf.cast(VALUES, name))
