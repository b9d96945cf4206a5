"""Are copies that are one array changed as copies are that are computed one by one?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import layers, models, optimizers

X = np.random.RandomState(0).rand(12, 3).astype(np.float32)
Y = np.random.RandomState(1).rand(12, 1).astype(np.float32)

FORMULAS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: optimizers.Adam(0.1, amsgrad=True),
    "adamw": lambda: optimizers.AdamW(0.1, weight_decay=0.1),
    "clipped": lambda: optimizers.RMSprop(0.1, global_clipnorm=0.1),
}


def cpus(count: int) -> list[str]:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    return [f"CPU:{number}" for number in range(count)]


def model(optimizer: Any, constraint: Any = None) -> Any:
    random.seed(1)
    tf.random.set_seed(1)
    with tf.distribute.MirroredStrategy(cpus(3)).scope():
        network = models.Sequential(
            [layers.Input((3,)), layers.Dense(2), layers.Dense(1, kernel_constraint=constraint)]
        )
        network.compile(optimizer(), "mse")
    return network


def learn(network: Any) -> None:
    network.fit(X, Y, batch_size=6, epochs=2, shuffle=False, verbose=0)


def values(network: Any) -> list[list[bytes]]:
    """The bits of all weights and of what the optimizer keeps, on each device."""
    handles = [variable.handle for variable in (*network.weights, *network.optimizer.variables)]
    return [[copy.numpy().tobytes() for copy in handle.values] for handle in handles]


def shared(network: Any) -> set[bool]:
    """Whether copies of weights are one array."""
    return {
        copy._array is weight.handle.values[0]._array for weight in network.weights for copy in weight.handle.values
    }


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_one_array_gets_the_bits_that_copies_get_of_which_each_op_is_told(formula: Callable[[], Any]) -> None:
    together = model(formula)
    learn(together)
    bits, are_one = values(together), shared(together)
    apart = model(formula)
    with tf.runtime.recording():
        learn(apart)

    assert are_one == {True}
    assert values(apart) == bits
    assert all([len(set(copies)) == 1 for copies in bits])


def test_every_update_of_every_copy_is_told() -> None:
    network = model(FORMULAS["sgd"])
    learn(network)
    with tf.runtime.recording() as record:
        learn(network)
    ops = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
    updates = [event.device for event in ops if event.op == "AssignSubVariableOp"]

    assert len(updates) % 3 == 0
    assert {updates.count(device) for device in set(updates)} == {len(updates) // 3}


def test_a_copy_that_was_changed_by_itself_keeps_its_difference() -> None:
    network = model(FORMULAS["sgd"])
    learn(network)
    bias = network.weights[-1].handle
    bias.values[2].assign_add([1.0])
    learn(network)

    first, second, third = [float(copy.numpy()[0]) for copy in bias.values]
    assert first == second != third


def test_a_formula_of_somebody_else_s_is_asked_for_every_copy() -> None:
    devices: list[str] = []

    class Descent(optimizers.SGD):
        def update(self, step: Any, gradient: Any, variable: Any, *slots: Any) -> None:
            devices.append(variable.device[-5:])
            super().update(step, gradient, variable, *slots)

    learn(model(lambda: Descent(0.1)))

    assert devices.count("CPU:0") == devices.count("CPU:1") == devices.count("CPU:2") > 0


def test_a_rule_for_weights_is_asked_for_every_copy() -> None:
    devices: list[str] = []

    def rule(weight: Any) -> Any:
        devices.append(weight.device[-5:])
        return weight

    learn(model(FORMULAS["sgd"], rule))

    assert devices.count("CPU:0") == devices.count("CPU:1") == devices.count("CPU:2") > 0
