"""Does an error from inside a layer say which layer it was, and what it was called with?"""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import nbtf as tf

layers = tf.keras.layers


class Failing(layers.Layer):
    """Raises an error."""

    def __init__(self, error: BaseException) -> None:
        """Keeps the error."""
        super().__init__()
        self.error = error

    def call(self, x: Any, training: bool = False, flag: Any = 3) -> Any:
        """Raises it."""
        raise self.error


class PairError(Exception):
    """Is made of two things."""

    def __init__(self, a: int, b: int) -> None:
        """Joins them."""
        super().__init__(f"{a} and {b}")


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (ValueError("wrong"), ValueError, "wrong"),
        (KeyError("key"), KeyError, "key"),
        (RuntimeError("first", 2), RuntimeError, "first"),
        (ZeroDivisionError(), ZeroDivisionError, ""),
        (PairError(1, 2), RuntimeError, "1 and 2"),
        (tf.errors.InvalidArgumentError(None, None, "shape"), tf.errors.InvalidArgumentError, "shape"),
    ],
    ids=["value", "key", "several", "empty", "pair", "op"],
)
def test_an_error_has_its_class_and_names_the_call(error: Exception, expected: type[Exception], reason: str) -> None:
    with pytest.raises(expected) as caught:
        Failing(error)(tf.zeros((2, 3)), flag=[1, "a"])

    assert (caught.value.args or (str(caught.value),)) == (
        f"Exception encountered when calling Failing.call().\n\n\x1b[1m{reason}\x1b[0m\n\n"
        "Arguments received by Failing.call():\n  • x=tf.Tensor(shape=(2, 3), dtype=float32)\n"
        "  • training=False\n  • flag=['1', \"'a'\"]",
    )
    assert "raise self.error" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_an_op_error_keeps_its_message_and_code() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        layers.Embedding(2, 3)(tf.constant([[5]]))

    assert "indices[0,0] = 5 is not in [0, 2)" in caught.value.message
    assert tf.errors.INVALID_ARGUMENT == caught.value.error_code
    assert str(caught.value).startswith("Exception encountered when calling Embedding.call().")


def test_notes_and_causes_stay() -> None:
    error = ValueError("wrong")
    error.add_note("mend it")
    error.__cause__ = OSError("disk")
    with pytest.raises(ValueError, match="wrong") as caught:
        Failing(error)(tf.zeros(2))

    assert ["mend it"] == caught.value.__notes__
    assert isinstance(caught.value.__cause__, OSError)


def test_of_layers_inside_each_other_the_innermost_is_named() -> None:
    class Outer(tf.keras.Model):
        def call(self, x: Any) -> Any:
            return Failing(ValueError("wrong"))(x)

    with pytest.raises(ValueError, match="wrong") as caught:
        Outer()(tf.zeros((2, 3)))

    assert str(caught.value).startswith("Exception encountered when calling Failing.call().")
    assert 1 == str(caught.value).count("Exception encountered")


def test_a_model_is_named_where_an_input_does_not_suit_its_layer() -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    text = (
        r"^Exception encountered when calling Sequential.call\(\)\.\n\n.*Input 0 .* of layer 'dense.*' is incompatible"
    )
    with pytest.raises(ValueError, match=text):
        model(tf.zeros((4, 3)))
    with pytest.raises(ValueError, match=text):
        model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_an_input_that_does_not_suit_a_layer_is_refused_before_the_call(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"^Input 0 with name 'None' of layer 'dense.*' is incompatible with the layer"
    ):
        layers.Dense(1)(tf.zeros(shape))


def test_an_interrupt_stays_as_it_is() -> None:
    interrupt = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as caught:
        Failing(interrupt)(tf.zeros(2))

    assert caught.value is interrupt
