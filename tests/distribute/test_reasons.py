"""Does a reason name `tf.device` only where the program wrote it?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.machines import machine

keras, distribute = tf.keras, tf.distribute
X, Y = np.ones((8, 4), "float32"), np.ones((8, 2), "float32")
DATASET = tf.data.Dataset
Program = Callable[[Any, Path], object]


def model_of(strategy: Any, **options: Any) -> Any:
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(2)])
        model.compile(options.pop("optimizer", "adam"), "mse", metrics=["mae"], **options)
    return model


def fits(strategy: Any, folder: Path) -> None:
    with strategy.scope():
        optimizer = keras.optimizers.SGD(momentum=0.9, clipnorm=1.0)
    model = model_of(strategy, optimizer=optimizer)
    model.fit(X, Y, batch_size=4, validation_data=(X, Y), verbose=0)
    model.evaluate(X, Y, verbose=0)
    model.predict(X, verbose=0)
    model.fit(X[:5], Y[:5], batch_size=4, verbose=0)  # in the last batch, one replica has no rows


def saves(strategy: Any, folder: Path) -> None:
    model = model_of(strategy)
    model.fit(X, Y, batch_size=4, verbose=0)
    tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(folder / "checkpoint"))
    tf.train.Checkpoint(model=model).restore(tf.train.latest_checkpoint(str(folder))).expect_partial()
    model.save_weights(str(folder / "model.weights.h5"))
    model.load_weights(str(folder / "model.weights.h5"))
    model.save(str(folder / "model.keras"))
    with strategy.scope():
        keras.models.load_model(str(folder / "model.keras"))
    assert [str(model.weights[0]), repr(model.optimizer.variables[0])]


def custom_loop(strategy: Any, folder: Path) -> None:
    with strategy.scope():
        model, optimizer = keras.Sequential([keras.layers.Dense(2)]), keras.optimizers.SGD(0.1)
        metric, seen = keras.metrics.Mean(), tf.Variable(0, synchronization=tf.VariableSynchronization.ON_READ,
                                                         aggregation=tf.VariableAggregation.SUM)  # fmt: skip
    dataset = strategy.experimental_distribute_dataset(DATASET.from_tensor_slices((X, Y)).batch(4))

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        metric.update_state(loss)
        seen.assign_add(tf.shape(x)[0])
        return loss

    traced = tf.function(lambda x, y: strategy.run(step, args=(x, y)))
    for batch in dataset:
        for run in (lambda x, y: strategy.run(step, args=(x, y)), traced):
            strategy.reduce("MEAN", run(*batch), axis=None)
            strategy.reduce("SUM", strategy.run(lambda: tf.ones([2])), axis=0)
    metric.reset_state()
    assert [metric.result(), seen.read_value(), str(seen)]


def runs(strategy: Any, folder: Path) -> None:
    def replica() -> Any:
        context = distribute.get_replica_context()
        context.all_reduce("SUM", tf.ones([2]))
        context.all_reduce("MEAN", tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([2, 2])))
        v.assign_add(1.0)
        return tf.random.normal([2]) + v

    with strategy.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
    results = strategy.run(replica)
    strategy.gather(strategy.run(lambda: tf.ones([2])), 0)
    with strategy.scope():
        strategy.extended.update(v, lambda copy: copy.assign_sub(tf.constant(1.0)))
        strategy.extended.reduce_to("SUM", results, v)
        strategy.extended.batch_reduce_to("MEAN", [(results, v)])
        v.assign(2.0)
        assert [v.read_value(), str(v)]


def pipelines(strategy: Any, folder: Path) -> None:
    dataset = DATASET.range(8).map(lambda x: tf.cast(x, tf.float32) * 2.0).filter(lambda x: x > 1.0).shuffle(4).batch(4)
    for _ in dataset.prefetch(2):
        pass
    for target in ("/CPU:0", "/GPU:0"):
        for _ in dataset.apply(tf.data.experimental.copy_to_device(target)):
            pass
    for _ in strategy.experimental_distribute_dataset(dataset):
        pass
    for _ in strategy.distribute_datasets_from_function(lambda context: dataset):
        pass


PROGRAMS: dict[str, Program] = {
    "fit": fits,
    "checkpoints": saves,
    "custom loop": custom_loop,
    "strategy.run": runs,
    "datasets": pipelines,
}
STRATEGIES: dict[str, Callable[[], Any]] = {
    "none": distribute.get_strategy,
    "mirrored": distribute.MirroredStrategy,
    "one device": lambda: distribute.OneDeviceStrategy("/CPU:0"),
    "central storage": distribute.experimental.CentralStorageStrategy,
    "hierarchical": lambda: distribute.MirroredStrategy(cross_device_ops=distribute.HierarchicalCopyAllReduce()),
}
MACHINES = {"none": (0, 1, 2), "mirrored": (0, 1, 2), "one device": (2,), "central storage": (2,), "hierarchical": (2,)}
CASES = [(strategy, gpus) for strategy, numbers in MACHINES.items() for gpus in numbers]


def placed_ops(gpus: int, strategy: str, program: str, folder: Path, block: Any) -> list[Any]:
    with machine(gpus, memory="1GiB"), tf.runtime.recording() as record:
        with block():
            PROGRAMS[program](STRATEGIES[strategy](), folder)
    return [event for event in record.events if isinstance(event, tf.runtime.OpPlaced)]


def names_block(event: Any) -> bool:
    return event.reason.kind == "explicit scope" or any(rule.rule == "tf.device" for rule in event.reason.path)


@pytest.mark.parametrize(("strategy", "gpus"), CASES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_reason_names_a_block_that_the_program_does_not_have(
    program: str, strategy: str, gpus: int, tmp_path: Path
) -> None:
    ops = placed_ops(gpus, strategy, program, tmp_path, nullcontext)

    assert ops
    assert not {(event.op, event.device[-5:], str(event.site)) for event in ops if names_block(event)}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_inside_a_block_reasons_name_it_only_on_its_own_device(program: str, strategy: str, tmp_path: Path) -> None:
    ops = placed_ops(2, strategy, program, tmp_path, lambda: tf.device("/GPU:1"))

    named = [event for event in ops if names_block(event)]
    assert {"GPU:1"} >= {event.device[-5:] for event in named if event.reason.kind == "explicit scope"}
    assert {("tf.device", "GPU:1")} >= {
        (rule.rule, rule.answer) for event in named for rule in event.reason.path if rule.rule == "tf.device"
    }
    assert named or strategy == "one device" or program == "datasets"


def test_a_block_in_a_replica_is_the_reason_instead_of_the_replica() -> None:
    def replica() -> None:
        tf.ones([1])
        with tf.device("/CPU:0"):
            tf.ones([2])

    with machine(2, memory="1GiB"), tf.runtime.recording() as record:
        distribute.MirroredStrategy().run(replica)

    reasons = [
        event.reason.kind for event in record.events if isinstance(event, tf.runtime.OpPlaced) if event.op == "Fill"
    ]
    assert ["replica of a strategy", "explicit scope"] * 2 == reasons[-4:]


def test_the_update_of_a_fit_on_two_gpus_names_the_strategy(tmp_path: Path) -> None:
    ops = placed_ops(2, "mirrored", "fit", tmp_path, nullcontext)

    products = {event.reason.kind for event in ops if event.op == "Mul" and event.phase == "update"}
    assert {"strategy update"} == products
    assert tf.runtime.in_words("Mul", "GPU:0", tf.runtime.Reason("strategy update")).endswith(
        "update, placed by the strategy"
    )
