"""Do activations, losses and layers' pieces keep TensorFlow's special rules and its words?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import AbortedError, InvalidArgumentError
from tests.machines import machine
from tests.ops.listening import listening

X = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.5]], np.float32)
V = X[0]
NOTHING: Any = None


def slope(function: Any, at: list[float]) -> list[float]:
    x = tf.constant(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).numpy().tolist()


# Activations


@pytest.mark.parametrize(
    ("function", "at_zero"),
    [
        (tf.nn.relu, 0.0),
        (tf.nn.relu6, 0.0),
        (tf.nn.elu, 1.0),
        (tf.nn.selu, 1.0507009873554805),
        (tf.nn.leaky_relu, 0.2),
        (tf.nn.softplus, 0.5),
        (tf.nn.softsign, 1.0),
        (tf.nn.silu, 0.5),
        (tf.nn.gelu, 0.5),
    ],
)
def test_slopes_at_zero_are_tensorflows(function: Any, at_zero: float) -> None:
    assert pytest.approx([at_zero], rel=1e-6) == slope(function, [0.0])


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.elu, tf.nn.softplus, tf.nn.softmax, tf.nn.log_softmax])
def test_nan_stays_nan(function: Any) -> None:
    assert np.isnan(function([float("nan")]).numpy()).all()


def test_large_numbers_do_not_overflow() -> None:
    assert [0.0, 1000.0] == tf.nn.softplus([-1000.0, 1000.0]).numpy().tolist()
    assert [-1.0, 1000.0] == tf.nn.elu([-1000.0, 1000.0]).numpy().tolist()
    assert [0.0, -1000.0] == tf.nn.log_softmax([1000.0, 0.0]).numpy().tolist()


def test_integers_leak_as_float32() -> None:
    assert tf.float32 == tf.nn.leaky_relu([1, -2]).dtype


def test_two_names_are_one_function() -> None:
    assert tf.nn.swish is tf.nn.silu
    assert tf.nn.softmax is tf.math.softmax
    assert tf.nn.sigmoid is tf.math.sigmoid
    assert tf.nn.top_k is tf.math.top_k


def test_gelu_of_numbers_without_a_limit_is_theirs_or_0() -> None:
    with np.errstate(all="raise"):
        actual = tf.nn.gelu(tf.constant([100.0, -100.0, 0.0, 3e38])).numpy()

    assert np.array_equal(np.array([100.0, 0.0, 0.0, 3e38], np.float32), actual)
    assert np.array_equal([np.inf, np.nan, np.nan], tf.nn.gelu([np.inf, -np.inf, np.nan]), equal_nan=True)


def test_gelu_is_the_ops_of_tensorflow() -> None:
    with listening() as calls:
        tf.nn.gelu(V)

    assert ["Mul", "Neg", "Mul", "Erfc", "Mul"] == [call.op.type for call in calls]


def test_gelu_is_for_floats() -> None:
    with pytest.raises(ValueError, match=r"`features.dtype` must be a floating point tensor"):
        tf.nn.gelu([1, 2])


@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
@pytest.mark.parametrize("axis", [2, -3])
def test_softmax_says_which_axes_there_are(function: Any, axis: int) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        function(X, axis=axis)

    expected = f"must be in the range [-2, 2) where 2 is the number of dimensions in the input. Received: dim={axis}"
    assert expected in str(caught.value)


def test_a_scalar_has_no_softmax() -> None:
    with pytest.raises(AbortedError, match=r"Input dims must be <= 5 and >=1 \[Op:Softmax\]"):
        tf.nn.softmax(1.0)


# Losses


def test_half_precision_losses_are_computed_in_single_precision() -> None:
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], X.astype(np.float16))

    assert tf.float16 == loss.dtype
    np.testing.assert_allclose(loss.numpy(), [2.133, 1.701], rtol=1e-3)


def test_integer_shares_are_taken_for_floats() -> None:
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=[[1, 0, 0], [0, 1, 0]], logits=X)

    np.testing.assert_allclose(loss.numpy(), [2.1328452, 1.7014358], rtol=1e-6)


def test_one_row_of_shares_serves_all_logits() -> None:
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=[1.0, 0.0, 0.0], logits=X)

    np.testing.assert_allclose(loss.numpy(), [2.1328452, 10.701436], rtol=1e-6)


def test_labels_are_checked_on_the_cpu_alone() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        tf.nn.sparse_softmax_cross_entropy_with_logits([0, 3], X)

    expected = "Received a label value of 3 which is outside the valid range of [0, 3).  Label values: 0 3"
    assert expected in str(caught.value)


def test_the_second_derivative_of_a_loss_is_that_of_its_definition() -> None:
    x = tf.constant([[0.5, -1.0, 2.0]])
    found: list[Any] = []
    for loss in (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([1], x),
        lambda: -tf.nn.log_softmax(x)[:, 1],
    ):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = loss()
            first = tape.gradient(y, x)
        found.append(outer.gradient(first, x, tf.constant([[1.0, 0.0, 0.0]])).numpy())

    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=X),
            "`labels.shape` must equal `logits.shape` except for the last dimension. "
            "Received: labels.shape=(1,) and logits.shape=(2, 3)",
        ),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 2]], logits=X),
            "Received: labels.shape=(1, 2) of rank 2 and logits.shape=(2, 3) of rank 2",
        ),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=1.0),
            "`logits` cannot be a scalar. Received logits=1.0`",
        ),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=NOTHING, logits=1.0),
            "must be provided for sparse_softmax_cross_entropy_with_logitsReceived: labels=None and logits=1.0",
        ),
        (
            lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=V),
            "`logits` and `labels` must have the same shape, received ((3,) vs (1,)).",
        ),
        (
            lambda: tf.nn.compute_average_loss(1.0),
            "Expected a tensor with at least rank 1. Received per_example_loss=1.0",
        ),
        (lambda: tf.nn.compute_average_loss([1.0], global_batch_size=tf.constant([2])), "must be scalar."),
        (lambda: tf.nn.bias_add(X, V, "XYZ"), "`data_format` must be of the form `N...C` or `NC...`."),
    ],
)
def test_wrong_arguments_are_value_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.nn.softmax_cross_entropy_with_logits(labels=[1.0, 0.0], logits=X),
            "logits and labels must be broadcastable: logits_size=[2,3] labels_size=[1,2]",
        ),
        (lambda: tf.nn.bias_add(X, V[:2]), "as the last dimension of the input tensor: [2] vs. [2,3] [Op:BiasAdd]"),
        (lambda: tf.nn.bias_add(X, X), "Biases must be 1D: [2,3] [Op:BiasAdd]"),
        (lambda: tf.nn.bias_add(V, V), "Input tensor must be at least 2D: [3] [Op:BiasAdd]"),
        (lambda: tf.nn.compute_average_loss([1.0], global_batch_size=-1), "global_batch_size must be non-negative."),
        (lambda: tf.nn.embedding_lookup(X, [1, 2]), "indices[1] = 2 is not in [0, 2)"),
        (
            lambda: tf.nn.dropout(X, 0.5, noise_shape=[3, 1]),
            "condition [3,1], then [2,3], and else [] must be broadcastable",
        ),
    ],
)
def test_what_tensorflow_refuses_is_refused_in_its_words(call: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(text)):
        call()


def test_a_batch_size_is_a_whole_number() -> None:
    with pytest.raises(TypeError, match="global_batch_size must be an integer"):
        tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=4.0)


def test_an_empty_batch_has_no_loss() -> None:
    assert 0.0 == tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=0).numpy()


# Dropout and tables


def test_dropout_scales_what_is_left() -> None:
    tf.random.set_seed(1)
    numbers = tf.nn.dropout(tf.ones([1000]), 0.75).numpy()

    assert {0.0, 4.0} == set(numbers.tolist())
    assert 0.2 < (numbers > 0).mean() < 0.3


def test_dropout_of_nothing_is_the_tensor_itself() -> None:
    x = tf.constant(X)

    assert tf.nn.dropout(x, 0) is x


@pytest.mark.parametrize("noise_shape", [[100, 1], [None, 1]])
def test_dropout_decides_by_row(noise_shape: list[Any]) -> None:
    tf.random.set_seed(1)
    rows = tf.nn.dropout(tf.ones([100, 3]), 0.5, noise_shape=noise_shape).numpy()

    assert {0.0, 6.0} == set(rows.sum(1).tolist())


def test_dropout_repeats_with_its_seed() -> None:
    def run() -> list[float]:
        tf.random.set_seed(1)
        return tf.nn.dropout(tf.ones([10]), 0.5, seed=3).numpy().tolist()

    assert run() == run()


@pytest.mark.parametrize(
    ("x", "rate", "text"),
    [
        (X, 1.5, r"in the range [0, 1). Received: rate=1.5"),
        (X, -0.5, r"in the range [0, 1). Received: rate=-0.5"),
        (X, 1, r"in the range [0, 1). Received: rate=1"),
        (X, "a", "`rate` must be a scalar or scalar tensor. Received: rate=a"),
        (
            [1, 2],
            0.5,
            "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype=<dtype: 'int32'>",
        ),
    ],
)
def test_dropout_takes_a_rate_below_one_of_floats(x: Any, rate: Any, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        tf.nn.dropout(x, rate)


def test_dropout_is_the_same_on_a_gpu() -> None:
    tf.random.set_seed(1)
    on_cpu = tf.nn.dropout(tf.ones([10]), 0.5).numpy().tolist()
    with machine(1):
        tf.random.set_seed(1)
        assert on_cpu == tf.nn.dropout(tf.ones([10]), 0.5).numpy().tolist()


def test_long_rows_of_a_table_are_shortened() -> None:
    rows = tf.nn.embedding_lookup([[3.0, 4.0], [0.3, 0.4]], [0, 1], max_norm=1.0)

    np.testing.assert_allclose(rows.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


@pytest.mark.parametrize(
    ("params", "text"), [(None, "params must be specified"), ([], "Need at least one element in params.")]
)
def test_a_table_is_needed(params: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tf.nn.embedding_lookup(params, [0])
