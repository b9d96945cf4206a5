"""Compares the losses that layers add with TensorFlow's: every kind of loss, model and use.

python -m tests.keras.added_losses                         # the whole table
python -m tests.keras.added_losses --only "functional | "  # only rows whose names begin with this
python -m tests.keras.added_losses --record                # records the table again; needs TensorFlow
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parents[1] / "recorded" / "added_losses.json"

X = np.arange(12, dtype="float32").reshape(4, 3) / 10
Y = np.ones((4, 2), "float32")


def layers_of(tf: Any) -> dict[str, Callable[[], Any]]:
    """Returns the layers that add to the loss, each in a different way."""
    keras = tf.keras
    layers, registered = keras.layers, keras.utils.register_keras_serializable("losses")

    @registered
    class OfTensor(layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(0.1 * tf.reduce_sum(x))
            return x * 2

    @registered
    class InTraining(layers.Layer):
        def call(self, x: Any, training: bool = False) -> Any:
            if training:
                self.add_loss(0.1 * tf.reduce_sum(x))
            return x * 2

    @registered
    class OfWeight(layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.w = self.add_weight(shape=(3,), initializer="ones")

        def call(self, x: Any) -> Any:
            self.add_loss(0.1 * tf.reduce_sum(self.w * self.w))
            return x * self.w

    @registered
    class Several(layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss([0.1 * tf.reduce_sum(x), 0.2 * tf.reduce_sum(x)])
            return x * 2

    @registered
    class Inside(layers.Layer):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.inner = OfTensor()

        def call(self, x: Any) -> Any:
            return self.inner(x) + 1

    return {
        "tensor": OfTensor,
        "in training": InTraining,
        "weight": OfWeight,
        "several": Several,
        "inside": Inside,
        "activity_regularizer": lambda: layers.Dense(3, kernel_initializer="ones", activity_regularizer="l2"),
        "kernel_regularizer": lambda: layers.Dense(3, kernel_initializer="ones", kernel_regularizer="l2"),
        "gamma_regularizer": lambda: layers.BatchNormalization(gamma_regularizer="l2"),
    }


def models_of(tf: Any) -> dict[str, Callable[[Callable[[], Any]], Any]]:
    """Returns the kinds of models, each built around such a layer."""
    keras = tf.keras
    layers = keras.layers

    def dense() -> Any:
        return layers.Dense(2, kernel_initializer="ones")

    class Subclassed(keras.Model):
        def __init__(self, layer: Callable[[], Any]) -> None:
            super().__init__()
            self.a, self.d = layer(), dense()

        def call(self, x: Any) -> Any:
            return self.d(self.a(x))

    class AddsItself(Subclassed):
        def call(self, x: Any) -> Any:
            y = super().call(x)
            self.add_loss(tf.reduce_mean(y))
            return y

    def functional(layer: Callable[[], Any]) -> Any:
        inputs = keras.Input((3,))
        return keras.Model(inputs, dense()(layer()(inputs)))

    def sequential(layer: Callable[[], Any]) -> Any:
        return keras.Sequential([keras.Input((3,)), layer(), dense()])

    def around(make: Callable[[Callable[[], Any]], Any]) -> Callable[[Callable[[], Any]], Any]:
        def nested(layer: Callable[[], Any]) -> Any:
            inputs, model = keras.Input((3,)), make(layer)
            return keras.Model(inputs, model(inputs) * 1.0)

        return nested

    def twice(layer: Callable[[], Any]) -> Any:
        inputs, shared = keras.Input((3,)), layer()
        return keras.Model(inputs, dense()(shared(shared(inputs))))

    return {
        "functional": functional,
        "sequential": sequential,
        "open sequential": lambda layer: keras.Sequential([layer(), dense()]),
        "subclassed": Subclassed,
        "adds itself": AddsItself,
        "nested functional": around(functional),
        "nested sequential": lambda layer: keras.Sequential([keras.Input((3,)), sequential(layer), dense()]),
        "called twice": twice,
        "subclassed in functional": around(AddsItself),
    }


def losses(model: Any) -> list[float]:
    return sorted(float(loss) for loss in model.losses)


def compiled(model: Any, loss: Any = "mse", **options: Any) -> Any:
    model.compile("sgd", loss, **options)
    return model


def called(model: Any, **options: Any) -> Any:
    model(X, **options)
    return model


def fitted(model: Any, **options: Any) -> list[float]:
    return [float(loss) for loss in model.fit(X, Y, verbose=0, **options).history["loss"]]


def loop(tf: Any, wrap: Callable[[Any], Any]) -> Callable[[Any], list[float]]:
    def train(model: Any) -> list[float]:
        rule = tf.keras.optimizers.SGD(0.1)

        @wrap
        def step(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
                loss += tf.add_n(model.losses) if model.losses else 0.0
            weights = model.trainable_variables
            rule.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        return [float(step(tf.constant(X), tf.constant(Y))) for _ in range(2)]

    return train


def uses_of(tf: Any) -> dict[str, Callable[[Any], Any]]:
    """Returns the ways to use a model; each returns losses."""
    keras = tf.keras

    def saved(model: Any) -> list[float]:
        called(compiled(model))
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/m.keras")
            again = keras.models.load_model(f"{folder}/m.keras")
        return [*losses(again), *losses(called(again)), float(again.evaluate(X, Y, verbose=0))]

    def in_function(model: Any) -> Any:
        tf.function(lambda x: model(x))(tf.constant(X))
        return model

    def wrapped(model: Any) -> list[float]:
        inputs = keras.Input((3,))
        outer = keras.Model(inputs, model(inputs))
        return [*losses(called(outer)), *losses(model)]

    def symbolic(model: Any) -> list[float]:
        model(keras.Input((3,)))
        return losses(model)

    return {
        "created": losses,
        "called": lambda model: losses(called(model)),
        "called twice": lambda model: losses(called(called(model))),
        "called in training": lambda model: losses(called(model, training=True)),
        "called symbolically": symbolic,
        "wrapped": wrapped,
        "fit": lambda model: fitted(compiled(model), epochs=2, batch_size=2, shuffle=False),
        "fit without a loss": lambda model: fitted(compiled(model, None), epochs=2),
        "fit eagerly": lambda model: fitted(compiled(model, run_eagerly=True), epochs=2),
        "fit after a call": lambda model: fitted(compiled(called(model))),
        "call after fit": lambda model: (fitted(compiled(model)), losses(called(model)))[1],
        "train_on_batch": lambda model: [float(compiled(model).train_on_batch(X, Y))],
        "evaluate": lambda model: [float(compiled(model).evaluate(X, Y, verbose=0))],
        "test_on_batch": lambda model: [float(compiled(model).test_on_batch(X, Y))],
        "predict": lambda model: [float(compiled(model).predict(X, verbose=0).sum())],
        "loop": lambda model: loop(tf, lambda step: step)(called(model)),
        "loop in a function": loop(tf, tf.function),
        "call after a function": lambda model: losses(called(in_function(model))),
        "saved": saved,
        "cloned": lambda model: losses(called(keras.models.clone_model(called(model)))),
    }


PLAIN = ("functional", "sequential", "open sequential", "subclassed")
FEW = ("tensor", "activity_regularizer")
OF_FILES = ("saved", "cloned")

Row = tuple[str, str, str]


def rows(tf: Any) -> Iterator[tuple[Row, Callable[[], Any]]]:
    """Yields each row's names and a function that computes its losses; inner models use only a few of the layers."""
    layers, models, uses = layers_of(tf), models_of(tf), uses_of(tf)
    for model in models:
        for layer in layers if model in PLAIN else FEW:
            for use in uses:
                if use not in OF_FILES or not ("subclassed" in model or "itself" in model):
                    yield (model, layer, use), _computation(uses[use], models[model], layers[layer])


def _computation(use: Any, model: Any, layer: Any) -> Callable[[], Any]:
    return lambda: use(model(layer))


def answer(compute: Callable[[], Any]) -> Any:
    """Returns the losses of a row, or the class of its error."""
    try:
        return [round(loss, 4) for loss in compute()]
    except Exception as error:
        return type(error).__name__


def recorded() -> dict[str, Any]:
    """Returns TensorFlow's answers by row name."""
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {}


def agree(expected: Any, actual: Any) -> bool:
    """Returns whether losses agree to the precision of float32."""
    if isinstance(expected, str) or isinstance(actual, str):
        return expected == actual
    return len(expected) == len(actual) and all(
        math.isclose(a, b, rel_tol=2e-3, abs_tol=1e-4) for a, b in zip(expected, actual, strict=True)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.keras.added_losses")
    parser.add_argument("--only", default="", help="only rows whose names begin with this")
    parser.add_argument("--record", action="store_true", help="record TensorFlow's answers; other rows are kept")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    tf = importlib.import_module("tensorflow" if chosen.record else "nbtf")
    computations = {" | ".join(row): compute for row, compute in rows(tf)}
    table = recorded()
    answers: dict[str, Any] = {}
    for row, compute in computations.items():
        if row.startswith(chosen.only):
            answers[row] = answer(compute)
            if chosen.record:
                write({name: answers.get(name, table.get(name)) for name in computations})
    wrong = [] if chosen.record else [row for row, values in answers.items() if not agree(table.get(row), values)]
    for row in wrong:
        print(f"{row}: {answers[row]} instead of {table.get(row)}")
    print(f"{len(answers)} rows; {len(wrong)} differ")
    return 1 if wrong or not answers else 0


def write(table: dict[str, Any]) -> None:
    """Writes TensorFlow's answers, one row per line."""
    lines = [f" {json.dumps(row)}: {json.dumps(values)}" for row, values in table.items() if values is not None]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main())
