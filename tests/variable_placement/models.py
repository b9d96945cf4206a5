"""Variables of models: building, compiling, training and loading them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.variable_placement.phases import Device, Phases, Way, X, Y


def everything(model: Any) -> list[Any]:
    """The variables of a model, its optimizer and its metrics."""
    optimizer = getattr(model, "optimizer", None)
    of_metrics = [variable for metric in model.metrics for variable in metric.variables]
    return [*model.variables, *([] if optimizer is None else optimizer.variables), *of_metrics]


def parts(tf: Any) -> list[Any]:
    keras = tf.keras
    return [keras.layers.Dense(2, name="a"), keras.layers.BatchNormalization(name="b")]


def open_sequential(tf: Any) -> Any:
    return tf.keras.Sequential(parts(tf), name="m")


def built_sequential(tf: Any) -> Any:
    return tf.keras.Sequential([tf.keras.Input((3,)), *parts(tf)], name="m")


def functional(tf: Any) -> Any:
    inputs = outputs = tf.keras.Input((3,))
    for layer in parts(tf):
        outputs = layer(outputs)
    return tf.keras.Model(inputs, outputs, name="m")


def subclassed(tf: Any) -> Any:
    class Subclassed(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__(name="m")
            self.first, self.second = parts(tf)
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, inputs: Any) -> Any:
            return self.second(self.first(inputs)) * self.scale

    return Subclassed()


def stepping(tf: Any) -> Any:
    class Stepping(tf.keras.Sequential):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            weights = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss}

    return Stepping(parts(tf), name="m")


MODELS = {
    "open": open_sequential,
    "built": built_sequential,
    "functional": functional,
    "subclassed": subclassed,
    "train_step": stepping,
}

CALLS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda model: model.fit(X, Y, verbose=0),
    "train_on_batch": lambda model: model.train_on_batch(X, Y),
    "evaluate": lambda model: model.evaluate(X, Y, verbose=0),
    "test_on_batch": lambda model: model.test_on_batch(X, Y),
    "predict": lambda model: model.predict(X, verbose=0),
    "predict_on_batch": lambda model: model.predict_on_batch(X),
}


def compiled(model: str, call: str, **options: Any) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        whole = MODELS[model](tf)
        yield "create"
        settings = {
            "optimizer": "adam",
            "loss": "mse",
            "metrics": None if model == "train_step" else ["mae"],
            **options,
        }
        if callable(settings["optimizer"]):
            settings["optimizer"] = settings["optimizer"](tf)
        if callable(settings["metrics"]):
            settings["metrics"] = settings["metrics"](tf)
        whole.compile(**settings)
        yield "compile"
        CALLS[call](whole)
        yield call
        return everything(whole)

    return way


def model_first(model: str, use: Callable[[Any], Any]) -> Way:
    def way(tf: Any, device: Device) -> Phases:
        whole = MODELS[model](tf)
        yield "create"
        use(whole)
        yield "use"
        return whole.variables

    return way


def loop(traced: bool, inside: int | None = None) -> Way:
    """A custom training loop."""

    def way(tf: Any, device: Device) -> Phases:
        model, rule = open_sequential(tf), tf.keras.optimizers.Adam()
        metric = tf.keras.metrics.Mean(name="mean")
        yield "create"

        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            weights = model.trainable_variables
            grads = tape.gradient(loss, weights)
            with tf.device(device(inside)) if inside else tf.name_scope("update"):
                rule.apply_gradients(zip(grads, weights, strict=True))
            metric.update_state(loss)
            return loss

        (tf.function(step) if traced else step)(tf.constant(X), tf.constant(Y))
        yield "step"
        return [*model.variables, *rule.variables, *metric.variables]

    return way


def loaded(tf: Any, device: Device) -> Phases:
    with tempfile.TemporaryDirectory() as folder:
        model = built_sequential(tf)
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(X, Y, verbose=0)
        path = str(Path(folder) / "m.keras")
        model.save(path)
        yield "save"
        again = tf.keras.models.load_model(path)
        yield "load"
        again.fit(X, Y, verbose=0)
        yield "fit"
        return [(str(number), variable) for number, variable in enumerate(everything(again))]


def cloned(tf: Any, device: Device) -> Phases:
    model = built_sequential(tf)
    yield "create"
    clone = tf.keras.models.clone_model(model)
    yield "clone"
    return clone.variables


def from_config(tf: Any, device: Device) -> Phases:
    model = functional(tf)
    yield "create"
    again = tf.keras.Model.from_config(model.get_config())
    yield "from_config"
    return again.variables


def weights_taken(tf: Any, device: Device) -> Phases:
    model, other = built_sequential(tf), built_sequential(tf)
    yield "create"
    model.set_weights(other.get_weights())
    yield "set_weights"
    return model.variables
