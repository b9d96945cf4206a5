"""Does everything beyond the border of `tf.keras` raise an error that shows how to run the real Keras?"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras.border import ADVICE, ARGUMENTS, BEYOND

keras = tf.keras


def advice_of(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


@pytest.mark.parametrize("module", BEYOND)
def test_a_name_beyond_the_border_shows_how_to_run_keras(module: str) -> None:
    namespace = importlib.import_module(module)
    for name in BEYOND[module].split():
        assert name not in dir(namespace)
        with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute '{name}'") as caught:
            getattr(namespace, name)
        assert [ADVICE] == advice_of(caught.value)
        assert not hasattr(namespace, name)


@pytest.mark.parametrize("module", BEYOND)
def test_other_missing_names_are_just_missing(module: str) -> None:
    with pytest.raises(AttributeError) as caught:
        importlib.import_module(module).banana  # noqa: B018
    assert [] == advice_of(caught.value)


@pytest.mark.parametrize("module", [name for name in BEYOND if hasattr(importlib.import_module(name), "__path__")])
def test_an_import_of_a_name_beyond_the_border_says_so(module: str) -> None:
    for name in BEYOND[module].split():
        with pytest.raises(ImportError) as caught:
            exec(f"from {module} import {name}")
        assert str(caught.value) == f"cannot import name {name!r} from {module!r}. {ADVICE}"


def test_an_import_of_a_module_works_as_before() -> None:
    exec("from nbtf.keras.layers import base, Dense")
    with pytest.raises(ImportError, match="cannot import name 'banana'"):
        exec("from nbtf.keras.layers import banana")


IDENTIFIERS = {
    "activations": ("mish", "celu", "log_softmax"),
    "constraints": ("MinMaxNorm", "min_max_norm"),
    "initializers": ("identity", "Identity"),
    "losses": ("dice", "BinaryFocalCrossentropy", "msle"),
    "metrics": ("MeanIoU", "F1Score"),
    "optimizers": ("lion", "Lion", "adafactor"),
    "regularizers": ("orthogonal_regularizer", "OrthogonalRegularizer"),
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in IDENTIFIERS.items() for name in names]
)
def test_an_identifier_beyond_the_border_shows_how_to_run_keras(module: str, name: str) -> None:
    with pytest.raises(ValueError, match="Could not interpret") as caught:
        getattr(keras, module).get(name)
    assert [ADVICE] == advice_of(caught.value)


def test_a_saved_layer_beyond_the_border_shows_how_to_run_keras() -> None:
    config = {"module": "keras.layers", "class_name": "Conv3D", "config": {}, "registered_name": None}
    with pytest.raises(TypeError, match="Could not locate 'Conv3D'") as caught:
        keras.saving.deserialize_keras_object(config)
    assert [ADVICE] == advice_of(caught.value)


CALLS: dict[str, Callable[..., Any]] = {
    "Dense": lambda **arguments: keras.layers.Dense(1, **arguments),
    "StringLookup": lambda **arguments: keras.layers.StringLookup(**arguments),
    "Adam": lambda **arguments: keras.optimizers.Adam(**arguments),
    "SGD": lambda **arguments: keras.optimizers.SGD(**arguments),
    "clone_model": lambda **arguments: keras.models.clone_model(keras.Sequential(), **arguments),
    "summary": lambda **arguments: keras.Sequential().summary(**arguments),
}


@pytest.mark.parametrize("argument", sorted(ARGUMENTS))
@pytest.mark.parametrize("name", CALLS)
def test_an_argument_beyond_the_border_is_never_ignored(name: str, argument: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[name](**{argument: 2})
    assert argument in str(caught.value)
    assert [ADVICE] == advice_of(caught.value)


def test_a_wrong_argument_is_just_wrong() -> None:
    for call in CALLS.values():
        with pytest.raises((TypeError, ValueError)) as caught:
            call(banana=2)
        assert [] == advice_of(caught.value)


def test_a_model_of_own_layers_is_cloned_without_registering_them() -> None:
    class Twice(keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            return 2 * inputs

    model = keras.Sequential([keras.Input((2,)), Twice(), keras.layers.Dense(1)])
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())

    assert isinstance(copy.layers[0], Twice)
    np.testing.assert_array_equal(model(np.ones((1, 2))), copy(np.ones((1, 2))))
