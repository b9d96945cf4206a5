"""Does a config name public and registered classes, and nothing else?"""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.keras import catalogue
from nbtf.keras.layers.base import Layer
from nbtf.keras.losses.loss import Loss
from nbtf.keras.metrics.metric import Metric
from nbtf.keras.optimizers.optimizer import Optimizer
from nbtf.keras.registry import deserialized, serialized

keras = tf.keras


def _subclasses(base: type) -> set[type]:
    return {base}.union(*(_subclasses(each) for each in base.__subclasses__()))


PUBLIC = sorted(
    {
        value
        for base in (Layer, Loss, Metric, Optimizer)
        for value in _subclasses(base)
        if value.__module__.startswith("nbtf.keras.")
        and any(value is vars(each).get(value.__name__) for each in (keras.layers, keras.losses, keras.metrics))
    },
    key=lambda value: f"{value.__module__}.{value.__name__}",
)


def _config(module: str | None, class_name: Any, /, **config: Any) -> dict[str, Any]:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_a_public_class_is_found_where_its_config_says(kind: Any) -> None:
    module = {Layer: "keras.layers", Loss: "keras.losses", Metric: "keras.metrics"}
    name = next(name for base, name in module.items() if issubclass(kind, base))

    assert catalogue.class_of(name, kind.__name__) is kind


@pytest.mark.parametrize(
    "value",
    [
        keras.layers.Dense(2, activation="relu", kernel_regularizer=keras.regularizers.L2(0.1)),
        keras.layers.Bidirectional(keras.layers.LSTM(2)),
        keras.layers.Dense(2, dtype=keras.DTypePolicy("mixed_float16")),
        keras.losses.Huber(),
        keras.metrics.MeanMetricWrapper(keras.losses.mse),
        keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
        keras.initializers.Orthogonal(),
        keras.constraints.MaxNorm(),
        keras.random.SeedGenerator(3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_was_written_comes_back(value: Any) -> None:
    made = deserialized(serialized(value))

    assert type(made) is type(value)
    assert serialized(made)["config"] == serialized(value)["config"]


NEVER: list[dict[str, Any]] = [
    _config("keras.registry", "import_module", name="antigravity"),
    _config("keras.saving.arrays", "write", file="x", arrays={}),
    _config("keras.saving.models", "load_model", filepath="x"),
    _config("keras.losses", "deserialize", name="x"),
    _config("keras.losses", "deserialized", config={}),
    _config("keras.layers", "deserialize", config={}),
    _config("keras.layers", "Input", shape=[1]),
    _config("keras.models", "load_model", filepath="x"),
    _config("keras.models", "clone_model", model=1),
    _config("keras.losses", "mean_squared_error", y_true=1, y_pred=2),
    _config("keras.utils", "get_file", fname="x"),
    _config("keras.callbacks", "CSVLogger", filename="x"),
    _config("keras.layers", "base.Layer"),
    _config("keras.layers", "__loader__"),
    _config("keras", "Variable", initializer=1),
    _config("os", "system", command="true"),
    _config("builtins", "eval", source="1"),
    _config("numpy", "save", file="x", arr=1),
    _config(None, "print"),
    {"class_name": "function", "config": "system", "module": "os"},
    {"class_name": "function", "config": "deserialize", "module": "keras.losses"},
    {"class_name": "function", "config": "looked_up", "module": "keras.registry"},
    {"class_name": "function", "config": ["relu"], "module": "keras.activations"},
    {"class_name": ["Dense"], "config": {}, "module": "keras.layers"},
    {"class_name": "Dense", "config": [1], "module": "keras.layers"},
    {"class_name": "Dense", "config": {}, "module": 3},
]


@pytest.mark.parametrize(
    "config", NEVER, ids=lambda config: f"{config['module']}:{config['class_name']}:{config['config']}"
)
def test_everything_else_is_refused(config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    for deserialize in (deserialized, keras.losses.deserialize, keras.metrics.deserialize):
        with pytest.raises(TypeError):
            deserialize(config)

    assert "antigravity" not in set(sys.modules) - before
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_says_what_to_pass() -> None:
    with pytest.raises(
        TypeError, match=r"Could not locate 'Mine'.*register_keras_serializable.*custom_objects={'Mine'"
    ):
        deserialized(_config("app", "Mine"))


def test_a_registered_function_is_no_class() -> None:
    with pytest.raises(TypeError, match="not a class with a method `from_config`"):
        deserialized(_config("app", "exit"), custom_objects={"exit": builtins.exit})
    assert deserialized({"class_name": "function", "config": "exit"}, {"exit": builtins.exit}) is builtins.exit


@pytest.mark.parametrize("name", ["deserialized", "serialized", "looked_up", "Any", "public_classes", "_KNOWN"])
@pytest.mark.parametrize("module", ["losses", "metrics", "initializers", "activations", "regularizers", "constraints"])
def test_a_name_means_what_is_public(module: str, name: str) -> None:
    with pytest.raises(ValueError, match="Could not interpret"):
        getattr(keras, module).get(name)


def test_a_lambda_layer_names_an_activation_or_a_registered_function() -> None:
    layer = keras.layers.Lambda(keras.activations.relu)
    again = keras.layers.Lambda.from_config(layer.get_config())

    assert again([-1.0, 2.0]).numpy().tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="without arguments"):
        keras.layers.Lambda.from_config({**layer.get_config(), "arguments": {"max_value": 1}})
    with pytest.raises(ValueError, match="Could not interpret"):
        keras.layers.Lambda.from_config({**layer.get_config(), "function": "system"})


@pytest.mark.parametrize("kind", ["tf.PrintV2", "tf.AssignVariableOp", "tf.NoOp", "tf.", "eval", "os.system", ""])
def test_an_operator_makes_tensors_of_tensors(kind: str) -> None:
    with pytest.raises(ValueError, match="is not an operator"):
        deserialized(_config("keras.operation", "Operator", kind=kind, name="x"))


def test_a_config_names_no_file_of_words(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a\nb")

    assert keras.layers.StringLookup(vocabulary=str(tmp_path / "words.txt")).get_vocabulary()[1:] == ["a", "b"]
    with pytest.raises(ValueError, match=r"must be a list of words\. Received the file"):
        keras.layers.StringLookup.from_config({"vocabulary": str(tmp_path / "words.txt")})


def test_layers_in_each_other_are_not_made_again_and_again() -> None:
    config: dict[str, Any] = serialized(keras.layers.LSTM(1))
    for _ in range(40):
        inner = {"layer": config, "backward_layer": serialized(keras.layers.LSTM(1, go_backwards=True))}
        config = _config("keras.layers", "Bidirectional", **inner)

    with pytest.raises(ValueError, match="go_backwards"):
        deserialized(config)
