"""Do symbolic tensors say what they are, and refuse what they cannot?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras.catalogue import public_functions

L = tf.keras.layers


def test_text_says_shape_dtype_and_name() -> None:
    assert "<KerasTensor shape=(None, 3), dtype=float32, sparse=False, ragged=False, name=x>" == repr(
        tf.keras.Input((3,), name="x")
    )


def test_dtype_is_a_text_that_can_be_asked_like_a_dtype() -> None:
    x = tf.keras.Input((3,), dtype=tf.int32)

    assert ("int32", "int32", True) == (x.dtype, x.dtype.name, x.dtype.is_integer)


@pytest.mark.parametrize(
    ("compute", "shape"),
    [
        (lambda x: x + 1, (None, 4)),
        (lambda x: 1.0 / x, (None, 4)),
        (lambda x: x[:, 0], (None,)),
        (lambda x: x[:, 1:3] * 2, (None, 2)),
        (lambda x: x > 0, (None, 4)),
        (lambda x: -(abs(x) ** 2), (None, 4)),
    ],
)
def test_operators_give_symbolic_tensors_and_run_in_models(compute: Any, shape: tuple[Any, ...]) -> None:
    x = tf.keras.Input((4,))
    y = compute(x)
    value = np.arange(1.0, 9.0, dtype="float32").reshape(2, 4)

    assert shape == y.shape
    np.testing.assert_allclose(tf.keras.Model(x, y)(value), compute(value))


FUNCTIONS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (tf.keras.activations, tf.keras.losses, tf.keras.metrics)
    for name, function in public_functions(vars(module)).items()
    if not name.startswith("sparse_")  # whose labels are numbers of classes
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_keras_become_steps_of_the_model(name: str) -> None:
    x, function = tf.keras.Input((8,)), FUNCTIONS[name]
    value = np.linspace(0.1, 0.9, 16, dtype="float32").reshape(2, 8)
    count = 1 if name.startswith("activations.") else 2
    model = tf.keras.Model(x, function(*[x] * count))
    again = tf.keras.models.model_from_json(model.to_json())

    np.testing.assert_allclose(model(value), function(*[tf.constant(value)] * count), rtol=1e-6)
    np.testing.assert_allclose(again(value), model(value))


@pytest.mark.parametrize("join", [lambda t, x: t + x, lambda t, x: t * x, lambda t, x: t < x], ids=["+", "*", "<"])
@pytest.mark.parametrize("make", [tf.constant, tf.Variable], ids=["tensor", "variable"])
def test_operators_of_tensors_take_symbolic_ones(make: Any, join: Any) -> None:
    x, t = tf.keras.Input((2,)), make([1.0, 2.0])

    assert join(t, tf.constant([[3.0, 1.0]])).numpy().tolist() == (
        tf.keras.Model(x, join(t, x))(np.array([[3.0, 1.0]])).numpy().tolist()
    )


@pytest.mark.parametrize(
    ("use", "error"), [(bool, TypeError), (list, NotImplementedError), (np.asarray, ValueError), (float, TypeError)]
)
def test_symbolic_tensor_has_no_value(use: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        use(tf.keras.Input((3,)))


def test_function_of_a_lambda_layer_is_tried_for_its_shape() -> None:
    made = L.Lambda(lambda x: tf.transpose(tf.reshape(x, (-1, 2, 3)), [0, 2, 1]))(tf.keras.Input((6,)))

    assert (None, 3, 2) == made.shape


def test_trying_a_function_shows_in_no_log_and_changes_no_variable(capfd: pytest.CaptureFixture[str]) -> None:
    class Counting(L.Layer):
        def build(self, input_shape: Any) -> None:
            self.calls = self.add_weight(name="calls", shape=(), initializer="zeros", trainable=False)

        def call(self, inputs: Any) -> Any:
            self.calls.assign_add(1.0)
            return tf.exp(inputs)

    layer, x = Counting(), tf.keras.Input((3,))
    layer.build((None, 3))
    tf.debugging.set_log_device_placement(True)
    layer(x)
    tf.debugging.set_log_device_placement(False)

    assert ("", 0.0) == (capfd.readouterr().err, float(layer.calls.numpy()))


def test_weights_made_while_a_function_is_tried_are_real() -> None:
    class Outer(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = L.Dense(2)

        def call(self, inputs: Any) -> Any:
            return self.inner(inputs)

    model = Outer()
    tf.keras.Model(x := tf.keras.Input((3,)), model(x))

    assert (3, 2) == tuple(model.inner.kernel.shape)
    assert "outer/dense/kernel" == model.inner.kernel.path
