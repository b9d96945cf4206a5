"""Do recurrent layers keep states, go in both directions and leave out what a mask says?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L = tf.keras.layers
X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")


@pytest.mark.parametrize("kind", [L.SimpleRNN, L.GRU, L.LSTM])
def test_last_state_is_the_last_result(kind: Any) -> None:
    sequences, *states = kind(4, return_sequences=True, return_state=True)(X)

    np.testing.assert_array_equal(sequences[:, -1], states[0])


@pytest.mark.parametrize("kind", [L.SimpleRNN, L.GRU, L.LSTM])
def test_sequence_in_two_parts_ends_as_the_whole(kind: Any) -> None:
    layer = kind(4, return_state=True)
    whole = layer(X)[0]
    _, *states = layer(X[:, :2])

    np.testing.assert_allclose(whole, layer(X[:, 2:], initial_state=states)[0], rtol=1e-5, atol=1e-6)


def test_stateful_layer_goes_on_where_it_ended() -> None:
    layer = L.LSTM(4, stateful=True)
    whole = layer(X).numpy()
    layer.reset_states()
    layer(X[:, :2])

    np.testing.assert_allclose(whole, layer(X[:, 2:]), rtol=1e-5, atol=1e-6)


def test_backwards_is_forwards_on_the_reversed_sequence() -> None:
    forward, backward = L.GRU(4), L.GRU(4, go_backwards=True)
    forward.build(X.shape)
    backward.build(X.shape)
    backward.set_weights(forward.get_weights())

    np.testing.assert_allclose(forward(X[:, ::-1].copy()), backward(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("mode", "width"), [("concat", 8), ("sum", 4), ("mul", 4), ("ave", 4)])
def test_both_directions_are_merged(mode: str, width: int) -> None:
    layer = L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode=mode)

    assert [2, 5, width] == layer(X).shape.as_list()
    assert (None, 5, width) == layer(tf.keras.Input((5, 3))).shape


def test_both_directions_come_in_a_list_when_not_merged() -> None:
    there, back = L.Bidirectional(L.GRU(4), merge_mode=None)(X)

    assert [2, 4] == there.shape.as_list() == back.shape.as_list()


def test_steps_that_a_mask_leaves_out_change_nothing() -> None:
    layer = L.LSTM(4)
    mask = np.array([[True, True, True, False, False]] * 2)

    np.testing.assert_allclose(layer(X[:, :3]), layer(X, mask=mask), rtol=1e-5, atol=1e-6)


def test_forget_gate_begins_open() -> None:
    layer = L.LSTM(2)
    layer(X)

    assert [0, 0, 1, 1, 0, 0, 0, 0] == layer.bias.numpy().tolist()


def test_dropout_of_the_states_acts_in_training() -> None:
    layer = L.LSTM(8, recurrent_dropout=0.5, dropout=0.5, seed=1)

    assert not np.allclose(layer(X), layer(X, training=True))


def test_layer_is_applied_to_each_step() -> None:
    dense = L.Dense(2)

    np.testing.assert_allclose(dense(X[:, 3]), L.TimeDistributed(dense)(X)[:, 3], rtol=1e-5, atol=1e-6)


def test_arguments_of_the_cell_can_be_asked_of_the_layer() -> None:
    layer = L.LSTM(4, activation="relu")

    assert (4, "relu") == (layer.units, layer.get_config()["activation"])
