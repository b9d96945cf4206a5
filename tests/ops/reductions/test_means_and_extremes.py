"""Do reductions, running sums, orders and norms keep TensorFlow's special rules and its words?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.op import OPS
from nbtf.errors import InvalidArgumentError

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
NAN = float("nan")
LIST: Any = tf.constant(X)

REDUCTIONS = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod]


# Values


@pytest.mark.parametrize(("numbers", "mean"), [([1, 2], 1), ([-1, -2], -1), ([250, 251], 250), ([-5, 4], 0)])
def test_mean_of_integers_is_cut_towards_zero(numbers: list[int], mean: int) -> None:
    assert mean == tf.reduce_mean(numbers).numpy()


def test_mean_of_integers_does_not_overflow_on_the_way() -> None:
    assert 120 == tf.reduce_mean(tf.fill([1000], tf.constant(120, tf.int8))).numpy()
    assert 2**31 - 1 == tf.reduce_mean([2**31 - 1, 2**31 - 1]).numpy()


def test_mean_of_halves_does_not_overflow_on_the_way() -> None:
    assert 60000 == tf.reduce_mean(tf.constant([60000.0, 60000.0], tf.float16)).numpy()


@pytest.mark.parametrize("function", [tf.reduce_max, tf.reduce_min])
def test_nan_is_largest_and_smallest(function: Any) -> None:
    assert np.isnan(function([1.0, NAN, 2.0]).numpy())


@pytest.mark.parametrize("function", REDUCTIONS)
def test_no_axes_reduce_nothing(function: Any) -> None:
    assert X == function(X, axis=[]).numpy().tolist()


@pytest.mark.parametrize("axis", [1, -1, [1], (1,), np.array([1]), np.int64(1)])
@pytest.mark.parametrize("function", REDUCTIONS)
def test_axes_are_said_in_many_ways(function: Any, axis: Any) -> None:
    assert function(X, 1).numpy().tolist() == function(tf.constant(X), axis).numpy().tolist()


@pytest.mark.parametrize("function", REDUCTIONS)
def test_an_axis_may_be_a_tensor(function: Any) -> None:
    assert function(X, 1).numpy().tolist() == function(X, tf.constant(1, tf.int64)).numpy().tolist()
    assert function(X, [0, 1]).numpy() == function(X, tf.constant([0, 1])).numpy()


@pytest.mark.parametrize("dtype", [tf.int8, tf.int16, tf.int32, tf.uint8, tf.float16, tf.float64, tf.complex64])
@pytest.mark.parametrize("function", [tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.cumsum])
def test_results_keep_the_dtype(function: Any, dtype: tf.DType) -> None:
    assert dtype == function(tf.cast([1, 2], dtype)).dtype


def test_equal_extremes_share_the_gradient() -> None:
    x = tf.constant([1.0, 3.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_max(x)

    assert [0.0, 0.5, 0.5] == tape.gradient(y, x).numpy().tolist()


def test_positions_are_int64_unless_said_otherwise() -> None:
    assert (tf.int64, tf.int32) == (tf.argmax(X).dtype, tf.argmax(X, output_type="int32").dtype)


def test_positions_have_no_gradient() -> None:
    assert OPS["ArgMax"].no_gradient
    assert OPS["Any"].no_gradient


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8, tf.int32, tf.float32])
def test_equal_elements_keep_their_order(dtype: tf.DType, direction: str) -> None:
    numbers = np.array([3, 1, 2, 1, 3])
    keys = numbers if direction == "ASCENDING" else -numbers
    order = tf.argsort(tf.cast(numbers, dtype), direction=direction)

    assert np.argsort(keys, kind="stable").tolist() == order.numpy().tolist()


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8, tf.int64])
def test_the_smallest_integer_is_sorted_as_well(dtype: tf.DType) -> None:
    ends = [dtype.max, dtype.min, 0]

    assert sorted(ends) == tf.sort(tf.constant(ends, dtype)).numpy().tolist()


def test_top_k_prints_its_tensorflow_name() -> None:
    assert "TopKV2(values=<tf.Tensor: shape=(1,)" in repr(tf.math.top_k([1, 3]))


def test_the_logarithm_of_a_sum_of_exponentials_does_not_overflow() -> None:
    assert pytest.approx(1000.6931, rel=1e-6) == tf.reduce_logsumexp([1000.0, 1000.0]).numpy()
    assert -np.inf == tf.reduce_logsumexp([-np.inf, -np.inf]).numpy()


def test_variance_is_for_numbers_with_a_fraction() -> None:
    with pytest.raises(
        TypeError, match=r"Input must be either real or complex. Received integer type <dtype: 'int32'>"
    ):
        tf.math.reduce_variance([1, 2])


def test_clipping_leaves_none_and_tells_the_norm() -> None:
    clipped, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0]), None], 1.0)

    assert 5.0 == norm.numpy()
    assert clipped[1] is None
    np.testing.assert_allclose(clipped[0].numpy(), [0.6, 0.8], rtol=1e-6)


def test_clipping_what_is_not_finite_gives_nan() -> None:
    clipped, _ = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)

    assert np.isnan(clipped[0].numpy()).all()


def test_clipping_keeps_the_rows_of_sparse_gradients() -> None:
    slices = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([2]), tf.constant([5, 2]))
    (clipped,), norm = tf.clip_by_global_norm([slices], 1.0)

    assert 5.0 == norm.numpy()
    assert [2] == clipped.indices.numpy().tolist()
    np.testing.assert_allclose(clipped.values.numpy(), [[0.6, 0.8]], rtol=1e-6)


def test_clipping_zeros_has_a_gradient() -> None:
    x = tf.zeros([2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.clip_by_norm(x, 1.0)

    assert [1.0, 1.0] == tape.gradient(y, x).numpy().tolist()


# Words


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.reduce_sum(X, 2), "Invalid reduction dimension (2 for input with 2 dimension(s) [Op:Sum]"),
        (lambda: tf.reduce_max(X, [0, -4]), "Invalid reduction dimension (-4 for input with 2 dimension(s) [Op:Max]"),
        (lambda: tf.reduce_mean(X, [0, -2]), "Axes contains duplicate dimension: 0 [Op:Mean]"),
        (lambda: tf.reduce_prod(X, "a"), "Value for attr 'Tidx' of string is not in the list of allowed values"),
        (
            lambda: tf.reduce_any(tf.constant(X)),
            "cannot compute Any as input #0(zero-based) was expected to be a bool tensor but",
        ),
        (lambda: tf.reduce_max([True]), "Value for attr 'T' of bool is not in the list of allowed values"),
        (lambda: tf.argmax(X, 2), "Expected dimension in the range [-2, 2), but got 2 [Op:ArgMax]"),
        (lambda: tf.argmin(1.0), "Expected dimension in the range [0, 0), but got 0 [Op:ArgMin]"),
        (lambda: tf.argmax(tf.zeros([0])), "Reduction axis 0 is empty in shape [0] [Op:ArgMax]"),
        (lambda: tf.argmax(X, output_type=tf.float32), "'output_type' of float is not in the list of allowed values"),
        (lambda: tf.cumsum(X, 2), "ScanOp: Expected scan axis in the range [-2, 2), but got 2 [Op:Cumsum]"),
        (lambda: tf.cumsum(X, [0]), "ScanOp: axis must be a scalar, not [1] [Op:Cumsum]"),
        (lambda: tf.math.top_k(X, 4), "input must have at least k columns. Had 3, needed 4 [Op:TopKV2]"),
        (lambda: tf.math.top_k(X, -1), "Need k >= 0, got -1 [Op:TopKV2]"),
        (lambda: tf.math.top_k(1.0), "input must be >= 1-D, got shape [] [Op:TopKV2]"),
        (lambda: tf.sort(X, axis=2), "slice index 2 of dimension 0 out of bounds."),
    ],
)
def test_what_tensorflow_refuses_is_refused_in_its_words(call: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.norm(X, 3, axis=[0, 1]),
            "'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf]",
        ),
        (lambda: tf.norm(X, "fro", axis=0), "'ord' must be a supported vector norm, got fro"),
        (lambda: tf.norm(X, -1), "'ord' must be a supported vector norm, got -1"),
        (
            lambda: tf.norm(X, axis=[0, 1, 2]),
            "must be None, an integer, or a tuple of 2 unique integers, got [0, 1, 2]",
        ),
        (lambda: tf.norm(X, axis=[0, 0]), "must be None, an integer, or a tuple of 2 unique integers, got (0, 0)"),
        (lambda: tf.norm(X, axis="a"), "must be None, an integer, or a tuple of 2 unique integers, got a"),
        (lambda: tf.sort(X, direction="UP"), "should be one of ASCENDING, DESCENDING. Received: direction=UP"),
    ],
)
def test_wrong_arguments_are_value_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.argmax(X, [0]), "axis must be int or Tensor with integer datatype"),
        (lambda: tf.linalg.global_norm(LIST), "`t_list` should be a sequence of tensors."),
    ],
)
def test_arguments_of_the_wrong_kind_are_type_errors(call: Any, text: str) -> None:
    with pytest.raises(TypeError, match=re.escape(text)):
        call()


def test_users_floating_point_settings_change_nothing() -> None:
    with np.errstate(all="raise"):
        assert np.isnan(tf.reduce_mean(tf.zeros([0])).numpy())
        assert [1.0, 0.0] == tf.nn.softmax([0.0, -1000.0]).numpy().tolist()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(
    "reduce", [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod, tf.norm]
)
def test_a_scalar_has_no_axis(reduce: Any, axis: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="for input with 0 dimension"):
        reduce(tf.constant(2.0), axis=axis)
