"""Elements of several datasets in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from tests.ops.refusals import refused

Dataset: Any = tf.data.Dataset


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def test_the_shortest_decides_how_long_a_zip_is() -> None:
    zipped = Dataset.zip({"a": Dataset.range(2), "b": (Dataset.range(3), Dataset.range(5, 9))})
    assert [{"a": 0, "b": (0, 5)}, {"a": 1, "b": (1, 6)}] == list(zipped.as_numpy_iterator())


def test_numbers_stand_in_front_of_elements() -> None:
    named = Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)
    assert [(5, b"a"), (6, b"b")] == list(named.as_numpy_iterator())


def test_one_dataset_follows_another() -> None:
    assert [0, 1, 0] == listed(Dataset.range(2).concatenate(Dataset.range(1)))


def test_elements_that_follow_each_other_must_be_alike() -> None:
    text = (
        "Incompatible dataset elements:\n  TensorSpec(shape=(), dtype=tf.int64, name=None) vs.   "
        "TensorSpec(shape=(), dtype=tf.string, name=None)"
    )
    refused(lambda: Dataset.range(2).concatenate(Dataset.from_tensors("a")), text, TypeError)


def test_a_dataset_of_numbers_chooses() -> None:
    numbers = Dataset.range(2).repeat(2)
    assert [0, 10, 1, 11] == listed(Dataset.choose_from_datasets([Dataset.range(5), Dataset.range(10, 15)], numbers))


def test_the_first_empty_dataset_ends_a_choice() -> None:
    numbers = Dataset.from_tensor_slices(tf.constant([0, 0, 0, 1], tf.int64))
    datasets = [Dataset.range(2), Dataset.range(5, 9)]
    assert [0, 1] == listed(Dataset.choose_from_datasets(datasets, numbers))
    assert [0, 1, 5] == listed(Dataset.choose_from_datasets(datasets, numbers, stop_on_empty_dataset=False))


def test_a_number_must_name_a_dataset() -> None:
    choice = Dataset.choose_from_datasets([Dataset.range(5)], Dataset.range(3))
    refused(lambda: list(choice), "Selector index out of range: 1 >= 1")


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("datasets", "how", "expected"),
    [
        (
            [(5,), (10, 15), (20, 30)],
            {"weights": [0.5, 0.3, 0.2], "seed": 1},
            [20, 0, 1, 2, 3, 4, 21, 10, 11, 22, 12, 13, 14, 23, 24, 25, 26, 27, 28, 29],
        ),
        (
            [(5,), (10, 15)],
            {"weights": [0.5, 0.5], "seed": 4, "stop_on_empty_dataset": True},
            [0, 10, 1, 2, 11, 12, 13, 3, 14],
        ),
    ],
)
def test_samples_are_those_recorded_from_tensorflow(datasets: Any, how: dict[str, Any], expected: list[int]) -> None:
    sources = [Dataset.range(*bounds) for bounds in datasets]
    assert expected == listed(Dataset.sample_from_datasets(sources, **how))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Dataset.zip(), "Must pass at least one dataset to `zip`."),
        (lambda: Dataset.zip(5), "Invalid input to `zip`. Inputs are expected to be (nested) structures of"),
        (lambda: Dataset.zip([Dataset.range(1)]), "Invalid input to `zip`. Inputs are expected to be (nested)"),
        (
            lambda: Dataset.choose_from_datasets([Dataset.range(1)], Dataset.range(3, output_type=tf.int32)),
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are",
        ),
    ],
)
def test_what_is_no_dataset_is_refused(make: Callable[[], Any], text: str) -> None:
    refused(make, text, TypeError)
