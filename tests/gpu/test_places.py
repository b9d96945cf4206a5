"""Does a GPU treat repeated and out-of-range indices as TensorFlow's GPU kernels do, without waiting for the card?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from nbtf._types import as_dtype

pytestmark = pytest.mark.usefixtures("used")
OUTSIDE = [[0], [7], [-1], [2]]


def ramp(dtype: str = "float32") -> Any:
    return tf.constant(np.arange(1, 5).astype(dtype))


def test_gather_reads_zeros_outside() -> None:
    assert [1, 0, 0, 3] == tf.gather(ramp(), tf.constant([0, 7, -1, 2], tf.int64)).numpy().tolist()


def test_gather_along_another_axis_reads_zeros_outside() -> None:
    matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    assert [[2, 0], [4, 0]] == tf.gather(matrix, tf.constant([1, 2], tf.int64), axis=1).numpy().tolist()


def test_gather_from_nothing_reads_zeros() -> None:
    assert [[0, 0]] == tf.gather(tf.zeros([0, 2]), tf.constant([3], tf.int64)).numpy().tolist()


def test_a_batch_is_gathered_with_zeros_outside() -> None:
    matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    found = tf.gather(matrix, tf.constant([[1, 5], [-3, 0]], tf.int64), batch_dims=1)

    assert [[2, 0], [0, 3]] == found.numpy().tolist()


def test_gather_nd_reads_zeros_outside() -> None:
    matrix = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    assert [4, 0, 0] == tf.gather_nd(matrix, tf.constant([[1, 1], [2, 0], [0, -1]], tf.int64)).numpy().tolist()


def test_what_is_scattered_outside_is_dropped() -> None:
    places, ones = tf.constant(OUTSIDE, tf.int64), tf.ones([4])

    assert [1, 0, 1, 0] == tf.scatter_nd(places, ones, [4]).numpy().tolist()
    assert [1, 2, 1, 4] == tf.tensor_scatter_nd_update(ramp(), places, ones).numpy().tolist()
    assert [2, 2, 4, 4] == tf.tensor_scatter_nd_add(ramp(), places, ones).numpy().tolist()
    assert [0, 2, 2, 4] == tf.tensor_scatter_nd_sub(ramp(), places, ones).numpy().tolist()
    assert [1, 2, 1, 4] == tf.tensor_scatter_nd_min(ramp(), places, ones).numpy().tolist()
    assert [9, 2, 9, 4] == tf.tensor_scatter_nd_max(ramp(), places, ones * 9.0).numpy().tolist()


def test_a_variable_takes_no_rows_from_outside() -> None:
    variable = tf.Variable([1.0, 2.0, 3.0, 4.0])

    variable.scatter_nd_add(tf.constant(OUTSIDE, tf.int64), tf.ones([4]))
    variable.scatter_nd_update(tf.constant([[3], [4]], tf.int64), tf.constant([7.0, 8.0]))

    assert [2, 2, 4, 7] == variable.numpy().tolist()


def test_the_cpu_refuses_them() -> None:
    with use_context(Context(environ={"NBTF_GPU": "off"})), pytest.raises(tf.errors.InvalidArgumentError):
        tf.gather(ramp(), [7])


DTYPES = ["int8", "int16", "int64", "uint8", "uint16", "uint64", "float16", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "min", "max"])
def test_every_dtype_can_be_joined_at_places_that_come_twice(name: str, dtype: str) -> None:
    if name in ("min", "max") and as_dtype(dtype).is_complex:
        return
    function = getattr(tf, f"tensor_scatter_nd_{name}")
    updates = np.array([3, 100, 250]).astype(dtype) * (1j if dtype.startswith("complex") else 1)

    def joined() -> Any:
        places = tf.constant([[1], [1], [3]], tf.int64)
        return function(ramp(dtype), places, tf.constant(updates.astype(dtype))).numpy().tolist()

    with use_context(Context(environ={"NBTF_GPU": "off"})):
        expected = joined()
    assert expected == joined()
