"""Do functions call themselves more often when replicas are added? If so, a thousand replicas raise RecursionError."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context

FEW, MANY = 2, 6
"""Numbers of replicas."""

Program = Callable[[Any], Callable[[], object]]
PROGRAMS: dict[str, Program] = {}
"""Programs by name: each prepares something under a strategy, and returns what to run."""


def program(prepare: Program) -> Program:
    """Registers a program."""
    PROGRAMS[prepare.__name__] = prepare
    return prepare


@pytest.fixture
def cards() -> Iterator[None]:
    with use_context(Context(simulated_machine(MANY, "Tesla K20m"), environ={})):
        yield


def replica_context() -> Any:
    return tf.distribute.get_replica_context()


def compiled() -> Any:
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(3), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model


X, Y = np.ones((2 * MANY, 4), "float32"), np.ones((2 * MANY, 1), "float32")


@program
def train_on_batch(strategy: Any) -> Callable[[], object]:
    model = compiled()
    return lambda: model.train_on_batch(X, Y)


@program
def fit_evaluate_and_predict(strategy: Any) -> Callable[[], object]:
    model = compiled()
    return lambda: (model.fit(X, Y, batch_size=MANY, verbose=0), model.evaluate(X, Y, verbose=0), model.predict(X))


@program
def reduce_and_gather(strategy: Any) -> Callable[[], object]:
    def step() -> Any:
        value = replica_context().all_reduce("sum", tf.ones([2, 2]))
        return replica_context().all_gather(value, axis=0)

    return lambda: strategy.reduce("mean", strategy.gather(strategy.run(step), axis=0), axis=None)


@program
def variables_written_by_all_and_by_each(strategy: Any) -> Callable[[], object]:
    aggregation = tf.VariableAggregation
    mirrored = tf.Variable(tf.ones([4]), aggregation=aggregation.MEAN)
    on_read = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=aggregation.SUM)

    def step() -> None:
        mirrored.assign_add(tf.ones([4]))
        on_read.assign_add(1.0)

    return lambda: (strategy.run(step), mirrored.assign(tf.zeros([4])), on_read.read_value(), mirrored.numpy())


@program
def a_traced_step_with_gradients(strategy: Any) -> Callable[[], object]:
    variable = tf.Variable(tf.ones([4, 4]))
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x @ variable)
        optimizer.apply_gradients(zip(tape.gradient(loss, [variable]), [variable], strict=True))
        return loss

    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(2 * MANY))
    traced = tf.function(lambda x: strategy.run(step, args=(x,)))
    return lambda: [traced(x) for x in data]


@program
def a_saved_and_restored_checkpoint(strategy: Any) -> Callable[[], object]:
    model = compiled()
    model.train_on_batch(X, Y)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
    return lambda: checkpoint.restore(checkpoint.save(str(Path(FOLDER[0], "checkpoint"))))


@program
def random_numbers_of_a_generator(strategy: Any) -> Callable[[], object]:
    generator = tf.random.Generator.from_seed(1)
    return lambda: strategy.run(lambda: generator.normal([2]))


@program
def a_recorded_step(strategy: Any) -> Callable[[], object]:
    def run() -> None:
        with tf.runtime.recording() as record:
            strategy.run(lambda: replica_context().all_reduce("sum", tf.ones([64, 64])))
        record.to_html(Path(FOLDER[0], "page.html"))

    return run


FOLDER: list[Path] = []
"""The folder of the running test."""


def nesting_of(run: Callable[[], object]) -> Counter[str]:
    """Returns how often each function is active at the same time, at most, while a function runs."""
    active, most = Counter[CodeType](), Counter[str]()

    def notice(frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "return"):
            code = frame.f_code
            active[code] += 1 if event == "call" else -1
            most[code.co_qualname] = max(most[code.co_qualname], active[code])

    sys.setprofile(notice)
    try:
        run()
    finally:
        sys.setprofile(None)
    return most


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_more_replicas_do_not_nest_calls_deeper(name: str, cards: None, tmp_path: Path) -> None:
    FOLDER[:] = [tmp_path]
    few, many = [nesting_of(prepared(name, count)) for count in (FEW, MANY)]

    assert [] == [function for function, most in many.items() if most > max(few[function], 1)]
    assert len(many) > 20


def prepared(name: str, count: int) -> Callable[[], object]:
    """Returns a program that has already run once, because tracing happens only once."""
    strategy = tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(count)])
    with strategy.scope():
        run = PROGRAMS[name](strategy)
    run()
    return run
