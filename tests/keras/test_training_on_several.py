"""Do several devices learn what one learns, step by step, and do they stay equal when one fails?"""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import callbacks, layers, losses, models, optimizers
from nbtf.keras.layers.base import Layer
from tests.machines import machine

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(22, 3).astype(np.float32)
Y = RANDOM.rand(22, 1).astype(np.float32)


@pytest.fixture(autouse=True)
def four_gpus() -> Iterator[None]:
    with machine(4, memory="64 MiB"):
        yield


def seed() -> None:
    random.seed(1)
    np.random.seed(1)
    tf.random.set_seed(1)


def dense() -> Any:
    return models.Sequential(
        [layers.Input((3,)), layers.Dense(4, activation="relu", kernel_regularizer="l2"), layers.Dense(1)]
    )


def on(
    devices: int, make: Callable[[], Any] = dense, optimizer: Callable[[], Any] | str = "adam", **compiled: Any
) -> Any:
    seed()
    strategy = tf.distribute.MirroredStrategy([f"GPU:{number}" for number in range(devices)])
    with strategy.scope():
        made = make()
        rule = optimizer() if callable(optimizer) else optimizer
        made.compile(**{"optimizer": rule, "loss": "mse", "metrics": ["mae"], **compiled})
    return made


def copies(made: Any) -> list[list[Any]]:
    """The values of all weights and of what the optimizer keeps, on each device."""
    variables = [*made.weights, *made.optimizer.variables]
    handles = [variable.handle for variable in variables]
    return [[copy.numpy().tolist() for copy in getattr(handle, "values", (handle,))] for handle in handles]


# The same as one


@pytest.mark.parametrize("devices", [2, 3, 4])
@pytest.mark.parametrize("size", [10, 2])  # 10 over 4 is 3, 3, 3, 1; 2 over 4 is 1, 1, 0, 0
def test_several_devices_give_what_one_gives(devices: int, size: int) -> None:
    one = on(1)
    expected = one.fit(X, Y, batch_size=size, epochs=2, validation_split=0.2, verbose=0).history
    several = on(devices)
    found = several.fit(X, Y, batch_size=size, epochs=2, validation_split=0.2, verbose=0).history

    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, err_msg=name)
    np.testing.assert_allclose(several.predict(X, verbose=0), one.predict(X, verbose=0), rtol=1e-5)
    np.testing.assert_allclose(several.evaluate(X, Y, verbose=0), one.evaluate(X, Y, verbose=0), rtol=1e-5)


def test_a_strategy_with_one_device_gives_what_none_gives() -> None:
    found = on(1).fit(X, Y, epochs=2, verbose=0).history
    seed()
    plain = dense()
    plain.compile("adam", "mse", metrics=["mae"])

    assert plain.fit(X, Y, epochs=2, verbose=0).history == found


MIXED = {"create": "Mixing different", "compile": "Need to be inside", "fit": "Mixing different"}
"""What TensorFlow says where only a part of a program is in the scope of a strategy."""


@pytest.mark.parametrize("in_scope", MIXED)
def test_a_model_and_its_optimizer_belong_to_one_strategy(in_scope: str) -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])

    def scope(part: str) -> Any:
        return strategy.scope() if part == in_scope else nullcontext()

    with scope("create"):
        model = dense()
    with scope("compile"):
        model.compile("adam", "mse")
    with scope("fit"), pytest.raises(RuntimeError, match=MIXED[in_scope]):
        model.fit(X, Y, verbose=0)


def test_training_is_the_same_from_run_to_run_bit_by_bit() -> None:
    def run() -> Any:
        made = on(4)
        return made.fit(X, Y, batch_size=10, epochs=2, verbose=0).history, copies(made)

    assert run() == run()


def test_all_copies_of_weights_and_slots_stay_equal() -> None:
    made = on(3)
    made.fit(X, Y, batch_size=10, verbose=0)

    for values in copies(made):
        assert values[1:] == values[:-1]


def test_weights_of_rows_losses_of_several_outputs_and_sums_are_shared() -> None:
    def outputs() -> Any:
        inputs = layers.Input((3,))
        return models.Model(inputs, [layers.Dense(1, name="a")(inputs), layers.Dense(1, name="b")(inputs)])

    options: Any = {"loss": [losses.MeanSquaredError("sum"), "mse"], "loss_weights": [0.1, 2.0], "metrics": None}
    found = [
        on(devices, outputs, **options).fit(X, [Y, Y], sample_weight=[Y[:, 0], X[:, 0]], epochs=2, verbose=0).history
        for devices in (1, 4)
    ]

    assert list(found[0]) == ["a_loss", "b_loss", "loss"]
    np.testing.assert_allclose(found[1]["loss"], found[0]["loss"], rtol=1e-5)


def test_data_sets_and_distributed_ones_are_split_alike() -> None:
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
    arrays, plain, distributed = on(4), on(4), on(4)
    arrays.fit(X, Y, batch_size=10, shuffle=False, verbose=0)
    plain.fit(data, verbose=0)
    distributed.fit(distributed.distribute_strategy.experimental_distribute_dataset(data), verbose=0)

    assert copies(plain) == copies(arrays)
    assert copies(distributed) == copies(arrays)


def test_fit_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any) -> None:
        raise AssertionError("a thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    made = on(4)
    made.fit(X, Y, batch_size=2, validation_split=0.2, verbose=0)

    assert made.optimizer.iterations.numpy() == 9


class Seeing(Layer):
    """Notes how many rows it sees."""

    def __init__(self, seen: list[int]) -> None:
        super().__init__()
        self._seen_rows = (seen,)

    def call(self, x: Any) -> Any:
        self._seen_rows[0].append(int(x.shape[0]))
        return x


def test_replicas_without_rows_do_not_run() -> None:
    seen: list[int] = []
    made = on(4, lambda: models.Sequential([Seeing(seen), layers.Dense(1)]))
    made.fit(X[:10], Y[:10], batch_size=10, verbose=0)
    first = [rows for rows in seen if rows]
    seen.clear()
    made.fit(X[:2], Y[:2], verbose=0)

    assert first[-4:] == [3, 3, 3, 1]
    assert seen == [1, 1]


def test_running_means_are_those_of_the_replicas_that_had_rows() -> None:
    made = on(4, lambda: models.Sequential([layers.Input((3,)), layers.BatchNormalization(momentum=0.5)]))
    made.fit(np.ones((2, 3), np.float32), Y[:2].repeat(3, 1), verbose=0)
    moving = made.layers[0].moving_mean

    assert moving.numpy().tolist() == [0.5] * 3
    assert [copy.numpy().tolist() for copy in moving.handle.values] == [[0.5] * 3] * 4


def test_half_precision_scales_the_loss_and_learns() -> None:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        made = on(2, lambda: models.Sequential([layers.Input((3,)), layers.Dense(8), layers.Dense(1, dtype="float32")]))
        history = made.fit(X, Y, epochs=5, verbose=0).history
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")

    assert type(made.optimizer) is optimizers.LossScaleOptimizer
    assert history["loss"][4] < history["loss"][0]


class Own(models.Sequential):
    def train_step(self, data: Any) -> Any:
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
        return {"own": loss}


def test_steps_that_a_subclass_writes_run_in_replicas() -> None:
    own = on(2, lambda: Own([layers.Input((3,)), layers.Dense(1)]))
    usual = on(2, lambda: models.Sequential([layers.Input((3,)), layers.Dense(1)]))
    own.fit(X, Y, batch_size=11, shuffle=False, verbose=0)
    usual.fit(X, Y, batch_size=11, shuffle=False, verbose=0)

    assert copies(own) == copies(usual)


# A replica that fails


class Fails(callbacks.Callback):
    """Has a device, or a layer, fail in the third batch; keeps what all copies were before."""

    def __init__(self, fail: Callable[[], object]) -> None:
        self.fail = fail

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.before = copies(self.model)
        if batch == 1:
            self.fail()


def full(device: str) -> list[Any]:
    """Fills the memory of a device to the last 256 bytes."""
    held: list[Any] = []
    size = 1 << 26
    while size >= 256:
        try:
            with tf.device(device):
                held.append(tf.zeros([size // 4]))
        except tf.errors.ResourceExhaustedError:
            size //= 2
    return held


@pytest.mark.parametrize("number", [0, 2, 3])
def test_a_replica_without_memory_is_named_and_leaves_all_copies_as_they_were(number: int) -> None:
    held: list[Any] = []
    made, fails = on(4), Fails(lambda: held.extend(full(f"GPU:{number}")))
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"^OOM when allocating tensor") as caught:
        made.fit(X, Y, batch_size=4, verbose=0, callbacks=[fails])

    assert caught.value.__notes__ == [f"in replica {number} of 4 on GPU:{number}"]
    assert copies(made) == fails.before
    assert made.optimizer.iterations.numpy() == 2


def test_training_goes_on_after_a_failure() -> None:
    held: list[Any] = []
    made = on(4)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        made.fit(X, Y, batch_size=4, verbose=0, callbacks=[Fails(lambda: held.extend(full("GPU:1")))])
    held.clear()
    made.fit(X, Y, batch_size=4, verbose=0)

    assert made.optimizer.iterations.numpy() == 2 + 6
    assert all(values[1:] == values[:-1] for values in copies(made))


class Breaks(Layer):
    """Raises when it is told to, in one replica."""

    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.error, self.on = error, False

    def call(self, x: Any) -> Any:
        context = tf.distribute.get_replica_context()
        if self.on and context is not None and int(context.replica_id_in_sync_group) == 1:
            raise self.error("enough")
        return x


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_any_error_of_a_replica_is_raised_once_with_its_own_class_and_text(error: type[BaseException]) -> None:
    breaks = Breaks(error)
    made = on(2, lambda: models.Sequential([layers.Input((3,)), layers.Dense(2), breaks, layers.Dense(1)]))
    made.run_eagerly = True  # a trace asks no replica
    fails = Fails(lambda: setattr(breaks, "on", True))
    with pytest.raises(error) as caught:
        made.fit(X, Y, batch_size=4, verbose=0, callbacks=[fails])

    assert "enough" in str(caught.value)  # an error, but no interrupt, names the layer as well
    assert caught.value.__notes__ == ["in replica 1 of 2 on GPU:1"]
    assert copies(made) == fails.before


@pytest.mark.parametrize("number", [0, 1])
def test_an_error_between_the_updates_of_two_copies_leaves_none_changed(number: int) -> None:
    class Interrupted(optimizers.SGD):
        def update(self, step: Any, gradient: Any, variable: Any, *slots: Any) -> None:
            super().update(step, gradient, variable, *slots)
            if step.number == 3 and variable.device.endswith(f"GPU:{number}"):
                raise KeyboardInterrupt

    made, fails = on(2, optimizer=lambda: Interrupted(0.1, momentum=0.9)), Fails(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, Y, batch_size=4, verbose=0, callbacks=[fails])

    assert copies(made) == fails.before


# Memory


def in_use() -> list[int]:
    return [tf.config.experimental.get_memory_info(f"GPU:{number}")["current"] for number in range(2)]


def test_memory_in_use_is_flat_and_freed_without_the_garbage_collector() -> None:
    seen: list[list[int]] = []
    looks = callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(in_use()))
    made = on(2)
    made.fit(X, Y, batch_size=11, verbose=0)
    gc.disable()
    try:
        made.fit(X, Y, batch_size=11, epochs=50, verbose=0, callbacks=[looks])
    finally:
        gc.enable()

    assert len(seen) == 100
    assert seen[1:] == seen[:-1]


# All of it: the longest test, some seconds


def test_a_small_convolutional_network_learns_digits_on_one_two_and_four_devices() -> None:
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    (x, y), (x_test, y_test) = tf.keras.datasets.digits.load_data()
    curves: list[Any] = []
    for devices in (1, 2, 4):
        made = on(
            devices,
            lambda: models.Sequential(
                [
                    layers.Input((8, 8, 1)),
                    layers.Conv2D(16, 3, activation="relu"),
                    layers.MaxPooling2D(2),
                    layers.Flatten(),
                    layers.Dense(32, activation="relu"),
                    layers.Dense(10),
                ]
            ),
            optimizer=lambda: optimizers.Adam(0.015),
            loss=losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        curves.append(made.fit(x[..., None] / 16, y, batch_size=128, epochs=12, verbose=0).history["loss"])
        assert made.evaluate(x_test[..., None] / 16, y_test, verbose=0)[1] >= 0.97

    # Sums of float32 in another order, carried through 144 steps.
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-3)
    np.testing.assert_allclose(curves[2], curves[0], rtol=1e-3)
