"""Does a function that is only traced or tried leave everything as it was, and do other threads notice nothing?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._graph.trial import trying
from nbtf._runtime.context import Context, use_context
from tests.ops.updates import ROWS, UPDATES

Ask = Callable[[Callable[[Any], Any]], object]


def _of_dataset(function: Callable[[Any], Any]) -> None:
    assert tf.data.Dataset.range(3).map(function).element_spec is not None


def _of_model(function: Callable[[Any], Any]) -> None:
    inputs = tf.keras.Input([3])
    tf.keras.Model(inputs, tf.keras.layers.Lambda(function)(inputs))


both_trials = pytest.mark.parametrize("ask", [_of_dataset, _of_model], ids=["dataset", "model"])


@both_trials
@pytest.mark.parametrize("type", sorted(UPDATES))
def test_no_variable_is_changed(type: str, ask: Ask) -> None:
    variable, update = tf.Variable(ROWS), UPDATES[type][0]

    def function(x: Any) -> Any:
        update(variable, 1, 5)
        variable.assign([7.0] * len(ROWS))
        return x

    ask(function)

    assert variable.numpy().tolist() == ROWS


@both_trials
def test_no_generator_moves_on(ask: Ask) -> None:
    generator, before = tf.random.Generator.from_seed(1), tf.random.get_global_generator().state.numpy()

    def function(x: Any) -> Any:
        tf.random.get_global_generator().normal([2])
        tf.random.normal([2])
        generator.split(2)
        tf.keras.random.normal([2])
        return generator.uniform([2])

    tf.random.set_seed(3)
    expected = float(tf.random.normal([]))
    tf.random.set_seed(3)
    ask(function)

    assert generator.state.numpy().tolist() == [1, 0, 0]
    assert tf.random.get_global_generator().state.numpy().tolist() == before.tolist()
    assert float(tf.random.normal([])) == expected


def test_what_a_function_assigns_it_reads_again() -> None:
    variable = tf.Variable(1)

    spec = tf.data.Dataset.range(3).map(lambda x: tf.range(variable.assign_add(1))).element_spec

    assert spec == tf.TensorSpec([None], tf.int32)  # it was 2 in one try, and 3 in the other
    assert variable.numpy() == 1


def test_a_variable_that_is_made_in_a_trial_has_its_value() -> None:
    with trying():
        variable = tf.Variable([1.0, 2.0])
        variable.assign_add([1.0, 1.0])

        assert (variable.shape, (variable * 2.0).numpy().tolist()) == ([2], [4.0, 6.0])


def test_gradients_are_found_in_a_trial() -> None:
    def function(x: Any) -> Any:
        y = tf.cast(x, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = y * y
        return tape.gradient(z, y)

    assert tf.data.Dataset.range(3).map(function).element_spec == tf.TensorSpec([], tf.float32)


def test_nobody_hears_of_a_trial_and_no_gpu_holds_anything_of_it() -> None:
    with use_context(Context(simulated_machine(1), environ={})) as context:
        variable, events = tf.Variable([1.0, 2.0]), list[Any]()
        value = variable.value()  # shares the memory: an update would copy
        dataset = tf.data.Dataset.range(3)
        memory = context.devices.by_name[variable.device].memory
        assert memory is not None
        level = memory.level()
        undo = tf.runtime.observe(events.append)

        with trying():
            print(variable.assign_add([1.0, 1.0]).numpy(), value.numpy(), next(iter(dataset)))

        undo()
        assert (events, memory.level(), variable.numpy().tolist()) == ([], level, [1.0, 2.0])


def test_what_another_thread_does_meanwhile_is_recorded_and_its_seeds_stay() -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait()
        tf.random.set_seed(5)
        drawn.append(float(tf.random.normal([])))
        done.set()

    def function(x: Any) -> Any:
        inside.set()
        done.wait()
        return tf.random.normal([2])

    drawn = list[float]()
    tf.random.set_seed(5)
    expected = [float(tf.random.normal([])), float(tf.random.normal([]))]
    thread = threading.Thread(target=other)
    thread.start()
    events = list[Any]()
    undo = tf.runtime.observe(events.append)

    assert tf.data.Dataset.range(3).map(function).element_spec == tf.TensorSpec([2], tf.float32)

    thread.join()
    undo()
    assert [*drawn, float(tf.random.normal([]))] == expected
    assert "RandomStandardNormal" in {getattr(event, "op", None) for event in events}
