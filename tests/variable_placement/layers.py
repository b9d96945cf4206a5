"""Variables of layers, metrics and optimizers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.variable_placement.phases import STEPS, Device, Phases, Way, X, Y


def layer_first(create: Callable[[Any], Any], data: np.ndarray[Any, Any] = X) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        layer = create(tf.keras.layers)
        yield "create"
        layer(data)
        yield "call"
        return layer.variables

    return way


def built_layer(tf: Any, device: Device) -> Phases:
    layer = tf.keras.layers.Dense(2, name="a")
    yield "create"
    layer.build((None, 3))
    yield "build"
    return layer.variables


def weights_of_init(tf: Any) -> Any:
    class Scale(tf.keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__(name="s")
            self.a = self.add_weight(shape=(2,), initializer="ones", name="a")
            self.b = tf.Variable(1.0, name="b")

    return Scale().variables


def twice_nested(tf: Any, device: Device) -> Phases:
    class Inner(tf.keras.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.w = self.add_weight(shape=(3,), name="w")
            self.dense = tf.keras.layers.Dense(1, name="d")
            self.dense.build((None, 3))

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs * self.w)

    model = tf.keras.Sequential([tf.keras.Sequential([Inner(name="i")], name="n")], name="m")
    yield "create"
    model(X)
    yield "call"
    return model.variables


def adapted(tf: Any, device: Device) -> Phases:
    layer = tf.keras.layers.Normalization(name="n")
    yield "create"
    layer.adapt(X)
    yield "adapt"
    layer(X)
    yield "call"
    return [variable for variable in layer.variables if variable.name in ("mean", "variance")]


def restored(tf: Any, device: Device) -> Phases:
    """A checkpoint restores variables that are created only after it was read."""
    with tempfile.TemporaryDirectory() as folder:
        saved = tf.keras.layers.Dense(2, name="a")
        saved.build((None, 3))
        path = tf.train.Checkpoint(layer=saved).save(str(Path(folder) / "c"))
        yield "save"
        layer = tf.keras.layers.Dense(2, name="a")
        tf.train.Checkpoint(layer=layer).restore(path)
        yield "restore"
        layer(X)
        yield "call"
        return layer.variables


def optimizer(name: str, how: str, **options: Any) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        weight = tf.Variable([1.0, 2.0], name="w")
        yield "weight"
        rule = getattr(tf.keras.optimizers, name)(**options)
        yield "create"
        if how == "build":
            rule.build([weight])
        else:
            rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
        yield how
        return [variable for variable in rule.variables if variable.name != "variable"]  # Nadam's product

    return way


def loss_scale(tf: Any, device: Device) -> Phases:
    weight = tf.Variable([1.0, 2.0], name="w")
    yield "weight"
    rule = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(momentum=0.9))
    yield "create"
    rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
    yield "apply"
    own = [("dynamic_scale", rule.dynamic_scale), ("step_counter", rule.step_counter)]
    return own + [(variable.name, variable) for variable in rule.inner_optimizer.variables]


def scheduled(tf: Any, device: Device) -> Phases:
    weight = tf.Variable([1.0, 2.0], name="w")
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    rule = tf.keras.optimizers.Adam(schedule)
    yield "create"
    rule.apply_gradients([(tf.constant([1.0, 1.0]), weight)])
    yield "apply"
    return rule.variables


def metric(name: str) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        measure = getattr(tf.keras.metrics, name)(name="metric")
        yield "create"
        measure.update_state(Y[:, 0], Y[:, 0])
        yield "update"
        return measure.variables

    return way


LAYERS: dict[str, tuple[Any, ...]] = {
    "Dense": (lambda layers: layers.Dense(2, name="a"),),
    "BatchNormalization": (lambda layers: layers.BatchNormalization(name="b"),),
    "LayerNormalization": (lambda layers: layers.LayerNormalization(name="b"),),
    "Embedding": (lambda layers: layers.Embedding(5, 2, name="e"), X),
    "Conv1D": (lambda layers: layers.Conv1D(2, 2, name="c"), STEPS),
    "LSTM": (lambda layers: layers.LSTM(2, name="r"), STEPS),
    "stateful GRU": (lambda layers: layers.GRU(2, stateful=True, name="r"), STEPS),
    "Bidirectional": (lambda layers: layers.Bidirectional(layers.SimpleRNN(2, name="r"), name="w"), STEPS),
    "TimeDistributed": (lambda layers: layers.TimeDistributed(layers.Dense(2, name="a"), name="w"), STEPS),
}

METRICS = ("Mean", "Accuracy", "AUC", "Precision")

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Ftrl", {}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adagrad", {}),
    ("Adadelta", {}),
]
