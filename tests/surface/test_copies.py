"""Are copies and pickles of public objects what they are in TensorFlow, and independent of the original?"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


def add_one(x: Any) -> Any:
    return x + 1


def traced() -> Any:
    function = tf.function(add_one)
    function(tf.constant(1.0))
    return function


def graph_tensor() -> Any:
    with tf.Graph().as_default():
        return tf.constant(1.0)


OBJECTS: dict[str, tuple[Callable[[], Any], str, str, str]] = {
    "tensor": (lambda: tf.constant(1.0), "same", "same", "new"),
    "variable": (lambda: tf.Variable(1.0), "same", "new", "new"),
    "generator": (lambda: tf.random.Generator.from_seed(1), "new", "new", "new"),
    "function": (lambda: tf.function(add_one), "new", "new", "new"),
    "function that was traced": (traced, "new", "new", "new"),
    "concrete function": (lambda: traced().get_concrete_function(tf.constant(1.0)), "new", "TypeError", "TypeError"),
    "graph": (tf.Graph, "TypeError", "TypeError", "TypeError"),
    "tensor of a graph": (graph_tensor, "new", "TypeError", "TypeError"),
    "session": (lambda: tf.compat.v1.Session(graph=tf.Graph()), "new", "TypeError", "TypeError"),
    "dataset": (lambda: tf.data.Dataset.range(3).map(add_one), "same", "same", "TypeError"),
    "iterator": (lambda: iter(tf.data.Dataset.range(3)), "new", "TypeError", "TypeError"),
    "module": (tf.Module, "new", "new", "new"),
    "checkpoint": (lambda: tf.train.Checkpoint(v=tf.Variable(1.0)), "new", "new", "new"),
    "layer": (lambda: tf.keras.layers.Dense(1), "new", "new", "new"),
    "metric": (tf.keras.metrics.Mean, "new", "new", "new"),
    "optimizer": (tf.keras.optimizers.Adam, "new", "new", "new"),
    "loss": (tf.keras.losses.MeanSquaredError, "new", "new", "new"),
    "input": (lambda: tf.keras.Input((2,)), "new", "new", "new"),
}
"""How each is made, and what comes of each way: the object, another one, or an error.

As in TensorFlow 2.21, which copies no dataset deeply, pickles no checkpoint, and no function that was traced.
"""


def outcome(way: str, value: Any) -> str:
    try:
        return "same" if WAYS[way](value) is value else "new"
    except TypeError:
        return "TypeError"
    except pickle.PicklingError:
        return "TypeError"


@pytest.mark.parametrize("name", OBJECTS)
def test_copies_are_what_they_are_in_tensorflow(name: str) -> None:
    make, *expected = OBJECTS[name]

    assert expected == [outcome(way, make()) for way in WAYS]


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_function_computes_and_is_traced_for_itself(way: str) -> None:
    function = traced()
    duplicate = WAYS[way](function)

    assert [3.0, 3.0] == [duplicate(tf.constant([2.0])).numpy().item(), function(tf.constant([2.0])).numpy().item()]
    assert 2 == function.experimental_get_tracing_count()
    assert duplicate.python_function is add_one


class Scaled(tf.Module):
    """A module with a traced method and a traced function of its own."""

    def __init__(self) -> None:
        self.factor = tf.Variable(2.0)
        self.traced = tf.function(self.scale)

    def scale(self, x: Any) -> Any:
        return x * self.factor

    @tf.function
    def __call__(self, x: Any) -> Any:
        return self.scale(x)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
@pytest.mark.parametrize("is_called", [False, True])
def test_a_copied_module_uses_variables_of_its_own(way: str, is_called: bool) -> None:
    module, x = Scaled(), tf.constant(3.0)
    if is_called:
        _ = module(x), module.traced(x)  # traces both
    duplicate = WAYS[way](module)
    duplicate.factor.assign(10.0)

    assert [30.0, 30.0] == [duplicate(x).numpy(), duplicate.traced(x).numpy()]
    assert [6.0, 6.0] == [module(x).numpy(), module.traced(x).numpy()]


def branched() -> Any:
    inputs = tf.keras.Input((2,))
    hidden = tf.keras.layers.Dense(3)(inputs)
    added = tf.keras.layers.Add()([tf.keras.layers.Dense(2)(hidden), tf.keras.layers.Dense(2)(hidden)])
    return tf.keras.Model(inputs, added * 2)


MODELS: dict[str, Callable[[], Any]] = {
    "sequential": lambda: tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2)]),
    "functional": branched,
    "nested": lambda: tf.keras.Sequential([tf.keras.Input((2,)), branched(), tf.keras.layers.Dense(2)]),
    "with state": lambda: tf.keras.Sequential(
        [tf.keras.Input((2,)), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dropout(0.5, seed=1)]
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_trained", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_copied_model_predicts_alike_and_learns_for_itself(name: str, is_trained: bool, way: str) -> None:
    x, y = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    model = MODELS[name]()
    model.compile("adam", "mse", metrics=["mae"])
    if is_trained:
        model.fit(x, y, verbose=0)
    expected = model.predict(x, verbose=0)
    duplicate = WAYS[way](model)

    assert np.array_equal(expected, duplicate.predict(x, verbose=0))

    duplicate.fit(x, y, epochs=2, verbose=0)

    assert np.array_equal(expected, model.predict(x, verbose=0))
    assert not np.array_equal(expected, duplicate.predict(x, verbose=0))
    assert [is_trained, is_trained + 2] == [int(m.optimizer.iterations.numpy()) for m in (model, duplicate)]
    assert duplicate.history.model is duplicate


def test_shallow_copies_of_keras_share_no_variables() -> None:
    layer, metric = tf.keras.layers.Dense(1), tf.keras.metrics.Sum()
    layer.build((None, 1))
    copy.copy(layer).kernel.assign([[5.0]])
    copy.copy(metric).update_state(1.0)

    assert [[5.0]] != layer.kernel.numpy().tolist()
    assert 0.0 == metric.result().numpy()
