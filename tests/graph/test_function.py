"""`tf.function` traces once a signature, as TensorFlow does, and each call does again what was traced."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError, OperatorNotAllowedInGraphError

SINGLETON = "tf.function only supports singleton tf.Variables created on the first call."


def counted(**options: Any) -> tuple[Any, list[Any]]:
    """A function of anything, and what it was traced for."""
    traced: list[Any] = []

    @tf.function(**options)
    def function(*args: Any, **kwargs: Any) -> Any:
        traced.append((args, kwargs))
        return tf.constant(1)

    return function, traced


class Thing:
    """An object."""


THING, OTHER = Thing(), Thing()
SMALL, LIKE_SMALL, LONG = tf.Variable(1.0), tf.Variable(2.0), tf.Variable([1.0])


# The counts are TensorFlow 2.21's.
@pytest.mark.parametrize(
    ("calls", "counts"),
    [
        ([tf.constant(1), tf.constant(2), tf.constant(1.0)], [1, 1, 2]),
        ([tf.constant([1]), tf.constant([1, 2]), tf.constant([3])], [1, 2, 2]),
        ([1, 1, 2, 1.0, True, "a", "a", None], [1, 1, 2, 2, 2, 3, 3, 4]),
        ([np.array(1.0), np.array(2.0), np.float32(3), np.float32(4), np.array([1.0])], [1, 1, 2, 2, 3]),
        ([[1, 2], [1, 2], (1, 2), [tf.constant(1)], [tf.constant(3)], (tf.constant(1),)], [1, 1, 2, 3, 3, 4]),
        ([{"a": tf.constant(1)}, {"a": tf.constant(2)}, {"b": tf.constant(1)}], [1, 1, 2]),
        ([THING, THING, OTHER], [1, 1, 2]),
        ([SMALL, LIKE_SMALL, LONG, SMALL], [1, 1, 2, 2]),
        ([[SMALL, SMALL], [LIKE_SMALL, LIKE_SMALL], [SMALL, LIKE_SMALL]], [1, 1, 2]),
    ],
    ids="dtypes shapes python arrays lists dictionaries objects variables aliases".split(),
)
def test_it_is_traced_once_for_each_kind_of_arguments(calls: list[Any], counts: list[int]) -> None:
    function, traced = counted()

    assert counts == [(function(value), len(traced))[1] for value in calls]
    assert counts[-1] == function.experimental_get_tracing_count()


def test_lengths_that_change_are_left_open_where_that_is_asked_for() -> None:
    function, traced = counted(reduce_retracing=True)
    shapes = [[1], [1, 2], [1, 2, 3], [[1]], [[1, 2]]]

    assert [1, 2, 2, 3, 3] == [(function(tf.constant(value)), len(traced))[1] for value in shapes]
    assert [(1,), (None,), None] == [args[0].shape.dims and tuple(args[0].shape.dims) for args, _ in traced]


def test_defaults_and_names_make_no_difference() -> None:
    traced: list[Any] = []

    @tf.function
    def function(x: Any, y: int = 1, *, z: int = 2) -> Any:
        traced.append((y, z))
        return x

    x = tf.constant(1)
    for call in (
        lambda: function(x),
        lambda: function(x, 1),
        lambda: function(x, y=1),
        lambda: function(x=x),
        lambda: function(x, z=2),
    ):
        call()
    function(x, z=3)

    assert [(1, 2), (1, 3)] == traced


def test_python_runs_while_it_is_traced_and_only_then() -> None:
    lines: list[str] = []

    @tf.function
    def function(x: Any) -> Any:
        lines.append(str(x))
        return x + 1

    assert [2, 3] == [int(function(tf.constant(value))) for value in (1, 2)]
    assert ['Tensor("x:0", shape=(), dtype=int32)'] == lines


def test_each_instance_has_traces_of_its_own_and_may_go() -> None:
    class Model:
        def __init__(self, factor: float) -> None:
            self.factor = tf.Variable(factor)

        @tf.function
        def scale(self, x: Any) -> Any:
            return self.factor * x

    first, second = Model(2.0), Model(3.0)

    assert (2.0, 3.0, 4.0) == tuple(float(model.scale(x)) for model, x in ((first, 1.0), (second, 1.0), (first, 2.0)))
    assert (2, 1) == (first.scale.experimental_get_tracing_count(), second.scale.experimental_get_tracing_count())

    gone = ref(first)
    del first
    gc.collect()
    assert gone() is None


def test_a_function_in_another_is_traced_once_and_becomes_a_part_of_it() -> None:
    traced: list[str] = []

    @tf.function
    def inner(x: Any) -> Any:
        traced.append("inner")
        return x * 2.0

    @tf.function
    def outer(x: Any) -> Any:
        traced.append("outer")
        return inner(x) + inner(x) + inner(tf.constant(3.0))

    assert 10.0 == float(outer(tf.constant(1.0)))
    assert 4.0 == float(inner(tf.constant(2.0)))
    assert ["outer", "inner"] == traced


# Variables


def test_updates_happen_in_their_order_in_each_call() -> None:
    variable = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        before = variable.read_value()
        variable.assign_add(x)
        between = variable.read_value()
        variable.assign(between * 2.0)
        return before, between, variable

    assert (1.0, 2.0, 4.0) == tuple(map(float, step(tf.constant(1.0))))
    assert (4.0, 5.0, 10.0) == tuple(map(float, step(tf.constant(1.0))))
    assert 10.0 == float(variable)


def test_nothing_is_updated_while_it_is_traced() -> None:
    variable = tf.Variable(1.0)
    tf.function(lambda: variable.assign(5.0)).get_concrete_function()

    assert 1.0 == float(variable)


def test_a_variable_that_comes_as_an_argument_is_the_one_of_the_call() -> None:
    @tf.function
    def double(variable: Any) -> Any:
        variable.assign(variable * 2.0)
        return variable + 1.0

    first, second = tf.Variable(1.0), tf.Variable(10.0)

    assert (3.0, 21.0) == (float(double(first)), float(double(second)))
    assert (2.0, 20.0, 1) == (float(first), float(second), double.experimental_get_tracing_count())


def test_variables_are_made_on_the_first_call() -> None:
    class Lazy(tf.Module):
        variable: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.variable is None:
                self.variable = tf.Variable(x * 2.0)
            return self.variable * x

    lazy = Lazy()

    assert (18.0, 6.0) == (float(lazy(tf.constant(3.0))), float(lazy(tf.constant(1.0))))
    assert 6.0 == float(lazy.variable)


@pytest.mark.parametrize("keeps", [True, False])
def test_variables_are_not_made_again(keeps: bool) -> None:
    made: list[Any] = []

    @tf.function
    def function(x: Any) -> Any:
        if x.dtype is tf.int32 or not keeps:
            made.append(tf.Variable(1.0))
        return x

    if keeps:
        function(tf.constant(1.0))
    with pytest.raises(ValueError, match=SINGLETON):
        function(tf.constant(1))


# Values


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda x: x.numpy(), AttributeError, "'SymbolicTensor' object has no attribute 'numpy'"),
        (
            lambda x: x if x > 1 else -x,
            OperatorNotAllowedInGraphError,
            "Using a symbolic `tf.Tensor` as a Python `bo",
        ),
        (list, OperatorNotAllowedInGraphError, "Iterating over a symbolic `tf.Tensor` is not allowed. You can attempt"),
        (np.sin, NotImplementedError, r"Cannot convert a symbolic tf.Tensor \(x:0\) to a numpy array. This error may"),
        (lambda x: [1, 2][x], TypeError, "list indices must be integers or slices, not SymbolicTensor"),
        (lambda x: object(), TypeError, "To be compatible with tf.function, Python functions must return zero or more"),
    ],
    ids="numpy if for array index result".split(),
)
def test_values_are_not_there_while_it_is_traced(use: Callable[..., Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tf.function(lambda x: use(x), autograph=False)(tf.constant([1]))


@pytest.mark.parametrize("use", [lambda x: x + 1, lambda x: tf.add(x, 1), tf.function(lambda x: x + 1)])
def test_a_symbolic_tensor_that_leaks_is_out_of_scope(use: Callable[[Any], Any]) -> None:
    leaked: list[Any] = []
    tf.function(lambda x: leaked.append(x + 1))(tf.constant(1))

    with pytest.raises(TypeError, match=r"<tf.Tensor 'add:0' shape=\(\) dtype=int32> is out of scope"):
        use(leaked[0])


def test_results_keep_their_build() -> None:
    results = tf.function(lambda x: {"a": x, "b": (x.shape, None, [1.5, "text"])})(tf.constant([1, 2]))

    assert ["a", "b"] == list(results)
    assert ([2], None, [1.5, b"text"]) == (
        results["b"][0].numpy().tolist(),
        results["b"][1],
        [value.numpy() for value in results["b"][2]],
    )


def test_tensors_from_outside_are_those_of_the_trace() -> None:
    outside = tf.constant(2.0)
    function = tf.function(lambda x: x * outside)

    assert (6.0, 8.0) == (float(function(tf.constant(3.0))), float(function(tf.constant(4.0))))


def test_what_nobody_needs_is_not_computed() -> None:
    @tf.function
    def function(x: Any) -> Any:
        tf.linalg.inv(x)
        tf.debugging.assert_equal(tf.reduce_sum(x), 0.0)
        return x

    with pytest.raises(InvalidArgumentError, match="Condition x == y did not hold"):
        function(tf.ones([1, 1]))
    assert [[0.0]] == function(tf.zeros([1, 1])).numpy().tolist()


# Gradients


def test_a_tape_inside_and_a_tape_outside_see_the_same() -> None:
    weight = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant([[1.0, -1.0]])

    def loss(x: Any) -> Any:
        return tf.reduce_mean(tf.nn.relu(tf.matmul(x, weight)) ** 2 + tf.tanh(x))

    def gradients(function: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = function(x)
        return tape.gradient(value, [x, weight])

    wanted = gradients(loss, x)
    for result in (gradients(tf.function(loss), x), tf.function(lambda x: gradients(loss, x))(x)):
        for expected, gradient in zip(wanted, result, strict=True):
            np.testing.assert_array_equal(expected, gradient)


def test_second_derivatives_flow_through_it() -> None:
    cube = tf.function(lambda x: x * x * x)
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cube(x)
        slope = tape.gradient(y, x)

    assert (12.0, 12.0) == (float(slope), float(outer.gradient(slope, x)))


def test_a_gradient_of_ones_own_counts_for_tapes_outside() -> None:
    @tf.custom_gradient
    def halfway(x: Any) -> Any:
        return x * x, lambda upstream: upstream * 0.5

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: halfway(x) * 2.0)(x)

    assert 1.0 == float(tape.gradient(y, x))


# Random numbers, data, Python


def test_random_numbers_are_tensorflows_and_go_on() -> None:
    draw = tf.function(lambda: tf.random.uniform([2]))
    tf.random.set_seed(1)
    first, second = draw().numpy().tolist(), draw().numpy().tolist()
    tf.random.set_seed(1)

    assert [0.8126964569091797, 0.07857465744018555] == pytest.approx(first)
    assert [0.8489425182342529, 0.09832477569580078] == pytest.approx(second)
    assert first == draw().numpy().tolist()


def test_a_generator_goes_on_from_call_to_call() -> None:
    generator, reference = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    draw = tf.function(lambda: generator.uniform([2]))

    assert [reference.uniform([2]).numpy().tolist() for _ in range(2)] == [draw().numpy().tolist() for _ in range(2)]


def test_each_call_takes_the_next_element() -> None:
    elements = iter(tf.data.Dataset.range(3))
    take = tf.function(lambda elements: next(elements))

    assert [0, 1, 2] == [int(take(elements)) for _ in range(3)]
    assert 1 == take.experimental_get_tracing_count()


def test_python_functions_run_in_each_call() -> None:
    calls: list[float] = []

    def record(x: Any) -> Any:
        calls.append(float(x))
        return x * 2.0

    @tf.function
    def function(x: Any) -> Any:
        return tf.py_function(record, [x], tf.float32) + tf.numpy_function(record, [x], tf.float32)

    assert [4.0, 8.0] == [float(function(tf.constant(value))) for value in (1.0, 2.0)]
    assert [1.0, 1.0, 2.0, 2.0] == calls


def test_a_python_function_has_its_gradient_inside() -> None:
    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda x: x * x, [x], tf.float32)
        return tape.gradient(y, x)

    assert 6.0 == float(slope(tf.constant(3.0)))


# Concrete functions


def test_a_concrete_function_takes_the_tensors_alone() -> None:
    @tf.function
    def scale(x: Any, factor: int, *, offset: int = 3) -> Any:
        return x * factor + offset

    concrete = scale.get_concrete_function(tf.TensorSpec([], tf.int32), 2)

    assert (5, 7) == (int(concrete(tf.constant(1))), int(concrete(x=tf.constant(2))))
    assert ((tf.TensorSpec([], tf.int32, name="x"), 2), {"offset": 3}) == concrete.structured_input_signature
    assert str(concrete).startswith(
        "ConcreteFunction Input Parameters:\n"
        "  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.int32, name=None)\n"
        "  factor (POSITIONAL_OR_KEYWORD): Literal[2]\n  offset (KEYWORD_ONLY): Literal[3]\nOutput Type:\n"
    )
    with pytest.raises(InvalidArgumentError, match="expected to be a int32 tensor but is a float tensor"):
        concrete(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"scale\(x\) missing required arguments: x."):
        concrete()


def test_a_wider_trace_serves_narrower_calls() -> None:
    function, traced = counted()
    function.get_concrete_function(tf.TensorSpec([None]))
    function(tf.constant([1.0]))
    function(tf.constant([1.0, 2.0]))

    assert 1 == len(traced)


def test_unknown_lengths_are_those_of_the_call() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def centred(x: Any) -> Any:
        return x - tf.reduce_mean(x, axis=0) + tf.cast(tf.shape(x)[0], tf.float32) + tf.zeros(tf.shape(x))

    for rows in (1, 2, 3):
        x = np.arange(rows * 2.0, dtype=np.float32).reshape(rows, 2)
        np.testing.assert_allclose(x - x.mean(0) + rows, centred(x))


# Places and memory


def test_a_device_asked_for_inside_counts_and_others_are_those_of_the_call() -> None:
    tf.runtime.simulate_gpus(2)

    @tf.function
    def function(x: Any) -> Any:
        with tf.device("GPU:1"):
            pinned = x * 2.0
        return pinned, x + 1.0

    x = tf.constant([1.0])
    for name in ("GPU:0", "CPU:0"):
        with tf.device(name):
            pinned, free = function(x)
        assert (True, True) == (pinned.device.endswith("GPU:1"), free.device.endswith(name))
    assert 1 == function.experimental_get_tracing_count()


def test_replicas_trace_once_each_and_those_that_meet_run_as_they_are() -> None:
    tf.runtime.simulate_gpus(2)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    traced: list[str] = []

    @tf.function
    def alone(x: Any) -> Any:
        traced.append("alone")
        return x * variable

    @tf.function
    def together(x: Any) -> Any:
        context: Any = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", x * variable)

    @tf.function
    def whole(x: Any) -> Any:
        traced.append("whole")
        return strategy.reduce("SUM", strategy.run(together, (x,)), axis=None)

    for number in (1.0, 2.0):
        x = tf.constant(number)
        assert 2 * number == float(strategy.reduce("SUM", strategy.run(alone, (x,)), axis=None))
        assert 4 * number == float(strategy.reduce("SUM", strategy.run(together, (x,)), axis=None))
        assert 4 * number == float(whole(x))
    assert ["alone", "alone", "whole"] == traced


def test_many_gradients_of_a_tensor_are_added_up_inside() -> None:
    @tf.function
    def slopes(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sin(x) * x * x * x
            slope = tape.gradient(y, x)
        return slope, outer.gradient(slope, x)

    x = np.array([1.0, 2.0], np.float32)
    slope, bend = slopes(tf.constant(x))

    np.testing.assert_allclose(slope, np.cos(x) * x**3 + 3 * np.sin(x) * x**2, rtol=1e-5)
    np.testing.assert_allclose(bend, -np.sin(x) * x**3 + 6 * np.cos(x) * x**2 + 6 * np.sin(x) * x, rtol=1e-5)


def test_an_op_without_any_result_gives_an_empty_list() -> None:
    nothing = tf.zeros([0, 3])

    assert [] == tf.function(lambda x: tf.unstack(x))(nothing)
    assert [0] == tf.function(lambda x: tf.map_fn(tf.reduce_sum, x))(nothing).shape.as_list()
