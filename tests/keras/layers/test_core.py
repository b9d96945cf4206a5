"""Do the layers that most models are made of run the ops one expects, and keep what they were told?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L = tf.keras.layers


def ops_of(layer: Any, value: Any, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Returns the ops that the placement log shows for a call of a layer that is built."""
    layer(value)
    tf.debugging.set_log_device_placement(True)
    layer(value)
    tf.debugging.set_log_device_placement(False)
    return [line.split()[2] for line in capfd.readouterr().err.splitlines()]


def test_dense_layer_multiplies_and_adds_a_bias(capfd: pytest.CaptureFixture[str]) -> None:
    layer, value = L.Dense(2, activation="relu"), tf.ones((2, 3))

    assert ["ReadVariableOp", "MatMul", "ReadVariableOp", "BiasAdd", "Relu"] == ops_of(layer, value, capfd)


def test_dense_layer_takes_sequences_vector_by_vector() -> None:
    layer = L.Dense(2)
    sequences = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")

    np.testing.assert_allclose(layer(sequences[:, 1]), layer(sequences)[:, 1], rtol=1e-5, atol=1e-6)


def test_dense_layer_makes_floats_of_integers() -> None:
    assert [[3.0]] == L.Dense(1, kernel_initializer="ones")(np.array([[1, 2]])).numpy().tolist()


def test_embedding_reads_rows() -> None:
    layer = L.Embedding(3, 2)
    layer.build()

    assert layer.embeddings.numpy()[[2, 0]].tolist() == layer([2, 0]).numpy().tolist()


def test_embedding_can_begin_with_given_rows() -> None:
    rows = np.arange(6.0).reshape(3, 2)

    assert [[2.0, 3.0]] == L.Embedding(3, 2, weights=[rows])([1]).numpy().tolist()


def test_lambda_layer_hands_arguments_on() -> None:
    assert [6.0] == L.Lambda(lambda x, by: x * by, arguments={"by": 3.0})([2.0]).numpy().tolist()


def test_lambda_layer_knows_the_shape_it_was_told() -> None:
    assert (None, 7) == L.Lambda(lambda x: x, output_shape=(7,))(tf.keras.Input((3,))).shape


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.keras.Input(), r"^You must pass a `shape` argument\.$"),
        (lambda: tf.keras.Input((1,), batch_shape=(None, 1)), "You cannot pass both `shape` and `batch_shape`"),
    ],
)
def test_input_needs_one_shape(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_input_takes_the_size_of_the_batch() -> None:
    assert ((5, 3), (2, 3)) == (tf.keras.Input((3,), batch_size=5).shape, tf.keras.Input(batch_shape=(2, 3)).shape)
