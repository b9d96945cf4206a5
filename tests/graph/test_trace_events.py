"""Does a recording say when a function was traced, and why again?"""

from __future__ import annotations

import linecache
from collections import Counter
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._record.events import Traced
from tests.machines import machine

SHAPES, DTYPES = st.sampled_from([(), (2,), (3,), (2, 2)]), st.sampled_from(["float32", "int32"])
CALLS = st.lists(st.tuples(SHAPES, DTYPES, st.sampled_from([1, 2])), max_size=12)


@given(calls=CALLS, reduce=st.booleans())
def test_there_is_an_event_for_each_trace(calls: list[Any], reduce: bool) -> None:
    @tf.function(reduce_retracing=reduce)
    def step(x: Any, times: int) -> Any:
        return x * times

    with tf.runtime.recording() as record:
        for shape, dtype, times in calls:
            step(tf.ones(shape, dtype), times)
    traces = record.traces

    assert step.experimental_get_tracing_count() == len(traces)
    assert [*range(1, len(traces) + 1)] == [trace.trace for trace in traces]
    assert [trace for trace in traces if not trace.differences] == traces[:1]
    assert [event for event in record.events if isinstance(event, Traced)] == traces


@given(calls=CALLS, fails=st.booleans())
def test_traces_inside_others_and_traces_that_fail_are_told(calls: list[Any], fails: bool) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        if fails:
            raise ArithmeticError
        return x * 2

    @tf.function
    def outer(x: Any, times: int) -> Any:
        return inner(x) * times

    with tf.runtime.recording() as record:
        for shape, dtype, times in calls:
            with pytest.raises(ArithmeticError) if fails else nullcontext():
                outer(tf.ones(shape, dtype), times)
    counts = Counter(trace.function for trace in record.traces)

    assert outer.experimental_get_tracing_count() == counts["outer"]
    assert inner.experimental_get_tracing_count() == counts["inner"]


def traced(function: Any, *calls: Any) -> list[Traced]:
    with tf.runtime.recording() as record:
        for arguments in calls:
            function(*arguments)
    return record.traces


def test_what_differs_is_told_against_the_trace_that_is_most_alike() -> None:
    function = tf.function(lambda x, y, name: x + y)
    two, three = tf.ones([2]), tf.ones([3])
    traces = traced(function, (two, two, "a"), (three, three, "a"), (three, three, "b"), (two, two, "b"))

    assert [()] == [traces[0].differences]
    assert traces[1].differences == (("x", "float32[3]", "float32[2]"), ("y", "float32[3]", "float32[2]"))
    assert traces[2].differences == (("name", "'b'", "'a'"),)
    assert traces[3].differences == (("name", "'b'", "'a'"),)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (1.5, "x: 1.5"),
        ("word" * 20, f"x: '{'word' * 14}wo…"),
        ([1, {"a": (None, True)}], "x: [1, {a: (None, True)}]"),
        ([1.5] * 50, f"x: [{'1.5, ' * 11}1.5…"),
        (test_there_is_an_event_for_each_trace, "x: function"),
    ],
    ids=["number", "text", "structure", "many", "object"],
)
def test_arguments_are_told_in_short(argument: Any, text: str) -> None:
    (trace,) = traced(tf.function(lambda x: tf.constant(1.0)), (argument,))

    assert (text,) == trace.arguments


def test_tensors_and_variables_have_dtype_and_shape() -> None:
    function = tf.function(lambda x, v, r: x + v)
    (trace,) = traced(function, (tf.ones([2, 3]), tf.Variable(1.0), tf.ragged.constant([[1], [2, 3]])))

    assert trace.arguments == (
        "x: float32[2, 3]",
        "v: Variable float32[]",
        "r: RaggedTensor(int32[?], int64[3])",
    )


def test_variables_that_a_function_makes_trace_it_twice() -> None:
    made: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(1.0))
        return x * made[0]

    traces = traced(step, (tf.constant(1.0),))

    assert [(1, "first"), (2, "variables")] == [(trace.trace, trace.cause) for trace in traces]
    assert step.experimental_get_tracing_count() == 2


def test_an_event_names_the_line_that_called() -> None:
    function = tf.function(lambda: tf.constant(1.0))
    with tf.runtime.recording() as record:
        function()

    (trace,) = record.traces
    assert trace.site is not None
    assert "function()" == linecache.getline(*trace.site).strip()


def test_observers_are_told_and_totals_count() -> None:
    seen: list[Any] = []
    stop = tf.runtime.observe(seen.append)
    function = tf.function(lambda x: x)
    with tf.runtime.recording() as record:
        function(1)
        first = record.snapshot()
        function(2)
    stop()

    assert [1, 2] == [event.trace for event in seen if isinstance(event, Traced)]
    assert record.traces[1:] == list(record.snapshot().since(first).traces)


def test_steps_of_keras_are_told_too() -> None:
    model: Any = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with tf.runtime.recording() as record:
        model.fit(tf.ones([5, 2]), tf.ones([5, 1]), batch_size=3, verbose=0)

    names = [trace.function for trace in record.traces]
    assert {"train_step"} == set(names)
    assert record.traces[-1].differences == (
        ("data", "(float32[2, 2], float32[2, 1])", "(float32[3, 2], float32[3, 1])"),
    )


def test_another_object_of_a_class_is_told_as_another() -> None:
    class Part:
        pass

    first, second = Part(), Part()
    traces = traced(tf.function(lambda part: tf.constant(1.0)), (first,), (second,), (second,))

    assert [(), (("part", "Part", "another Part"),)] == [trace.differences for trace in traces]


def test_a_trace_after_one_that_failed_says_so() -> None:
    @tf.function
    def step(x: Any) -> Any:
        if fails:
            raise ZeroDivisionError
        return x

    fails = True
    with tf.runtime.recording() as record:
        with pytest.raises(ZeroDivisionError):
            step(tf.constant(1.0))
        fails = False
        step(tf.constant(1.0))

    assert ["first", "failure"] == [trace.cause for trace in record.traces]


def test_traces_of_replicas_say_so() -> None:
    with machine(2), tf.runtime.recording() as record:
        strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
        function = tf.function(lambda: tf.constant(1.0) + 1.0)
        strategy.run(lambda: function())

    assert ["first", "replica"] == [trace.cause for trace in record.traces]
