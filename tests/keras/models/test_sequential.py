"""Is a Sequential model built when Keras' is, and says the same when it cannot be?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L, Sequential = tf.keras.layers, tf.keras.Sequential


def test_model_without_input_has_no_weights_before_the_first_call() -> None:
    model = Sequential([L.Dense(2), L.Dense(1)])
    before = (model.built, model.weights)
    model(np.ones((2, 3)))

    assert ((False, []), (None, 3), 4) == (before, model.input_shape, len(model.weights))


@pytest.mark.parametrize(
    "layers",
    [
        lambda: [tf.keras.Input((3,)), L.Dense(2)],
        lambda: [L.Dense(2, input_shape=(3,))],
        lambda: [L.Dense(2, input_dim=3)],
        lambda: [L.InputLayer(input_shape=(3,)), L.Dense(2)],
    ],
)
def test_model_that_knows_its_input_is_built_at_once(layers: Any) -> None:
    model = Sequential(layers())

    assert (["sequential/dense/kernel", "sequential/dense/bias"], (None, 2)) == (
        [one.path for one in model.weights],
        model.output_shape,
    )


def test_layers_can_be_added_and_taken_away() -> None:
    model = Sequential([tf.keras.Input((3,)), L.Dense(2, name="a")])
    model.add(L.Dense(1, name="b"))
    longer = model.output_shape
    taken = model.pop()

    assert ((None, 1), "b", (None, 2)) == (longer, taken.name, model.output_shape)


def test_input_is_no_layer_of_the_list() -> None:
    assert ["a"] == [one.name for one in Sequential([tf.keras.Input((3,)), L.Dense(2, name="a")]).layers]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Sequential([L.Dense(1, name="a"), L.Dense(1, name="a")]), ValueError, "should have unique names"),
        (lambda: Sequential([3]), ValueError, r"Received: 3 \(of type <class 'int'>\)"),
        (lambda: Sequential().build((None, 3)), ValueError, "because it has no layers"),
        (lambda: Sequential([L.Dense(1)]).inputs, AttributeError, "has no defined inputs yet"),
        (lambda: Sequential([L.Dense(1)]).output_shape, AttributeError, "has no defined output shape yet"),
        (lambda: Sequential([L.Dense(1)]).input, AttributeError, "has never been called"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_models_can_stand_in_models() -> None:
    inner = Sequential([L.Dense(4, activation="relu"), L.Dense(2)])
    model = Sequential([tf.keras.Input((3,)), inner, L.Dense(1)])

    assert (6, (None, 1)) == (len(model.weights), model.output_shape)


def test_copy_computes_the_same_with_the_same_weights() -> None:
    model = Sequential([tf.keras.Input((4, 4, 1)), L.Conv2D(2, 3), L.Flatten(), L.Dense(1)])
    copy = tf.keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    images = np.ones((1, 4, 4, 1), "float32")

    np.testing.assert_allclose(model(images), copy(images))


def test_config_holds_what_it_takes_to_make_another() -> None:
    model = Sequential(
        [L.Embedding(10, 4), L.Bidirectional(L.LSTM(3)), L.Dropout(0.5), L.Dense(1, activation="sigmoid")]
    )
    model.build((None, 5))
    again = Sequential.from_config(model.get_config())

    assert model.get_config() == again.get_config()
    assert [tuple(one.shape) for one in model.weights] == [tuple(one.shape) for one in again.weights]


def test_bytes_become_floats_where_the_model_knows_its_input() -> None:
    model = Sequential([tf.keras.Input((4, 4, 1)), L.Conv2D(1, 3)])

    assert tf.float32 is model(np.ones((1, 4, 4, 1), "uint8")).dtype
