"""Numbers of bfloat16: held where `ml_dtypes` is installed, refused in words where it is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

ml_dtypes = pytest.importorskip("ml_dtypes")
SHORT = ml_dtypes.bfloat16
X = [[1.5, -2.0, 0.25], [3.0, -0.5, 7.5]]


def run(code: str) -> str:
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return completed.stdout


# Where the package is not installed

WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import nbtf as tf
x = tf.constant([1.5])
for use in (
    lambda: tf.constant(1.5, tf.bfloat16), lambda: tf.cast(x, tf.bfloat16), lambda: tf.zeros([2], tf.bfloat16),
    lambda: tf.Variable([1.5], dtype=tf.bfloat16), lambda: tf.bfloat16.as_numpy_dtype, lambda: tf.bfloat16.max,
    lambda: tf.bitcast(tf.constant([1], tf.uint16), tf.bfloat16), lambda: tf.random.normal([2], dtype=tf.bfloat16),
    lambda: tf.function(lambda: tf.cast(x, tf.bfloat16))(), lambda: tf.range(3, dtype=tf.bfloat16),
    lambda: tf.keras.layers.Dense(2, dtype="mixed_bfloat16")(tf.ones([1, 2])),
):
    try:
        print("answered", use())
    except Exception as error:
        print(isinstance(error, (TypeError, tf.errors.UnimplementedError)), '.[bfloat16]"' in str(error))
print(tf.as_dtype("bfloat16"), tf.bfloat16.size, tf.bfloat16.is_floating, tf.bfloat16.is_numpy_compatible)
"""


def test_without_the_package_every_use_is_refused_and_names_the_extra() -> None:
    *refusals, name = run(WITHOUT).splitlines()

    assert ["True True"] * 11 == refusals
    assert "<dtype: 'bfloat16'> 2 True False" == name


def test_importing_does_not_load_the_package() -> None:
    code = """
import sys, nbtf as tf
tf.as_dtype("bfloat16"), tf.constant(1.0) + 1.0
print("ml_dtypes" in sys.modules)
tf.constant(1.0, tf.bfloat16)
print("ml_dtypes" in sys.modules)
"""
    assert ["False", "True"] == run(code).split()


# What the dtype says


def test_what_stands_for_it() -> None:
    assert tf.bfloat16 is tf.as_dtype(SHORT) is tf.as_dtype(np.dtype(SHORT)) is tf.as_dtype(np.zeros(1, SHORT))


def test_properties() -> None:
    dtype = tf.bfloat16

    assert (SHORT, np.dtype(SHORT)) == (dtype.as_numpy_dtype, dtype.np_dtype)
    assert (2, True, False, True) == (dtype.size, dtype.is_floating, dtype.is_integer, dtype.is_numpy_compatible)
    assert (-3.3895313892515355e38, 3.3895313892515355e38) == (float(dtype.min), float(dtype.max))
    with pytest.raises(ValueError, match="does not have defined limits"):
        dtype.limits  # noqa: B018


# Values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>"),
        ([1.5, 2], "<tf.Tensor: shape=(2,), dtype=bfloat16, numpy=array([1.5, 2], dtype=bfloat16)>"),
        ([np.float32(1.5), 2], "<tf.Tensor: shape=(2,), dtype=bfloat16, numpy=array([1.5, 2], dtype=bfloat16)>"),
        (1e40, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=inf>"),
        (1.00390625, "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.0>"),
    ],
    ids=repr,
)
def test_constants_and_their_text(value: Any, text: str) -> None:
    assert text == repr(tf.constant(value, tf.bfloat16))


@pytest.mark.parametrize("value", [[True], 1j, "a"], ids=repr)
def test_what_is_no_number_of_it_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^Cannot convert .* to EagerTensor of dtype bfloat16"):
        tf.constant(value, tf.bfloat16)


def test_arrays_keep_the_dtype_and_come_back() -> None:
    array = np.array(X, SHORT)

    assert SHORT == tf.constant(array).numpy().dtype == tf.constant(array[0, 0]).numpy().dtype
    np.testing.assert_array_equal(array, tf.constant(array).numpy())
    assert "tf.Tensor([1.5 2.25], shape=(2,), dtype=bfloat16)" == str(tf.constant([1.5, 2.25], tf.bfloat16))


@pytest.mark.parametrize(
    "name", "bool int8 uint8 int32 int64 uint64 float16 float32 float64 complex64 complex128".split()
)
def test_casts_from_and_to_every_dtype(name: str) -> None:
    there = tf.cast(tf.constant([1.5, 2, 0], tf.bfloat16), name)
    back = tf.cast(there, tf.bfloat16)

    np.testing.assert_array_equal(np.array([1.5, 2, 0]).astype(name), there.numpy())
    np.testing.assert_array_equal(np.array([1.5, 2, 0]).astype(name).real.astype(SHORT), back.numpy())


def test_scalars_of_python_take_the_dtype_and_other_dtypes_do_not_mix() -> None:
    x = tf.constant(2.0, tf.bfloat16)

    assert [3.0, 3.0, 3.0] == [float(result) for result in (x + 1.0, x + 1, 1.5 * x)]
    assert tf.bfloat16 is (x + 1.0).dtype
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a bfloat16 tensor but is a float tensor"):
        x + tf.constant(1.0)


# Ops without a kernel


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (tf.math.rint, tf.errors.NotFoundError),
        (tf.linalg.diag_part, None),
        (tf.linalg.cholesky, tf.errors.InvalidArgumentError),
        (tf.linalg.svd, tf.errors.InvalidArgumentError),
        (lambda x: tf.linalg.triangular_solve(x, x), tf.errors.NotFoundError),
        (lambda x: tf.bitwise.invert(x), tf.errors.InvalidArgumentError),
    ],
)
def test_ops_without_a_kernel_are_refused_as_in_tensorflow(call: Callable[[Any], Any], error: Any) -> None:
    x = tf.constant([[2.0, 0.0], [0.0, 2.0]], tf.bfloat16)
    if error is None:
        assert tf.bfloat16 is call(x).dtype
        return
    with pytest.raises(error, match=r"BFLOAT16|bfloat16"):
        call(x)


def test_random_numbers_are_those_of_tensorflow() -> None:
    seed, short = [1, 2], tf.bfloat16

    # Source: TensorFlow 2.21.
    normal = [0.54296875, 0.20703125, 0.07373046875, 0.04638671875, -1.3046875]
    uniform = [0.34375, 0.8828125, 0.484375, 0.1484375, 0.1484375]
    truncated = [0.54296875, 0.20703125, 0.07373046875, 0.04638671875, 0.16796875]
    assert normal == tf.random.stateless_normal([5], seed, dtype=short).numpy().tolist()
    assert uniform == tf.random.stateless_uniform([5], seed, dtype=short).numpy().tolist()
    assert truncated == tf.random.stateless_truncated_normal([5], seed, dtype=short).numpy().tolist()
    assert [0.28125, 0.7109375] == tf.random.Generator.from_seed(1).uniform([2], dtype=short).numpy().tolist()


def test_ranges_are_those_of_tensorflow() -> None:
    assert [396, 396, 396, 398, 400] == tf.range(400, dtype=tf.bfloat16)[-5:].numpy().tolist()
    assert [294, 294, 296, 296, 298] == tf.range(0.0, 300.0, 1.3, dtype=tf.bfloat16)[-5:].numpy().tolist()
    assert tf.bfloat16 is tf.range(tf.constant(1, tf.bfloat16), 5).dtype
