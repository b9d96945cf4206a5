"""Older spellings, and elements on another device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from tests.ops.refusals import refused, untyped

Dataset: Any = tf.data.Dataset
experimental = tf.data.experimental


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("copy", [experimental.copy_to_device, experimental.prefetch_to_device])
def test_elements_are_copied_to_a_device_when_asked_for(copy: Callable[[str], Any]) -> None:
    tf.runtime.simulate_gpus(1)
    dataset = Dataset.from_tensor_slices([1.0, 2.0]).apply(copy("GPU:0"))
    assert ["GPU:0"] * 2 == [element.device[-5:] for element in dataset]
    assert 2 == len(dataset)


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        (experimental.take_while(lambda x: x < 2), [0, 1]),
        (experimental.scan(tf.constant(0, tf.int64), lambda total, x: (total + x, total + x)), [0, 1, 3, 6]),
        (experimental.unique(), [0, 1, 2, 3]),
        (experimental.ignore_errors(), [0, 1, 2, 3]),
        (experimental.map_and_batch(lambda x: x + 1, 3), [[1, 2, 3], [4]]),
        (experimental.dense_to_ragged_batch(3), [[0, 1, 2], [3]]),
        (experimental.group_by_window(lambda x: x % 2, lambda _, ds: ds.batch(2), 2), [[0, 2], [1, 3]]),
    ],
)
def test_older_spellings_do_what_the_methods_do(apply: Any, expected: list[Any]) -> None:
    assert expected == listed(Dataset.range(4).apply(apply))


def test_older_functions_ask_the_dataset() -> None:
    dataset = Dataset.range(1)
    assert (1, 0) == (experimental.cardinality(dataset).numpy(), experimental.get_single_element(dataset).numpy())
    iterator: Any = iter(dataset)
    assert 0 == experimental.get_next_as_optional(iterator).get_value().numpy()
    assert [[0, 1], [2]] == listed(Dataset.range(3).batch(2).apply(experimental.unbatch()).batch(2))
    assert 6 == len(list(Dataset.range(3).apply(experimental.shuffle_and_repeat(3, 2))))


def test_a_list_of_elements_must_be_a_list_with_something_in_it() -> None:
    refused(lambda: untyped.data.experimental.from_list((1, 2)), "`elements` must be a list.", TypeError)
    refused(lambda: experimental.from_list([]), "`elements` must be non-empty.", ValueError)


def test_a_dataset_outlives_a_restart() -> None:
    dataset = Dataset.from_tensor_slices([1, 2]).map(lambda x: x + 1)
    assert [2, 3] == listed(dataset)
    tf.runtime.restart()
    assert [2, 3] == listed(dataset)
