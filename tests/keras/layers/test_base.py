"""Does a layer make, keep and show its weights, and read its inputs, as one of Keras does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

L = tf.keras.layers


class Scaled(L.Layer):
    """A layer as users write them."""

    def __init__(self, factor: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1],), initializer="ones")

    def call(self, inputs: Any) -> Any:
        return inputs * self.kernel * self.factor


class Block(L.Layer):
    """A layer of layers, in every place where they may stand."""

    def __init__(self) -> None:
        super().__init__()
        self.first = L.Dense(2)
        self.more = [L.Dense(2)]
        self.named = {"last": L.Dense(1)}
        self.counter = tf.Variable(0.0, trainable=False)

    def call(self, inputs: Any, training: Any = None) -> Any:
        x = self.more[0](self.first(inputs))
        self.seen = training
        return self.named["last"](x)


def test_weights_are_made_when_the_first_input_comes() -> None:
    layer = Scaled()
    before = list(layer.weights)
    layer(tf.ones((2, 3)))

    assert ([], True, ["scaled/kernel"]) == (before, layer.built, [one.path for one in layer.weights])


def test_layers_are_named_by_their_class_and_numbered() -> None:
    assert ["dense", "dense_1", "batch_normalization"] == [
        layer.name for layer in (L.Dense(1), L.Dense(1), L.BatchNormalization())
    ]


def test_text_says_name_and_whether_it_is_built() -> None:
    assert "<Dense name=dense, built=False>" == repr(L.Dense(1))


def test_layers_in_attributes_lists_and_dictionaries_are_found() -> None:
    block = Block()
    block(tf.ones((1, 3)))

    assert [
        "Variable:0",
        "block/dense/kernel",
        "block/dense/bias",
        "block/dense_1/kernel",
        "block/dense_1/bias",
        "block/dense_2/kernel",
        "block/dense_2/bias",
    ] == [getattr(one, "path", one.name) for one in block.weights]


def test_layer_appended_to_a_list_later_is_found() -> None:
    block = Block()
    before = len(block._flatten_layers())
    block.more.append(L.Dense(1))

    assert before + 1 == len(block._flatten_layers())


def test_replaced_layer_is_forgotten() -> None:
    block = Block()
    replacement = block.first = L.Dense(7, name="new")

    assert "new" in [layer.name for layer in block._layers]
    assert 3 == len(block._layers)
    assert replacement is block._layers[0]


def test_training_reaches_inner_layers_by_itself() -> None:
    outer = tf.keras.Sequential([Block()])
    outer(tf.ones((1, 3)), training=True)

    assert outer.layers[0].seen is True


def test_frozen_layer_has_no_trainable_weights() -> None:
    block = Block()
    block(tf.ones((1, 3)))
    block.trainable = False
    frozen = (len(block.trainable_weights), len(block.non_trainable_weights))
    block.trainable = True

    assert ((0, 7), 6) == (frozen, len(block.trainable_weights))


def test_frozen_before_it_is_built_it_stays_frozen_inside_a_model() -> None:
    layer = L.Dense(1)
    layer.trainable = False
    model = tf.keras.Sequential([L.Dense(2), layer])
    model(tf.ones((1, 3)))

    assert ["sequential/dense_1/kernel", "sequential/dense_1/bias"] == [one.path for one in model.trainable_weights]


def test_arrays_and_nested_lists_become_tensors_of_the_layers_dtype() -> None:
    layer = Scaled()

    assert tf.float32 is layer(np.ones((1, 2), "float64")).dtype
    assert [[2.0, 4.0]] == layer([[1.0, 2.0]]).numpy().tolist()


def test_mixed_precision_computes_in_half_and_keeps_weights_in_single() -> None:
    layer = L.Dense(2, dtype="mixed_float16")
    made = layer(tf.ones((1, 3)))

    assert ("float16", "float32", "float16") == (made.dtype.name, layer.kernel.dtype, layer.compute_dtype)


def test_single_layer_inside_a_half_precision_one_reads_its_weights_in_single() -> None:
    class Outer(L.Layer):
        def __init__(self) -> None:
            super().__init__(dtype="mixed_float16")
            self.inner = L.Dense(1, dtype="float32")

        def call(self, inputs: Any) -> Any:
            return self.inner(inputs)

    assert tf.float32 is Outer()(tf.ones((1, 2))).dtype


def test_wrong_length_is_refused_in_keras_words() -> None:
    layer = L.Dense(2)
    layer.build((None, 3))

    with pytest.raises(ValueError, match=r"is incompatible with the layer: expected axis -1 of input shape") as caught:
        layer(tf.ones((2, 4)))
    assert str(caught.value).endswith("to have value 3, but received input with shape (2, 4)")


def test_wrong_length_is_refused_after_right_ones_too() -> None:
    layer = L.Dense(2)
    layer(tf.ones((2, 3)))
    layer(tf.ones((2, 3)))

    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        layer(tf.ones((2, 4)))


def test_unknown_argument_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Unrecognized keyword arguments passed to Dense: {'size': 3}$"):
        L.Dense(1, size=3)


def test_weights_can_be_read_and_set() -> None:
    layer = Scaled()
    layer(tf.ones((1, 2)))
    layer.set_weights([np.array([3.0, 4.0])])

    assert [[3.0, 4.0]] == [one.tolist() for one in layer.get_weights()]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([], r"with a weight list of length 0, but the layer was expecting 1 weights\."),
        ([np.ones(5)], r"weight shape \(2,\) is not compatible with provided weight shape \(5,\)\."),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: Any, text: str) -> None:
    layer = Scaled()
    layer(tf.ones((1, 2)))

    with pytest.raises(ValueError, match=text):
        layer.set_weights(weights)


def test_unbuilt_layer_cannot_count() -> None:
    with pytest.raises(ValueError, match="but the layer isn't built"):
        L.Dense(1).count_params()


def test_losses_are_those_of_the_last_call_and_of_regularizers() -> None:
    layer = L.Dense(1, kernel_initializer="ones", kernel_regularizer=tf.keras.regularizers.L2(0.5), use_bias=False)
    layer(tf.ones((1, 2)))
    layer(tf.ones((1, 2)))

    assert [1.0] == [float(one) for one in layer.losses]


def test_losses_added_in_a_call_are_forgotten_at_the_next() -> None:
    class Costly(L.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_loss(tf.reduce_sum(inputs))
            return inputs

    model = tf.keras.Sequential([Costly(), Costly()])
    model(tf.ones((1, 2)))
    model(tf.ones((1, 3)))

    assert [3.0, 3.0] == [float(one) for one in model.losses]


def test_activity_regularizer_adds_a_loss() -> None:
    layer = L.Dense(1, kernel_initializer="ones", activity_regularizer="l2")
    layer(tf.ones((1, 2)))
    layer(tf.ones((1, 2)))

    assert [pytest.approx(0.04)] == [float(one) for one in layer.losses]


def test_layer_is_made_again_from_its_config() -> None:
    layer = Scaled(3.0, name="mine")
    again = Scaled.from_config(layer.get_config())

    assert ("mine", 3.0) == (again.name, again.factor)


def test_layer_with_arguments_that_are_no_plain_values_has_no_config() -> None:
    class Odd(L.Layer):
        def __init__(self, thing: Any) -> None:
            super().__init__()

    with pytest.raises(NotImplementedError, match="Object Odd was created by passing"):
        Odd(object()).get_config()


def test_mask_of_an_embedding_reaches_the_lstm() -> None:
    embedding, lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(2)
    whole, cut = tf.constant([[1, 2, 0, 0]]), tf.constant([[1, 2]])
    lstm(embedding(whole))

    np.testing.assert_allclose(lstm(embedding(cut)), lstm(embedding(whole)), atol=1e-6)


def test_weights_made_in_the_scope_of_a_strategy_are_mirrored() -> None:
    tf.runtime.simulate_gpus(2)
    with tf.distribute.MirroredStrategy().scope():
        layer = L.Dense(1)
        layer.build((None, 2))

    assert "MirroredVariable" == type(layer.kernel.value).__name__


def test_keras_two_spelling_of_add_weight_is_taken() -> None:
    layer = Scaled()
    weight = layer.add_weight("extra", shape=[2], initializer="zeros")

    assert ("extra", [2]) == (weight.name, weight.shape.as_list())


def test_mask_ends_with_a_warning_at_a_layer_that_knows_none() -> None:
    masked = L.Embedding(5, 3, mask_zero=True)(np.array([[1, 0]]))

    with pytest.warns(UserWarning, match=r"^Layer 'flatten' \(of type Flatten\) was passed an input with a mask"):
        made = L.Flatten()(masked)
    assert getattr(made, "_keras_mask", None) is None


def test_subclass_of_a_layer_may_do_more_in_its_call() -> None:
    class More(L.Dense):
        def __init__(self) -> None:
            super().__init__(1, kernel_initializer="ones")
            self.dropout = L.Dropout(0.5)

        def call(self, inputs: Any) -> Any:
            made = super().call(inputs)
            self.add_loss(tf.reduce_sum(made))
            self.trained = self.dropout(tf.ones(100))
            return made

    layer = More()
    for _ in range(3):
        layer(tf.ones((1, 2)), training=True)

    assert [2.0] == [float(one) for one in layer.losses]
    assert 0.0 in layer.trained.numpy()


class Forgetful(L.Layer):
    def __init__(self) -> None:
        self.count = 3


WRONG = {
    "no init": (lambda: Forgetful()(tf.ones(1)), RuntimeError, r"you forgot to call `super\(\)\.__init__\(\)`"),
    "no call": (lambda: L.Layer()(tf.ones(1)), NotImplementedError, "Layer Layer does not have a `call` method"),
    "slash": (lambda: L.Dense(1, name="a/b"), ValueError, "cannot contain character `/`. Received: name=a/b"),
    "number": (lambda: L.Dense(1)(3.0), ValueError, "Only input tensors may be passed as positional arguments"),
    "none": (lambda: L.Dense(1)(None), ValueError, "Inputs to a layer should be tensors. Got 'None'"),
    "nothing": (lambda: L.Dense(1)(), TypeError, "missing a required argument: 'inputs'"),
}


@pytest.mark.parametrize(("use", "error", "text"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_called_says_so_in_keras_words(use: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        use()
