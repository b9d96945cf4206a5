"""What does a checkpoint do with each kind of object, beside TensorFlow? It saves and restores it, or refuses it."""

from __future__ import annotations

import collections
import json
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf

keras = tf.keras
RECORDED = Path(__file__).parents[1] / "recorded" / "checkpoint_objects.json"
"""What TensorFlow 2.21 does with each kind of object in each way: `ok`, or the class of its error."""


class Pair(NamedTuple):
    a: int


class Plain:
    def __init__(self) -> None:
        self.v = tf.Variable(1.0)


class WithWeights:
    def __init__(self) -> None:
        self.weights = self.variables = [np.zeros(2)]

    def __call__(self, x: Any) -> Any:
        return x


OBJECTS: dict[str, Callable[[], Any]] = {
    "plain": Plain,
    "foreign": WithWeights,
    "np": lambda: np.zeros(2),
    "int": lambda: 3,
    "float": lambda: 2.5,
    "str": lambda: "a",
    "bytes": lambda: b"a",
    "None": lambda: None,
    "tensor": lambda: tf.constant(1.0),
    "function": lambda: tf.function(lambda x: x),
    "pyfunc": lambda: len,
    "lambda": lambda: lambda x: x,
    "class": lambda: Plain,
    "set": lambda: {1},
    "frozenset": frozenset,
    "deque": collections.deque,
    "list": lambda: [1, 2],
    "tuple": lambda: (1, 2),
    "dict": lambda: {"a": 1},
    "ordered": lambda: collections.OrderedDict(a=1),
    "defaultdict": lambda: collections.defaultdict(int),
    "namedtuple": lambda: Pair(1),
    "mappingproxy": lambda: types.MappingProxyType({"a": 1}),
    "variable": lambda: tf.Variable(1.0),
    "dataset": lambda: tf.data.Dataset.range(3),
    "iterator": lambda: iter(tf.data.Dataset.range(3)),
    "generator": lambda: tf.random.Generator.from_seed(1),
    "module": tf.Module,
    "ckpt": tf.train.Checkpoint,
    "layer": lambda: keras.layers.Dense(1),
    "model": keras.Sequential,
    "optimizer": keras.optimizers.SGD,
    "metric": keras.metrics.Mean,
    "loss": keras.losses.MeanSquaredError,
    "initializer": keras.initializers.Zeros,
    "regularizer": lambda: keras.regularizers.L1(0.1),
    "schedule": lambda: keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5),
    "kvariable": lambda: keras.Variable(1.0),
    "shape": lambda: tf.TensorShape([1]),
    "spec": lambda: tf.TensorSpec([1]),
    "dtype": lambda: tf.float32,
    "range": lambda: range(3),
    "seedgen": lambda: keras.random.SeedGenerator(1),
    "list_of_plain": lambda: [Plain()],
    "dict_of_plain": lambda: {"a": Plain()},
    "list_of_none": lambda: [None],
    "list_of_set": lambda: [{1}],
    "dict_nonstr": lambda: {1: 2},
    "dict_nonstr_v": lambda: {1: tf.Variable(1.0)},
    "nested": lambda: {"a": [{"b": Plain()}]},
    "tuple_of_plain": lambda: (Plain(),),
    "ragged": lambda: tf.ragged.constant([[1], [2, 3]]),
    "lookup": lambda: keras.layers.StringLookup(vocabulary=["a"]),
}

OURS = {("metric", "kw"), ("metric", "root"), ("metric", "tuple"), ("defaultdict", "kw"), ("defaultdict", "tuple")}
OURS |= {(name, "root") for name in ("list", "dict", "ordered", "list_of_plain", "dict_of_plain", "list_of_none")}
OURS |= {(name, "root") for name in ("list_of_set", "dict_nonstr", "nested", "kvariable")}
OURS |= {(name, "saved") for name in ("metric", "loss", "initializer", "regularizer", "schedule", "seedgen")}
"""What TensorFlow refuses, and nbtf saves and restores: metrics, containers as a root, plain objects of Keras."""

REFUSED = {("frozenset", "root"), ("deque", "root"), ("dataset", "saved")}
"""What TensorFlow accepts, and nbtf refuses with an error."""


def by_attribute(value: Any, folder: Path) -> None:
    checkpoint: Any = tf.train.Checkpoint()
    checkpoint.x = value
    checkpoint.write(folder / "c")


def by_module(value: Any, folder: Path) -> None:
    module = tf.Module()
    module.x = value
    tf.train.Checkpoint(m=module).write(folder / "c")


WAYS: dict[str, Callable[[Any, Path], object]] = {
    "kw": lambda value, folder: tf.train.Checkpoint(x=value).write(folder / "c"),
    "root": lambda value, folder: tf.train.Checkpoint(value).write(folder / "c"),
    "attr": by_attribute,
    "module": by_module,
    "list": lambda value, folder: tf.train.Checkpoint(x=[value]).write(folder / "c"),
    "dict": lambda value, folder: tf.train.Checkpoint(x={"a": value}).write(folder / "c"),
    "tuple": lambda value, folder: tf.train.Checkpoint(x=(value,)).write(folder / "c"),
    "saved": lambda value, folder: tf.saved_model.save(value, folder / "s"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_kind_of_object_is_saved_where_tensorflow_saves_it_and_refused_where_it_refuses(
    way: str, tmp_path: Path
) -> None:
    recorded = json.loads(RECORDED.read_text())
    differences: set[tuple[str, str]] = set()
    for name, build in OBJECTS.items():
        try:
            WAYS[way](build(), tmp_path / name)
            accepted = True
        except ValueError:
            accepted = False
        if accepted != (recorded[name][way] == "ok"):
            differences.add((name, way))

    assert set(recorded) == set(OBJECTS)
    assert differences == {entry for entry in OURS | REFUSED if entry[1] == way}


@pytest.mark.parametrize(
    "name", [name for name in OBJECTS if name in ("variable", "kvariable", "module", "model", "ckpt")]
)
def test_what_was_saved_is_loaded(name: str, tmp_path: Path) -> None:
    tf.saved_model.save(OBJECTS[name](), tmp_path)
    loaded = tf.saved_model.load(tmp_path)

    assert "variable" not in name or loaded.numpy() == 1.0


# ---- objects of other libraries


def with_protocol(name: str) -> Any:
    return type("Table", (), {name: lambda self: {}})()


def of_library(name: str) -> Any:
    return type("Model", (), {"__module__": f"{name}.src.models", "variables": property(lambda self: [])})()


def module_with_protocol() -> Any:
    return type("Model", (tf.Module,), {"_trackable_children": lambda self: {}})()


FOREIGN: dict[str, Callable[[], Any]] = {
    "serialize": lambda: with_protocol("_serialize_to_tensors"),
    "gather": lambda: with_protocol("_gather_saveables_for_checkpoint"),
    "children": lambda: with_protocol("_trackable_children"),
    "module": module_with_protocol,
    "keras": lambda: of_library("keras"),
    "tf_keras": lambda: of_library("tf_keras"),
    "tensorflow": lambda: of_library("tensorflow"),
}
INSIDE: dict[str, Callable[[Any], Any]] = {
    "itself": lambda value: value,
    "in a list": lambda value: [value],
    "in a dictionary": lambda value: {"a": {"b": value}},
    "in a tuple": lambda value: (tf.Variable(1.0), value),
    "in a module": lambda value: module_of(value),
    "in a layer": lambda value: module_of(value, keras.layers.Dense(1)),
    "in a checkpoint": lambda value: module_of(value, tf.train.Checkpoint()),
}


def module_of(value: Any, module: Any = None) -> Any:
    module = module or tf.Module()
    module.part = value
    return module


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("name", FOREIGN)
def test_an_object_whose_values_would_be_lost_is_refused_when_it_is_saved_and_when_it_is_restored(
    name: str, inside: str, tmp_path: Path
) -> None:
    tf.train.Checkpoint(model=tf.Module()).write(tmp_path / "earlier")
    message = "cannot be saved or restored: (its class saves values with `_|it belongs to `)"
    with pytest.raises(ValueError, match=message):
        tf.train.Checkpoint(model=INSIDE[inside](FOREIGN[name]())).write(tmp_path / "c")
    with pytest.raises(ValueError, match=message):
        tf.train.Checkpoint(model=INSIDE[inside](FOREIGN[name]())).read(tmp_path / "earlier").assert_consumed()

    assert not [*tmp_path.glob("c.*")]


def test_a_checkpoint_says_what_tensorflow_says_of_an_object_that_is_not_trackable() -> None:
    with pytest.raises(ValueError, match="`Checkpoint` was expecting x to be a trackable object"):
        tf.train.Checkpoint(x=Plain())


@pytest.mark.parametrize("build", [Plain, lambda: tf.constant(1.0), lambda: of_library("keras")])
def test_a_saved_model_has_no_root_that_another_program_could_not_load(
    build: Callable[[], Any], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="Expected an object of"):
        tf.saved_model.save(build(), tmp_path / "s")

    assert not (tmp_path / "s").exists()
