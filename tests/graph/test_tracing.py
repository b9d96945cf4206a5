"""Does a trace tell what would come out, without running anything, and say so where a function needs values?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.tracing import FunctionTrace, traced, tracing
from nbtf._runtime.context import Context, use_context
from nbtf.errors import OperatorNotAllowedInGraphError
from tests.ops.listening import flat
from tests.ops.samples import Sample, all_samples
from tests.ops.test_every_op import call
from tests.ops.updates import ROWS, UPDATES
from tests.sweeps import check_each


def symbolic(value: Any, trace: FunctionTrace, chance: np.random.Generator) -> Any:
    """An argument with symbolic tensors in the place of arrays; about half of their lengths are not known."""
    if isinstance(value, np.ndarray):
        lengths = [None if chance.random() < 0.5 else n for n in value.shape]
        return trace.placeholder(lengths, tf.as_dtype(value.dtype))
    if type(value) in (list, tuple):
        return type(value)([symbolic(item, trace, chance) for item in value])
    return value


def test_what_is_told_of_a_function_agrees_with_what_it_gives() -> None:
    check_each(all_samples(), a_trace_agrees_with_the_results)


def a_trace_agrees_with_the_results(sample: Sample) -> None:
    if any(value.__class__.__name__ == "Made" for value in sample.args):
        return
    with use_context(Context(environ={})):
        real = flat(call(sample))
        with tracing() as trace:
            args = symbolic(list(sample.args), trace, np.random.default_rng(len(sample.op)))
            try:
                results = flat(sample.function(*args, **sample.kwargs))
            except Exception:
                return  # it needs values, and is tried with some
            shapes = [result.shape for result in results if hasattr(result, "shape")]

    if len(shapes) == len(results) == len(real):
        for shape, result, other in zip(shapes, results, real, strict=True):
            assert shape.is_compatible_with(other.shape)
            assert result.dtype is other.dtype


def most_samples_can_be_traced() -> float:
    traced_samples = 0
    for sample in all_samples():
        with use_context(Context(environ={})), tracing() as trace:
            try:
                sample.function(*symbolic(list(sample.args), trace, np.random.default_rng(0)), **sample.kwargs)
            except Exception:
                continue
        traced_samples += 1
    return traced_samples / len(all_samples())


def test_most_functions_need_no_values() -> None:
    assert most_samples_can_be_traced() > 0.5


@pytest.mark.parametrize("type", sorted(UPDATES))
def test_no_op_on_a_variable_runs(type: str) -> None:
    variable = tf.Variable(ROWS)
    with tracing():
        UPDATES[type][0](variable, 1, 5)
        variable.assign([7.0] * len(ROWS))
        total = tf.reduce_sum(variable)

    assert (total.shape, total.dtype) == ([], tf.float32)
    assert variable.numpy().tolist() == ROWS


def test_a_generator_and_seeds_stay() -> None:
    generator = tf.random.Generator.from_seed(1)
    tf.random.set_seed(3)
    expected = float(tf.random.normal([]))
    tf.random.set_seed(3)
    with tracing():
        drawn = [tf.random.normal([2]), generator.uniform([3])]
        tf.keras.random.normal([2])

    assert [[2], [3]] == [one.shape for one in drawn]
    assert generator.state.numpy().tolist() == [1, 0, 0]
    assert float(tf.random.normal([])) == expected


def test_nobody_hears_of_a_trace_and_no_gpu_holds_anything_of_it() -> None:
    with use_context(Context(simulated_machine(1), environ={})) as context:
        variable, value, events = tf.Variable([1.0, 2.0]), tf.constant([3.0, 4.0]), list[Any]()
        memory = context.devices.by_name[variable.device].memory
        assert memory is not None
        level = memory.level()
        undo = tf.runtime.observe(events.append)
        with tracing():
            results = [variable + value, tf.matmul([value], [value], transpose_b=True), variable.assign_add(value)]
        undo()

        assert (events, memory.level()) == ([], level)
        assert [[2], [1, 1], [2]] == [one.shape for one in results]


def test_another_thread_goes_on_and_is_heard() -> None:
    inside, done, events = threading.Event(), threading.Event(), list[Any]()

    def other() -> None:
        inside.wait()
        tf.random.set_seed(5)
        drawn.append(float(tf.random.normal([]) + tf.constant(1.0)))
        done.set()

    drawn = list[float]()
    thread = threading.Thread(target=other)
    thread.start()
    undo = tf.runtime.observe(events.append)
    with tracing():
        inside.set()
        done.wait()
        tf.random.normal([2])
    thread.join()
    undo()

    tf.random.set_seed(5)
    assert [float(tf.random.normal([]) + 1.0)] == drawn
    assert {"RandomStandardNormal", "AddV2"} <= {getattr(event, "op", None) for event in events}


VALUES: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "numpy": (lambda x: x.numpy(), AttributeError),
    "bool": (lambda x: 1 if x else 0, OperatorNotAllowedInGraphError),
    "int": (int, TypeError),
    "len": (len, TypeError),
    "iter": (list, OperatorNotAllowedInGraphError),
    "array": (np.sum, NotImplementedError),
}


@pytest.mark.parametrize("use", sorted(VALUES))
def test_who_asks_for_a_value_gets_an_error(use: str) -> None:
    function, error = VALUES[use]
    with tracing() as trace, pytest.raises(error):
        function(trace.placeholder([], tf.int32))


@pytest.mark.parametrize("use", ["numpy", "bool", "int"])
def test_a_map_function_that_needs_values_is_tried_with_some(use: str) -> None:
    function = VALUES[use][0]
    dataset = tf.data.Dataset.range(3).map(lambda x: tf.cast(function(x), tf.int32) + 1)

    assert tf.TensorSpec([], tf.int32) == dataset.element_spec
    assert [2, 3] == [int(one) for one in dataset.take(3)][1:] or use == "bool"


def test_a_map_function_is_called_once_and_with_symbolic_tensors() -> None:
    arguments = list[Any]()
    dataset = tf.data.Dataset.from_tensor_slices(np.zeros([4, 3], np.float32)).batch(2)

    spec = dataset.map(lambda x: arguments.append(x) or tf.reduce_sum(x, 1)).element_spec

    assert tf.TensorSpec([None], tf.float32) == spec
    assert [GraphTensor] == [type(one) for one in arguments]


def test_a_layer_is_called_once_and_with_symbolic_tensors() -> None:
    arguments = list[Any]()
    inputs = tf.keras.Input([3])

    outputs: Any = tf.keras.layers.Lambda(lambda x: arguments.append(x) or tf.concat([x, x], -1))(inputs)

    assert (None, 6) == outputs.shape
    assert [GraphTensor] == [type(one) for one in arguments]


def test_lengths_that_are_only_handed_on_need_not_be_known() -> None:
    def function(make: Any) -> Any:
        x = make([None, 3], tf.float32)
        return tf.zeros([x._array.shape[0], 2]).shape, tf.reshape(x, (-1, x._array.shape[0])).shape

    assert ([None, 2], [None, None]) == tuple(shape.as_list() for shape in traced(function))


def test_what_needs_values_gives_nothing() -> None:
    def function(make: Any) -> Any:
        return make([], tf.int32).numpy()

    assert traced(function) is None
