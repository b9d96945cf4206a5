"""Do the older names of functions do what the newer ones do?"""

from __future__ import annotations

import numpy as np
import pytest

import nbtf as tf

backend = tf.keras.backend
X = np.array([[1.0, 2.0], [3.0, 6.0]], np.float32)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "var", "max", "min"])
def test_reductions_take_an_axis(name: str) -> None:
    assert getattr(backend, name)(X, axis=1).numpy() == pytest.approx(getattr(np, name)(X, axis=1))


def test_bools_have_a_mean() -> None:
    assert backend.mean(tf.constant([True, False])).numpy() == 0.5


def test_the_root_of_a_negative_number_is_zero() -> None:
    assert backend.sqrt([-1.0, 4.0]).numpy().tolist() == [0.0, 2.0]


def test_values_go_into_variables_and_out_again() -> None:
    v = tf.Variable([1.0, 2.0])
    backend.set_value(v, [3.0, 4.0])

    assert backend.get_value(v).tolist() == [3.0, 4.0]
    assert backend.int_shape(v) == (2,)


@pytest.mark.parametrize(
    "name", [name for name in dir(backend) if name[0] != "_" and name not in ("annotations", "math")]
)
def test_every_name_is_a_function(name: str) -> None:
    assert callable(getattr(backend, name))


@pytest.mark.parametrize("name", ["set_session", "placeholder", "learning_phase"])
def test_a_name_that_ended_with_keras_2_has_the_text_of_keras_3(name: str) -> None:
    with pytest.raises(AttributeError, match=r"^module 'keras._tf_keras.keras.backend' has no attribute '") as caught:
        getattr(backend, name)

    assert "without a session" in caught.value.__notes__[0]


def test_a_name_that_is_not_in_the_backend_is_just_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'nbtf.keras.backend' has no attribute 'nonsense'$"):
        backend.nonsense  # noqa: B018
