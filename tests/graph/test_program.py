"""The program of a plan gives what its steps give one by one, and fails and stops as they do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.context import Context, use_context
from nbtf.errors import FailedPreconditionError, InvalidArgumentError
from tests.graph.test_plan import plain, program, written
from tests.rings import seeds


@pytest.fixture(autouse=True)
def two_cpus() -> Any:
    with use_context(Context(environ={})) as context:
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        yield context


def plan_of(function: Any) -> Any:
    """The plan of a function that was called with one signature."""
    (concrete,) = function._traces.concrete.values()
    return concrete._plan


@pytest.mark.parametrize("seed", seeds(100))
def test_it_gives_the_bits_of_python(seed: int) -> None:
    results: list[Any] = []
    for wrap in (lambda function: function, lambda function: tf.function(function, autograph=False)):
        variable = tf.Variable([[0.5, 0.25], [1.0, 2.0]])
        function: Callable[..., Any] = wrap(program(written(seed), variable, 0))
        x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.2], [0.3, 0.4]])
        calls = [function(x, y) for _ in range(3)]
        results.append(([plain(call) for call in calls], [call.device for call in calls], plain(variable)))

    assert results[0] == results[1]


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_under_a_tape_it_gives_the_gradients_of_python(seed: int) -> None:
    results: list[Any] = []
    for wrap in (lambda function: function, lambda function: tf.function(function, autograph=False)):
        variable = tf.Variable([[0.5, 0.25], [1.0, 2.0]])
        function: Callable[..., Any] = wrap(program(written(seed), variable, 0))
        x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.1, 0.2], [0.3, 0.4]])
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = function(x, y)
            grads = tape.gradient(result, [x, variable])
            results.append([None if value is None else plain(value) for value in (result, *grads)])

    assert results[:2] == results[2:]


def test_ops_on_other_cpus_belong_there() -> None:
    @tf.function
    def step(x: Any) -> Any:
        with tf.device("CPU:1"):
            y = x * 2.0
        return y, y + 1.0

    devices = [tensor.device[-5:] for tensor in step(tf.constant([1.0]))]

    assert ["CPU:1", "CPU:0"] == devices


def test_a_kernel_that_fails_says_what_it_says_alone() -> None:
    count = tf.Variable(0.0)

    def step(x: Any, index: Any) -> Any:
        count.assign_add(1.0)
        return tf.gather(x + 1.0, index)

    traced = tf.function(step)
    x, index = tf.constant([1.0, 2.0]), tf.constant([1, 7])
    traced(x, tf.constant([1, 0]))
    messages: list[str] = []
    for function in (step, traced):
        with pytest.raises(InvalidArgumentError) as caught:
            function(x, index)
        messages.append(caught.value.message)

    assert messages[0] == messages[1]
    assert 3.0 == count.numpy()


def test_errors_of_numpy_change_nothing() -> None:
    @tf.function
    def step(x: Any) -> Any:
        return tf.exp(x) + 1.0, x - 1.0

    x = tf.constant([1000.0])
    expected = [tensor.numpy().tolist() for tensor in step(x)]
    with np.errstate(all="raise"):
        results = [tensor.numpy().tolist() for tensor in step(x)]

    assert expected == results == [[float("inf")], [999.0]]


def test_who_begins_to_listen_in_the_middle_hears_of_the_rest(two_cpus: Context) -> None:
    heard: list[Any] = []

    def listen() -> Any:
        if len(heard) == 0:
            two_cpus.observers.add(heard.append)
        return np.float32(1.0)

    @tf.function
    def step(x: Any) -> Any:
        y = tf.tanh(x) + tf.numpy_function(listen, [], tf.float32)
        return tf.square(y)

    step(tf.constant([1.0]))

    assert ["AddV2", "Square"] == [event.op for event in heard if type(event).__name__ == "OpExecuted"][-2:]


def test_arguments_that_lie_elsewhere_are_taken() -> None:
    @tf.function
    def step(x: Any) -> Any:
        return x + 1.0

    with tf.device("CPU:1"):
        there = tf.constant([1.0])

    assert [[2.0]] * 4 == [step(x).numpy().tolist() for x in (there, tf.constant([1.0])) * 2]


def test_variables_from_before_a_restart_are_refused() -> None:
    variable = tf.Variable([1.0])
    step = tf.function(lambda: variable * 2.0)
    step()
    tf.runtime.restart()

    with pytest.raises(FailedPreconditionError, match=r"before tf\.runtime\.restart"):
        step()


def test_its_text_can_be_read() -> None:
    variable = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: Any) -> None:
        variable.assign_sub(x * 2.0)

    step(tf.constant([1.0, 1.0]))
    text = inspect.getsource(plan_of(step).programs[False].run)

    assert "(v0._array, k" in text
    assert "._moved(v" in text
