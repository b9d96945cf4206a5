"""Functions of the user's, called for every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbtf as tf
from tests.ops.refusals import refused

Dataset: Any = tf.data.Dataset


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def test_a_tuple_becomes_the_arguments_and_a_dictionary_one_of_them() -> None:
    pairs = Dataset.from_tensor_slices(([1, 2], [10, 20]))
    assert [11, 22] == listed(pairs.map(lambda x, y: x + y))
    assert [1, 2] == listed(Dataset.from_tensor_slices({"a": [1, 2]}).map(lambda e: e["a"]))


def test_what_is_returned_becomes_tensors() -> None:
    dataset = Dataset.range(1).map(lambda x: (5, [1.0, 2.0], np.array([1])))
    number, numbers, array = next(iter(dataset))
    assert (tf.int32, tf.float32, tf.int64) == (number.dtype, numbers.dtype, array.dtype)


def test_a_list_counts_as_a_tuple() -> None:
    assert (0, 0) == next(Dataset.range(1).map(lambda x: [x, x]).as_numpy_iterator())


def test_structures_keep_their_kind() -> None:
    class pair(NamedTuple):  # noqa: N801  # as a user may write it
        x: Any
        y: Any

    element = next(iter(Dataset.range(1).map(lambda x: {"b": pair(x, x), "a": x})))
    assert (["b", "a"], pair) == (list(element), type(element["b"]))


def test_functions_run_on_the_cpu_whatever_is_open_outside() -> None:
    tf.runtime.simulate_gpus(1)
    devices: list[str] = []
    with tf.device("GPU:0"):
        dataset = Dataset.range(1).map(lambda x: devices.append((x + 1).device) or x)
        list(dataset)
    assert ["/job:localhost/replica:0/task:0/device:CPU:0"] == devices


def test_what_a_function_makes_on_a_gpu_comes_back_to_the_cpu() -> None:
    tf.runtime.simulate_gpus(1)

    def on_gpu(x: Any) -> Any:
        with tf.device("GPU:0"):
            return tf.cast(x, tf.float32) + 1.0

    assert "/job:localhost/replica:0/task:0/device:CPU:0" == next(iter(Dataset.range(1).map(on_gpu))).device


def test_tapes_do_not_hear_what_happens_in_a_dataset() -> None:
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        (x,) = Dataset.from_tensors(3.0).map(lambda x: x * v)
    assert tape.gradient(x, v) is None


def test_nothing_runs_before_somebody_asks() -> None:
    calls: list[int] = []
    dataset = Dataset.range(3).map(lambda x: calls.append(1) or x)
    assert [] == calls
    next(iter(dataset))
    assert [1] == calls


def test_the_ops_of_functions_are_told_like_any_others() -> None:
    with tf.runtime.recording() as record:
        list(Dataset.range(1).map(lambda x: x + 1))
    told = [event.op for event in record.events if isinstance(event, tf.runtime.OpPlaced)]
    assert told.index("MapDataset") < told.index("IteratorGetNext") < told.index("AddV2")


def test_looking_at_the_spec_is_not_told_and_moves_no_random_numbers() -> None:
    tf.random.set_seed(3)
    dataset = Dataset.range(1).map(lambda x: tf.random.uniform([2]))
    with tf.runtime.recording() as record:
        assert tf.TensorSpec((2,)) == dataset.element_spec
    drawn = next(iter(dataset)).numpy()
    tf.random.set_seed(3)
    assert ([], drawn.tolist()) == (list(record.events), tf.random.uniform([2]).numpy().tolist())


def test_looking_at_the_spec_changes_no_variable_and_no_generator() -> None:
    counter, generator = tf.Variable(0), tf.random.Generator.from_seed(1)

    def numbered(x: Any) -> Any:
        counter.assign_add(1)
        return x, counter, generator.uniform([2])

    spec = Dataset.range(3).map(numbered).element_spec
    assert (0, [1, 0, 0]) == (counter.numpy(), generator.state.numpy().tolist())
    assert (tf.TensorSpec((), tf.int64), tf.TensorSpec((), tf.int32), tf.TensorSpec((2,))) == spec


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (lambda x: x, tf.TensorSpec((None,), tf.int64)),
        (lambda x: tf.reshape(x, [-1, 1]), tf.TensorSpec((None, 1), tf.int64)),
        (lambda x: tf.reduce_sum(x), tf.TensorSpec((), tf.int64)),
        (lambda x: tf.range(x[0]), tf.TensorSpec((None,), tf.int64)),
        (lambda x: 5, tf.TensorSpec((), tf.int32)),
        (lambda x: tf.strings.to_number(tf.strings.as_string(x)), tf.TensorSpec((None,))),
    ],
)
def test_specs_tell_what_a_function_returns(function: Callable[..., Any], spec: tf.TensorSpec) -> None:
    assert spec == Dataset.range(5).batch(2).map(function).element_spec


def test_a_function_that_refuses_made_up_elements_is_shown_a_real_one() -> None:
    columns = Dataset.from_tensor_slices(["1,2"]).map(lambda line: tf.strings.split(line, ",")[1])
    assert tf.TensorSpec((), tf.string) == columns.element_spec


def test_looking_at_the_spec_leaves_a_random_order_where_it_was() -> None:
    def order(look: bool) -> list[Any]:
        tf.random.set_seed(4)
        names = Dataset.from_tensor_slices(["a,1", "b,2", "c,3"]).shuffle(3).batch(1)
        seconds = names.map(lambda lines: tf.strings.split(lines[0], ",")[1])
        assert not look or tf.TensorSpec((), tf.string) == seconds.element_spec
        return list(seconds.as_numpy_iterator())

    assert order(look=False) == order(look=True)


def test_nobody_knows_into_how_many_pieces_a_text_falls() -> None:
    words = Dataset.from_tensor_slices(["a", "b c"]).map(tf.strings.split)
    assert tf.TensorSpec((None,), tf.string) == words.element_spec


def test_specs_tell_what_inner_datasets_hold_and_what_is_ragged() -> None:
    batches = Dataset.range(5).batch(2)
    assert tf.TensorSpec((None,), tf.int64) == batches.flat_map(Dataset.from_tensors).element_spec
    ragged = batches.ragged_batch(2).batch(2).map(lambda rows: rows)
    assert tf.RaggedTensorSpec((None, None, None), tf.int64, 2) == ragged.element_spec


def test_wrong_functions_are_refused() -> None:
    text = "Argument `func` must be a callable. Received func=5 (of type <class 'int'>)"
    refused(lambda: Dataset.range(2).map(5), text, ValueError)
    text = "A function passed to Dataset.map() must return something"
    refused(lambda: list(Dataset.range(2).map(lambda x: None)), text, TypeError)
    text = "Unsupported return value from function passed to Dataset.map(): "
    refused(lambda: list(Dataset.range(2).map(lambda x: object())), text, TypeError)
    text = "The `map_func` argument must return a `Dataset` object."
    refused(lambda: list(Dataset.range(2).flat_map(lambda x: x)), text, TypeError)


def test_the_error_of_a_function_is_the_users() -> None:
    dataset = Dataset.from_tensor_slices([1, 0]).map(lambda x: 1 // x)
    refused(lambda: list(dataset), "Integer division by zero")


def test_elements_that_cannot_be_made_are_left_out_on_request() -> None:
    dataset = Dataset.from_tensor_slices([1, 0, 2]).map(lambda x: 2 // x)
    assert [2, 1] == listed(dataset.ignore_errors())


def test_inner_datasets_follow_each_other() -> None:
    assert [0, 0, 1] == listed(Dataset.range(3).flat_map(Dataset.range))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4]),
        ({"cycle_length": 2, "block_length": 2}, [0, 0, 1, 1, 0, 1, 2, 2, 3, 3, 2, 3, 4, 4, 4]),
        ({"cycle_length": 1}, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]),
    ],
)
def test_inner_datasets_take_turns(how: dict[str, int], expected: list[int]) -> None:
    thrice = Dataset.range(5).interleave(lambda x: Dataset.from_tensors(x).repeat(3), **how)
    assert expected == listed(thrice)


def test_turns_need_positive_numbers() -> None:
    text = "cycle_length must be greater than zero."
    refused(lambda: Dataset.range(3).interleave(Dataset.range, cycle_length=0), text)


def test_a_state_goes_from_element_to_element() -> None:
    sums = Dataset.range(4).scan(np.int64(0), lambda total, x: (total + x, total + x))
    assert [0, 1, 3, 6] == listed(sums) == listed(sums)


def test_reducing_returns_the_last_state() -> None:
    total, doubled = Dataset.range(3).reduce((np.int64(0), 1), lambda state, x: (state[0] + x, state[1] * 2))
    assert (3, 8) == (total.numpy(), doubled.numpy())


def test_the_state_keeps_its_dtype() -> None:
    text = "The element types for the new state must match the initial state."
    refused(lambda: Dataset.range(2).reduce(0.0, lambda state, x: x), text, TypeError)
