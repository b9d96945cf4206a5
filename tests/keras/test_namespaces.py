"""Is `tf.keras` found in every way that programs write it, and loaded only then?"""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import nbtf as tf


def test_keras_is_loaded_on_first_use() -> None:
    program = "import sys, nbtf as tf; before = 'nbtf.keras' in sys.modules; tf.keras.layers.Dense; print(before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "False\n" == done.stdout


def test_submodules_can_be_imported_as_well() -> None:
    from nbtf.keras import layers
    from nbtf.keras.layers import Dense

    assert tf.keras.layers.Dense is Dense is layers.Dense


@pytest.mark.parametrize("name", ["initializers", "losses", "metrics", "optimizers"])
def test_some_namespaces_stand_beside_keras(name: str) -> None:
    assert getattr(tf.keras, name) is getattr(tf, name)


@pytest.mark.parametrize(
    "name",
    ["Input", "InputSpec", "KerasTensor", "Layer", "Loss", "Metric", "Model", "Optimizer", "Sequential", "Variable"],
)
def test_classes_stand_in_the_namespace_itself(name: str) -> None:
    assert name in dir(tf.keras)
    assert callable(getattr(tf.keras, name))


def test_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"^module 'nbtf\.keras' has no attribute 'banana'$"):
        tf.keras.banana  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  # as a checker says, too


def test_models_and_input_are_in_their_old_places() -> None:
    assert tf.keras.models.Model is tf.keras.Model
    assert tf.keras.layers.Input is tf.keras.Input


@pytest.mark.parametrize("name", ["config", "mixed_precision", "models", "random"])
def test_namespace_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"nbtf.keras.{name}") is getattr(tf.keras, name)


@pytest.mark.parametrize("config", [{}, {"a": 1}, {"config": {}}], ids=["empty", "other", "nameless"])
@pytest.mark.parametrize(
    "name", ["activations", "constraints", "initializers", "losses", "metrics", "optimizers", "regularizers"]
)
def test_dictionary_that_is_no_config_is_refused(name: str, config: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^Unknown `config` as a `dict`"):
        getattr(tf.keras, name).get(config)


NAMESPACES = (
    "activations callbacks constraints datasets initializers layers losses metrics mixed_precision models optimizers "
    "optimizers.schedules random regularizers saving utils"
)


@pytest.mark.parametrize("name", NAMESPACES.split())
def test_a_namespace_shows_public_things_of_keras_alone(name: str) -> None:
    module = importlib.import_module(f"nbtf.keras.{name}")
    shown = {public: getattr(module, public) for public in dir(module) if not public.startswith("_")}

    assert shown
    strangers = [
        public
        for public, value in shown.items()
        if public in ("annotations", "Any", "looked_up", "serialized", "deserialized")
        or not (getattr(value, "__module__", None) or value.__name__).startswith("nbtf.keras.")
    ]
    assert [] == strangers


def test_a_namespace_shows_what_is_used_of_it() -> None:
    assert {"get", "mse", "MeanSquaredError", "Reduction"} <= set(dir(tf.keras.losses))
    assert {"Dense", "Input", "Layer", "add"} <= set(dir(tf.keras.layers))
    assert {"load_model", "Model", "clone_model"} <= set(dir(tf.keras.models))
    assert "functions" not in dir(tf.keras.losses)
