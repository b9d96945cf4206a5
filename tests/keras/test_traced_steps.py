"""Do `fit`, `evaluate` and `predict` trace a step once, and is it then the same step as Python's?"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
import pytest

import nbtf as tf
from nbtf._record.events import OpExecuted
from nbtf.keras import layers, losses, metrics, models, optimizers, utils
from nbtf.keras.session import clear_session
from tests.machines import machine

X = np.random.RandomState(0).rand(6, 4).astype(np.float32)
Y = np.random.RandomState(1).rand(6, 3).astype(np.float32)
SHARES = Y / Y.sum(-1, keepdims=True)
SINGLE = np.eye(3, dtype=np.float32)[np.arange(6) % 3]
NUMBERS = np.arange(6) % 3
PICTURES = np.random.RandomState(2).rand(6, 8, 8, 2).astype(np.float32)
WORDS = np.arange(30).reshape(6, 5) % 9
SEQUENCES = np.random.RandomState(3).rand(6, 5, 4).astype(np.float32)

ARGUMENTS = {
    "BinaryIoU": ([0],), "IoU": (3, [0]), "MeanIoU": (3,), "OneHotIoU": (3, [0]), "OneHotMeanIoU": (3,),
    "PrecisionAtRecall": (0.5,), "RecallAtPrecision": (0.5,), "SensitivityAtSpecificity": (0.5,),
    "SpecificityAtSensitivity": (0.5,),
    "MeanMetricWrapper": (losses.mean_squared_error,),
}  # fmt: skip
"""What a class cannot be made without."""


def public(module: Any, base: type) -> list[str]:
    """Returns the names of the classes of a section that can be used as they are."""
    classes = {
        name: value for name, value in vars(module).items() if inspect.isclass(value) and issubclass(value, base)
    }
    return sorted(name for name in classes if name not in (base.__name__, "LossFunctionWrapper", "CTC", "Mean", "Sum"))


def behaviour(make: Callable[[], Any], x: Any, y: Any, run_eagerly: bool, **compiled: Any) -> Any:
    """Returns all that a model learns and does on a fresh machine, and what a recording has of it."""
    clear_session()
    utils.set_random_seed(1)
    model = make()
    with model.distribute_strategy.scope():
        arguments = {"optimizer": "sgd", "loss": "mse", **{name: make_part() for name, make_part in compiled.items()}}
        model.compile(**arguments, run_eagerly=run_eagerly)
    model.fit(x, y, batch_size=2, verbose=0)  # makes what is made once
    with tf.runtime.recording() as record:
        history = model.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0).history
        tested = model.evaluate(x, y, batch_size=4, verbose=0)
        predicted = model.predict(x, batch_size=4, verbose=0)
    weights = [weight.numpy().tolist() for weight in model.weights]
    ops = [
        (event.op, event.device, event.outputs, event.phase, event.layer, event.replica)
        for event in record.events
        if isinstance(event, OpExecuted) and event.op != "_EagerConst"
    ]
    return (list(history.values()), tested, np.asarray(predicted).tolist(), weights), ops


def check(caplog: Any, make: Callable[[], Any], x: Any = X, y: Any = Y, **compiled: Any) -> None:
    """Compares traced steps with those of Python."""
    behaviours: list[Any] = []
    for run_eagerly in (False, True):
        with machine(4, memory="64 MiB"):
            behaviours.append(behaviour(make, x, y, run_eagerly, **compiled))
    (traced, traced_ops), (python, python_ops) = behaviours
    others = iter(python_ops)

    assert not [text for text in caplog.messages if "not traced" in text]
    assert traced == python
    assert all(op in others for op in traced_ops)  # in this order; what nobody needs is left out
    assert len(traced_ops) > 0.9 * len(python_ops)


@pytest.fixture(autouse=True)
def four_gpus(caplog: Any) -> Iterator[None]:
    caplog.set_level(logging.WARNING, "tensorflow")
    with machine(4):
        yield


def dense(*more: Any) -> Any:
    return models.Sequential([layers.Input((4,)), layers.Dense(5, activation="relu"), layers.Dense(3), *more])


@pytest.mark.parametrize("name", public(optimizers, optimizers.Optimizer))
def test_every_optimizer_makes_the_same_steps(caplog: Any, name: str) -> None:
    def arguments() -> Any:
        return [optimizers.SGD()] if name == "LossScaleOptimizer" else []

    check(caplog, dense, optimizer=lambda: getattr(optimizers, name)(*arguments()))


@pytest.mark.parametrize("name", public(losses, losses.Loss))
def test_every_loss_is_the_same(caplog: Any, name: str) -> None:
    y = NUMBERS if "Sparse" in name else SHARES
    check(caplog, lambda: dense(layers.Softmax()), y=y, loss=lambda: getattr(losses, name)())


@pytest.mark.parametrize("name", public(metrics, metrics.Metric))
def test_every_metric_is_the_same(caplog: Any, name: str) -> None:
    y = NUMBERS if "Sparse" in name else SINGLE
    check(
        caplog,
        lambda: dense(layers.Softmax()),
        y=y,
        loss=lambda: "sparse_categorical_crossentropy" if "Sparse" in name else "mse",
        metrics=lambda: [getattr(metrics, name)(*ARGUMENTS.get(name, ()), name="seen")],
    )


LAYERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "activity": (lambda: layers.Dense(4, activity_regularizer="l1"), X),
    "both directions": (lambda: layers.Bidirectional(layers.GRU(2)), SEQUENCES),
    "constraint": (lambda: layers.Dense(4, kernel_regularizer="l2", kernel_constraint="max_norm"), X),
    "dropout in time": (lambda: layers.LSTM(3, dropout=0.2, recurrent_dropout=0.2), SEQUENCES),
    "lambda": (lambda: layers.Lambda(lambda x: x * 2), X),
    "mask": (lambda: models.Sequential([layers.Embedding(9, 4, mask_zero=True), layers.LSTM(3)]), WORDS),
    "dropout": (partial(layers.Dropout, 0.3), X),
    **{name: (getattr(layers, name), X) for name in ("BatchNormalization LayerNormalization LeakyReLU").split()},
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_the_same(caplog: Any, name: str) -> None:
    make, x = LAYERS[name]
    check(
        caplog,
        lambda: models.Sequential([layers.Input(x.shape[1:]), make(), layers.Flatten(), layers.Dense(3)]),
        x=x,
    )


def test_several_outputs_are_the_same(caplog: Any) -> None:
    def make() -> Any:
        inputs = layers.Input((4,))
        return models.Model(inputs, [layers.Dense(3, name="a")(inputs), layers.Dense(3, name="b")(inputs)])

    def on_both(value: Any) -> Callable[[], Any]:
        return lambda: {"a": value, "b": value}

    check(caplog, make, y={"a": Y, "b": Y}, loss=on_both("mae"), metrics=on_both(["mse"]))


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_replicas_make_the_same_steps(caplog: Any, devices: int) -> None:
    def make() -> Any:
        with tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(devices)]).scope():
            return dense(layers.BatchNormalization(), layers.Dropout(0.3))

    check(caplog, make, metrics=lambda: ["mae"], optimizer=lambda: "adam")


# What Python does


class Prints(models.Model):
    """Notes when its Python code runs."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.seen, self.factor = layers.Dense(3), [], 1.0

    def call(self, x: Any, training: bool = False) -> Any:
        self.seen.append((tuple(x.shape), training))
        return self.dense(x) * self.factor


def prints(**compiled: Any) -> Any:
    model = Prints()
    model.compile("sgd", "mse", **compiled)
    return model


def fit(model: Any, rows: int = 4, **arguments: Any) -> list[Any]:
    """Learns from batches of two rows; returns what Python saw meanwhile."""
    model.seen.clear()
    model.fit(X[:rows], Y[:rows], batch_size=2, verbose=0, **arguments)
    return list(model.seen)


def test_python_runs_once_for_each_shape_of_a_batch() -> None:
    model = prints()
    fit(model, epochs=2)  # a model is built with its first batch

    assert [] == fit(model, epochs=3)
    assert [((1, 4), True)] == fit(model, rows=5, epochs=2)
    assert [] == fit(model, rows=5)


def test_test_and_predict_are_traced_too() -> None:
    model = prints()
    fit(model)
    model.seen.clear()
    for _ in range(2):
        model.evaluate(X, Y, verbose=0)
        model.predict(X, verbose=0)
        model.predict_on_batch(X)

    assert [((6, 4), False)] * 2 == model.seen


def test_an_eager_model_runs_python_each_time() -> None:
    model = prints(run_eagerly=True)
    fit(model)

    assert [((2, 4), True)] * 2 == fit(model)


def test_functions_that_run_eagerly_are_not_traced() -> None:
    model = prints()
    fit(model)
    tf.config.run_functions_eagerly(True)
    try:
        assert [((2, 4), True)] * 2 == fit(model)
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("how", ["compile", "optimizer"])
def test_what_is_new_is_traced_anew(how: str) -> None:
    model = prints()
    fit(model)
    model.predict_on_batch(X[:2])
    model.factor = 0.0
    assert [] == fit(model)
    assert 0.0 != model.predict_on_batch(X[:2]).sum()

    if how == "compile":
        model.compile("sgd", "mse")
    else:
        model.optimizer = optimizers.SGD()

    assert [((2, 4), True)] == fit(model)
    assert 0.0 == model.predict_on_batch(X[:2]).sum()


def test_a_layer_that_is_frozen_learns_until_the_next_compile() -> None:
    model = prints()
    fit(model)
    before = model.dense.kernel.numpy()
    model.dense.trainable = False
    fit(model)
    learned = model.dense.kernel.numpy()
    model.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        fit(model)

    assert (before != learned).any()
    np.testing.assert_array_equal(learned, model.dense.kernel.numpy())


def test_shapes_that_never_come_again_leave_few_traces() -> None:
    model = prints()
    for rows in range(1, 40):
        model.predict_on_batch(np.zeros((rows, 4), np.float32))
    model.seen.clear()
    for rows in (1, 39, 39):
        model.predict_on_batch(np.zeros((rows, 4), np.float32))

    assert [((39, 4), False)] * 2 == model.seen


def test_conditions_on_tensors_work_in_a_users_call_and_step() -> None:
    class Branches(Prints):
        def call(self, x: Any, training: bool = False) -> Any:
            if tf.reduce_sum(x) > 0.0:
                x = -x
            return super().call(x, training)

        def train_step(self, data: Any) -> Any:
            if tf.reduce_sum(data[0]) > 0.0:
                rows = tf.constant(1.0)
            else:
                rows = tf.constant(2.0)
            return {**super().train_step(data), "sign": rows}

    def learned(run_eagerly: bool) -> Any:
        utils.set_random_seed(1)
        model = Branches()
        model.compile("sgd", "mse", run_eagerly=run_eagerly)
        history = model.fit(np.concatenate([X, -X]), np.concatenate([Y, Y]), batch_size=3, verbose=0).history
        return history, model.predict(X, verbose=0).tolist()

    assert learned(False) == learned(True)


def test_values_are_refused_in_a_users_call() -> None:
    class Asks(Prints):
        def call(self, x: Any, training: bool = False) -> Any:
            return self.dense(x).numpy()

    model = Asks()
    model.compile("sgd", "mse")
    with pytest.raises(AttributeError, match="'SymbolicTensor' object has no attribute 'numpy'"):
        fit(model)


def test_a_step_that_fails_leaves_weights_and_says_which_replica() -> None:
    with tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]).scope():
        model: Any = models.Sequential([layers.Input((4,)), layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(X[:2], NUMBERS[:2], batch_size=2, verbose=0)
    before = [weight.numpy().tolist() for weight in model.weights]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        model.fit(X[:2], np.array([0, 9]), batch_size=2, verbose=0)

    assert ["in replica 1 of 2 on GPU:1"] == caught.value.__notes__
    assert before == [weight.numpy().tolist() for weight in model.weights]


def test_a_model_goes_with_its_last_name_and_leaves_no_step_behind() -> None:
    model = prints()
    fit(model)
    reference = ref(model)
    del model

    assert reference() is None
