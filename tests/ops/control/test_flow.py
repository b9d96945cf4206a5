"""TensorFlow's special rules of conditions, loops, maps and tf.function."""

from __future__ import annotations

import inspect
import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError, OutOfRangeError
from tests.ops.arrays.test_creation import placed
from tests.ops.refusals import refused, untyped


def three() -> tf.Tensor:
    return tf.constant([1, 2, 3])


def yes() -> tf.Tensor:
    return tf.constant(True)


def no() -> tf.Tensor:
    return tf.constant(False)


# Conditions


def test_cond_calls_one_function_and_gives_its_result_as_it_is() -> None:
    assert [1, 2] == tf.cond(yes(), lambda: [1, 2], pytest.fail)
    assert tf.cond(0, pytest.fail, lambda: None) is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.cond(True), "cond(): 'true_fn' argument required"),
        (lambda: tf.cond(True, lambda: 1), "cond(): 'false_fn' argument required"),
        (lambda: untyped.cond(True, 1, lambda: 2), "'true_fn' must be callable."),
        (lambda: tf.case(5), "'pred_fn_pairs' must be a list, tuple, or dict. Received: <class 'int'>"),
        (lambda: tf.case([yes()]), "Each entry in 'pred_fn_pairs' must be a 2-tuple. Received"),
        (lambda: tf.case([(True, lambda: 1)]), "pred must be a Tensor, got: True"),
        (lambda: tf.case([(yes(), 5)]), "fn for pred True must be callable."),
        (lambda: untyped.case([(yes(), lambda: 1)], default=5), "default must be callable."),
        (lambda: tf.switch_case(1, [lambda: 1]), "'branch_index' must be a Tensor, got <class 'int'>"),
        (lambda: untyped.switch_case(tf.constant(0), [lambda: 1], 5), "fn 5 must be callable."),
        (lambda: untyped.while_loop(5, lambda i: i, [1]), "'cond' must be callable."),
        (lambda: untyped.while_loop(lambda i: True, 5, [1]), "'body' must be callable."),
        (lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]), "Cannot iterate over a scalar"),
        (lambda: untyped.map_fn(5, three()), "The provided function 5 is not callable."),
        (lambda: untyped.scan(5, three()), "The provided function 5 is not callable."),
        (lambda: untyped.numpy_function(5, [1], tf.int32), "'int' object is not callable"),
        (lambda: tf.function(5), "5 is not a callable object"),
    ],
)
def test_what_cannot_be_called_is_refused(call: Callable[[], Any], text: str) -> None:
    refused(call, text, TypeError)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2),
            "The truth value of an array with more than",
        ),
        (lambda: tf.case({yes().ref(): lambda: 1}), "Unordered dictionaries are not supported for the 'pred_fn_pairs'"),
        (lambda: tf.case([]), "'pred_fn_pairs' must have at least one pair."),
        (
            lambda: tf.switch_case(tf.constant(1), {0: int, 5: int}),
            "branch indices (keys) must form contiguous range of ",
        ),
        (lambda: tf.switch_case(tf.constant(1), []), "'branch_fns' must be a non-empty list, tuple or dict"),
        (lambda: tf.while_loop(lambda: True, lambda: (), []), "'loop_vars' must be provided."),
        (
            lambda: tf.while_loop(lambda i: i < 3, lambda i: (i, i), [1]),
            "The two structures don't have the same nested",
        ),
        (lambda: tf.map_fn(tf.identity, 5), "Elements in elems must be 1+ dimensional Tensors, not scalars"),
        (lambda: tf.map_fn(tf.identity, []), "elems must be a Tensor or (possibly nested) sequence of Tensors."),
        (lambda: tf.map_fn(lambda x: x[0], (three(), [1, 2])), "Elements in elems must be 1+ dimensional Tensors"),
        (lambda: tf.map_fn(lambda x: x[0], (three(), tf.constant([1]))), "Dimensions 3 and 1 are not compatible"),
        (lambda: tf.map_fn(lambda x: (x, x), three()), "The two structures don't have the same nested structure."),
        (lambda: tf.map_fn(tf.range, three()), "Incompatible shape for value ((2,)), expected ((1,))"),
        (lambda: tf.group(1, what=2), "Unknown keyword arguments: what."),
        (
            lambda: untyped.py_function(5, [1], tf.int32),
            "Expected func to be callable. Received func=5 of type <class 'int'>.",
        ),
    ],
)
def test_functions_refuse_arguments_in_tensorflows_words(call: Callable[[], Any], text: str) -> None:
    refused(call, text, ValueError)


def test_case_calls_the_first_that_is_true() -> None:
    pairs = [(no(), pytest.fail), (yes(), lambda: 1), (yes(), lambda: 2)]

    assert 1 == tf.case(pairs)
    assert 1 == tf.case(OrderedDict((pred.ref(), function) for pred, function in pairs))
    assert 9 == tf.case([(no(), pytest.fail)], default=lambda: 9)


def test_case_without_a_true_condition_or_default_fails() -> None:
    refused(lambda: tf.case([(no(), int)]), "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true.")


def test_case_may_insist_that_only_one_is_true() -> None:
    text = (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'Input error: exclusive=True"
    )
    refused(lambda: tf.case([(yes(), int), (yes(), int)], exclusive=True), text)


def in_session(function: Callable[..., Any], *conditions: bool) -> Any:
    with tf.Graph().as_default():
        fed = [tf.compat.v1.placeholder(tf.bool, []) for _ in conditions]
        result = function(*fed)
        with tf.compat.v1.Session() as session:
            return session.run(result, dict(zip(fed, conditions, strict=True)))


WAYS = {
    "eager": lambda function, *conditions: function(*map(tf.constant, conditions)).numpy(),
    "function": lambda function, *conditions: tf.function(function)(*map(tf.constant, conditions)).numpy(),
    "session": in_session,
    "session, of TensorFlow 1": in_session,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("has_default", [False, True])
def test_case_refuses_no_match_and_several_in_every_way_of_running(
    way: str, exclusive: bool, has_default: bool
) -> None:
    def choose(*conditions: Any) -> Any:
        case = tf.compat.v1.case if "1" in way else tf.case
        pairs = [(condition, lambda n=n: tf.constant(n)) for n, condition in enumerate(conditions)]
        return case(pairs, (lambda: tf.constant(9)) if has_default else None, exclusive)

    for count in (1, 2, 3):
        for conditions in itertools.product([False, True], repeat=count):
            matches = [number for number, holds in enumerate(conditions) if holds]
            if exclusive and len(matches) > 1:
                with pytest.raises(InvalidArgumentError, match="exclusive=True: more than 1 conditions"):
                    WAYS[way](choose, *conditions)
            elif not matches and not has_default:
                with pytest.raises(InvalidArgumentError, match="None of conditions evaluated as True"):
                    WAYS[way](choose, *conditions)
            else:
                assert (matches[0] if matches else 9) == WAYS[way](choose, *conditions)


def test_switch_case_takes_the_last_for_numbers_that_there_are_not() -> None:
    functions = [lambda: "zero", lambda: "one"]

    assert ["zero", "one", "one", "one"] == [tf.switch_case(tf.constant(i), functions) for i in (0, 1, 5, -1)]
    assert "other" == tf.switch_case(tf.constant(5), functions, default=lambda: "other")
    assert "one" == tf.switch_case(tf.constant(1), {1: functions[1], 0: functions[0]})
    assert "one" == tf.switch_case(tf.constant(1), [(0, functions[0]), (1, functions[1])])


def test_an_eager_loop_converts_its_values_at_its_end() -> None:
    classes: list[type[Any]] = []

    def body(i: Any, total: Any) -> tuple[Any, Any]:
        classes.append(type(i))
        return i + 1, total + i  # a tensor of int32 could not be added to int64

    i, total = tf.while_loop(lambda i, total: i < 4, body, (0, tf.constant(0, tf.int64)))
    (unchanged,) = tf.while_loop(lambda i: i < 0, lambda i: [i + 1], [5])

    assert set(classes) == {int}
    assert (i.dtype, i.numpy(), total.dtype, total.numpy()) == (tf.int32, 4, tf.int64, 6)
    assert (unchanged.dtype, unchanged.numpy()) == (tf.int32, 5)


def test_a_function_that_needs_values_may_wait_for_ops() -> None:
    def plus_one(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.debugging.assert_equal(x, x)]):
            return tf.constant(int(x) + 1)

    numbers = tf.data.Dataset.range(3).map(plus_one)

    assert numbers.element_spec == tf.TensorSpec([], tf.int32)
    assert [number.numpy() for number in numbers] == [1, 2, 3]


def test_while_loop_keeps_structures_and_stops_in_time() -> None:
    state = {"i": tf.constant(0)}

    (after,) = tf.while_loop(lambda s: s["i"] < 9, lambda s: [{"i": s["i"] + 1}], [state], maximum_iterations=4)

    assert 4 == after["i"].numpy()


def test_no_op_is_logged() -> None:
    assert ["NoOp"] == placed(tf.no_op)
    assert tf.group(tf.constant(1)) is None


# Maps


def test_map_fn_takes_and_gives_structures() -> None:
    total, pair = tf.map_fn(
        lambda x: (x["a"] + x["b"], [x["a"]]), {"a": three(), "b": three()}, fn_output_signature=(tf.int32, [tf.int32])
    )

    assert [2, 4, 6] == total.numpy().tolist()
    assert [1, 2, 3] == pair[0].numpy().tolist()


def test_map_fn_insists_on_the_dtypes_it_was_told() -> None:
    text = "TensorArray dtype is int32 but Op is trying to write dtype float32 "

    refused(lambda: tf.map_fn(lambda x: tf.cast(x, tf.float32), three()), text)


def test_map_fn_of_nothing_gives_nothing() -> None:
    spec = tf.TensorSpec([2], tf.float32)

    assert (0,) == tf.map_fn(tf.identity, tf.zeros([0, 3])).shape
    assert (0, 2) == tf.map_fn(tf.identity, tf.zeros([0, 3]), fn_output_signature=spec).shape


def test_vectorized_map_lets_single_slices_serve_for_all() -> None:
    first, second = tf.vectorized_map(lambda x: x, (tf.constant([7]), three()))

    assert ([7, 7, 7], [1, 2, 3]) == (first.numpy().tolist(), second.numpy().tolist())


def test_scan_goes_either_way() -> None:
    assert [1, 3, 6] == tf.scan(tf.add, three()).numpy().tolist()
    assert [6, 5, 3] == tf.scan(tf.add, three(), reverse=True).numpy().tolist()
    assert [11, 13, 16] == tf.scan(tf.add, three(), initializer=10).numpy().tolist()


def test_folding_nothing_needs_something_to_begin_with() -> None:
    nothing = tf.zeros([0])

    refused(lambda: tf.foldl(tf.add, nothing), "Tried to read from index 0 but array size is: 0", OutOfRangeError)
    assert 1.0 == tf.foldl(tf.add, nothing, initializer=1.0).numpy()


# tf.function


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def doubled(x: Any) -> Any:
    """Twice as much."""
    return x * 2


def test_results_become_tensors() -> None:
    one, rest = tf.function(lambda x: [x, {"a": "b", "c": None}])(1)

    assert (tf.int32, tf.string, None) == (one.dtype, rest["a"].dtype, rest["c"])


def test_arguments_become_what_the_signature_says() -> None:
    for value in ([1, 2], np.array([1.0, 2.0]), tf.constant([1.0, 2.0])):
        assert [2.0, 4.0] == doubled(value).numpy().tolist()
    assert tf.float32 is doubled(x=[1]).dtype


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            lambda: doubled(tf.constant([1])),
            "Can not cast TensorSpec(shape=(1,), dtype=tf.int32, name=None) to TensorSpec(",
        ),
        (
            lambda: doubled(1.0),
            "Can not cast TensorSpec(shape=(), dtype=tf.float32, name=None) to TensorSpec(shape=(None,)",
        ),
        (lambda: doubled("a"), "Cannot convert 'a' to EagerTensor of dtype float"),
        (lambda: doubled(), "missing a required argument: 'x'"),
        (lambda: doubled([1.0], 2), "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_suit_the_signature_are_refused(call: Callable[[], Any], reason: str) -> None:
    refused(call, f"Binding inputs to tf.function failed due to `{reason}", TypeError)


@pytest.mark.parametrize(
    ("function", "signature", "text"),
    [
        (lambda x: x, tf.TensorSpec([]), "input_signature must be either a tuple or a list, got"),
        (lambda x: x, [tf.float32], "input_signature must be a possibly nested sequence of TensorSpec objects"),
        (lambda: 1, [tf.TensorSpec([])], "input_signature contains 1 extra type constraints."),
        (lambda x, y: 1, [tf.TensorSpec([])], "input_signature missing type constraint for y"),
    ],
)
def test_signatures_that_do_not_fit_are_refused(function: Any, signature: Any, text: str) -> None:
    refused(lambda: tf.function(function, signature), text, TypeError)


def test_methods_are_bound() -> None:
    class Counter:
        count = 3

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def plus(self, x: Any) -> Any:
            return x + self.count

    assert 5 == Counter().plus(2).numpy()


def test_a_function_looks_like_the_one_it_marks() -> None:
    assert ("doubled", "Twice as much.") == (doubled.__name__, doubled.__doc__)
    assert ["x"] == list(inspect.signature(doubled).parameters)
    assert [2.0] == doubled.python_function(tf.constant([1.0])).numpy().tolist()


def test_python_functions_may_be_called_with_tensors_or_arrays() -> None:
    assert [3, 4] == [t.numpy() for t in tf.py_function(lambda x: [x, x + 1], [3], [tf.int32, tf.int32])]
    assert [] == tf.py_function(lambda x: None, [3], [])
    assert tf.float32 is tf.numpy_function(np.sin, [tf.constant(1.0)], tf.float64).dtype


def test_errors_in_python_functions_are_tensorflows() -> None:
    refused(lambda: tf.py_function(lambda x: 2.5, [3], tf.int32), "TypeError: Cannot convert 2.5 to EagerTensor of dty")
    refused(lambda: tf.py_function(lambda x: 1 / 0, [3], tf.int32), "ZeroDivisionError:", tf.errors.UnknownError)


def test_autograph_leaves_functions_as_they_are() -> None:
    assert len is tf.autograph.to_graph(len) is tf.autograph.experimental.do_not_convert(len)
    assert "Twice as much" in tf.autograph.to_code(doubled)
    assert InvalidArgumentError is tf.errors.InvalidArgumentError


def test_a_variable_that_a_function_returns_is_a_tensor_of_that_moment() -> None:
    variable = tf.Variable(1.0)

    @tf.function
    def step() -> Any:
        return {"now": [variable.assign_add(1.0), variable]}

    first, second = step()["now"]
    variable.assign(9.0)

    assert (True, True, 2.0, 2.0) == (tf.is_tensor(first), isinstance(first, tf.Tensor), float(first), float(second))
