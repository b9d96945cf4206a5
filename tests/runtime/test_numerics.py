from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import nbtf as tf


@pytest.fixture(autouse=True)
def checking() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def test_the_error_says_what_tensorflow_says() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.divide(tf.constant([1.0, 0.0, -1.0]), 0.0)

    # Source: TensorFlow 2.21.
    assert (
        "{{function_node __wrapped__CheckNumericsV2_device_/job:localhost/replica:0/task:0/device:CPU:0}} \n\n"
        '!!! Detected Infinity or NaN in output 0 of eagerly-executing op "RealDiv" (# of outputs: 1) !!!\n'
        "  dtype: <dtype: 'float32'>\n  shape: (3,)\n"
        "  # of -Inf elements: 1\n  # of +Inf elements: 1\n  # of +NaN elements: 1\n\n"
        "  Input tensors (2):\n         0: tf.Tensor([ 1.  0. -1.], shape=(3,), dtype=float32)\n"
        "         1: tf.Tensor(0.0, shape=(), dtype=float32)\n\n"
        " : Tensor had -Inf, +Inf, and NaN values [Op:CheckNumericsV2] name: "
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("values", "finding"), [([-1.0, 0.0], "-Inf and NaN"), ([0.0], "-Inf"), ([-1.0], "NaN"), ([float("inf")], r"\+Inf")]
)
def test_it_tells_infinities_from_what_is_no_number(values: list[float], finding: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf'op "Log"(.|\n)*Tensor had {finding} values'):
        tf.math.log(tf.constant(values))


def test_every_kind_of_device_is_looked_at(on_device: str) -> None:
    tf.debugging.enable_check_numerics()  # the device has a context of its own
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(on_device)):
        tf.sqrt(tf.constant(-1.0))


def test_gradients_are_looked_at() -> None:
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.sqrt(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match="Detected Infinity or NaN"):
        tape.gradient(y, x)


def test_nodes_of_a_session_are_looked_at() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        root = tf.sqrt(tf.constant(-1.0))

        with pytest.raises(tf.errors.InvalidArgumentError, match='graph op "Sqrt"'):
            session.run(root)


def test_what_only_passes_values_on_is_not_looked_at() -> None:
    values = tf.reshape(tf.constant([float("nan"), 1.0]), [2, 1])

    assert (2, 1) == values.shape
    assert 2 == tf.add(1, tf.constant(1)).numpy()


def test_it_ends() -> None:
    tf.debugging.disable_check_numerics()

    assert "nan" == str(tf.sqrt(-1.0).numpy())
