"""Do functional models connect, order and show their layers as Keras does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L, Input, Model = tf.keras.layers, tf.keras.Input, tf.keras.Model
ONES = np.ones((2, 3), "float32")


def test_model_computes_what_its_layers_compute() -> None:
    x = Input((3,))
    first, second = L.Dense(4, activation="relu"), L.Dense(2)
    model = Model(x, second(first(x)))

    np.testing.assert_allclose(second(first(ONES)), model(ONES))


def test_model_lists_its_layers_from_inputs_to_outputs() -> None:
    x = Input((3,), name="x")
    model = Model(x, L.Dense(2, name="b")(L.Dense(4, name="a")(x)))

    assert ["x", "a", "b"] == [layer.name for layer in model.layers]


def test_inputs_and_outputs_may_be_dictionaries() -> None:
    a, b = Input((3,), name="a"), Input((3,), name="b")
    model = Model({"a": a, "b": b}, {"sum": a + b, "all": L.Concatenate()([a, b])})
    made = model({"a": ONES, "b": 2 * ONES})

    assert {"sum": 3.0, "all": 1.0} == {key: float(value[0, 0]) for key, value in made.items()}


def test_inputs_in_a_list_may_be_given_by_name() -> None:
    a, b = Input((3,), name="a"), Input((3,), name="b")
    model = Model([a, b], a - b)

    assert -1.0 == float(model({"b": 2 * ONES, "a": ONES})[0, 0])


def test_missing_input_is_named() -> None:
    a, b = Input((3,), name="a"), Input((3,), name="b")

    with pytest.raises(ValueError, match=r'^Missing data for input "b"'):
        Model([a, b], a - b)({"a": ONES})


def test_shared_layer_has_its_weights_once() -> None:
    a, b = Input((3,)), Input((3,))
    shared = L.Dense(1)
    model = Model([a, b], shared(a) + shared(b))

    assert 2 == len(model.weights)


def test_nested_model_keeps_its_weights_and_name() -> None:
    x = Input((3,))
    inner = Model(x, L.Dense(2)(x), name="inner")
    y = Input((3,))
    model = Model(y, L.Dense(1)(inner(y)))

    assert inner is model.get_layer("inner")
    assert 4 == len(model.weights)


def test_part_of_a_model_is_a_model() -> None:
    x = Input((3,))
    middle = L.Dense(4, activation="tanh")(x)
    out = L.Dense(1)(middle)
    head, tail, whole = Model(x, middle), Model(middle, out), Model(x, out)

    np.testing.assert_allclose(whole(ONES), tail(head(ONES)), rtol=1e-6)


def test_output_that_depends_on_another_input_is_refused() -> None:
    with pytest.raises(ValueError, match="is not connected to `inputs`"):
        Model(Input((3,)), L.Dense(1)(Input((3,))))


def test_outputs_must_be_symbolic() -> None:
    wrong: Any = 3

    with pytest.raises(ValueError, match="All `outputs` values must be KerasTensors"):
        Model(Input((3,)), wrong)


def test_wrong_shape_is_refused_by_the_name_of_the_input() -> None:
    x = Input((3,), name="x")

    with pytest.raises(ValueError, match=r"Input 0 with name 'x' of layer 'functional' .*found shape=\(2, 4\)"):
        Model(x, L.Dense(1)(x))(np.ones((2, 4)))


def test_integers_become_floats_where_the_input_is_float() -> None:
    x = Input((3,))

    assert tf.float32 is Model(x, x * 2.0)(np.ones((1, 3), "uint8")).dtype


def test_column_may_be_given_as_a_vector() -> None:
    x = Input((1,))

    assert [3, 1] == Model(x, x * 2.0)(np.ones(3, "float32")).shape.as_list()


def test_layer_between_knows_its_output() -> None:
    x = Input((3,))
    model = Model(x, L.Dense(2)(L.Dense(4, name="a")(x)))
    middle = Model(model.inputs, model.get_layer("a").output)

    assert (None, 4) == middle.output_shape


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"name": "z"}, r"^No such layer: z\. Existing layers are: \['x', 'd'\]\.$"),
        ({"index": 7}, r"^Was asked to retrieve layer at index 7 but model only has 2 layers\.$"),
        ({}, r"^Provide either a layer name or layer index at `get_layer`\.$"),
    ],
)
def test_layer_that_is_not_there_is_refused(asked: dict[str, Any], text: str) -> None:
    x = Input((3,), name="x")
    model = Model(x, L.Dense(1, name="d")(x))

    with pytest.raises(ValueError, match=text):
        model.get_layer(**asked)


def branching() -> Any:
    a, b = Input((3,), name="a"), Input((3,), name="b")
    shared = L.Dense(4, name="shared")
    left, right = shared(a), shared(b)
    joined = L.Concatenate(name="joined")([left, right * 2.0])
    return Model({"a": a, "b": b}, [L.Dense(1, name="one")(joined), L.Activation("relu", name="two")(left[:, 1:])])


@pytest.mark.parametrize("copy", [lambda m: Model.from_config(m.get_config()), tf.keras.models.clone_model])
def test_copy_of_a_model_computes_the_same_with_the_same_weights(copy: Any) -> None:
    model = branching()
    again = copy(model)
    again.set_weights(model.get_weights())
    inputs = {"a": ONES, "b": 3 * ONES}

    for expected, actual in zip(model(inputs), again(inputs), strict=True):
        np.testing.assert_allclose(actual, expected)


def test_model_is_made_again_from_json() -> None:
    model = branching()
    again = tf.keras.models.model_from_json(model.to_json())

    assert [layer.name for layer in model.layers] == [layer.name for layer in again.layers]


def test_subclass_may_hand_inputs_and_outputs_to_its_base() -> None:
    class Named(Model):
        def __init__(self) -> None:
            x = Input((3,))
            super().__init__(inputs=x, outputs=L.Dense(2)(x))

        def extra(self) -> str:
            return "here"

    model = Named()

    assert ("Named", "here", (None, 2)) == (type(model).__name__, model.extra(), model.output_shape)
