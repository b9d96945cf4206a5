"""Choosing among elements, and putting them in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf.errors import FailedPreconditionError
from tests.ops.refusals import refused

Dataset: Any = tf.data.Dataset


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def by_value(dataset: Any) -> Any:
    """The same elements, no longer rows of an array."""
    return dataset.map(lambda x: x)


# Recorded from TensorFlow 2.21: two passes over `Dataset.range(n).shuffle(buffer, seed=seed)`.
ORDERS = [
    (10, 10, 1, [0, 9, 5, 1, 2, 7, 3, 8, 6, 4], [8, 9, 7, 5, 4, 6, 2, 1, 0, 3]),
    (10, 3, 1, [1, 3, 0, 5, 2, 6, 7, 8, 9, 4], [1, 3, 0, 5, 4, 6, 8, 9, 2, 7]),
    (5, 100, 1, [0, 4, 3, 1, 2], [3, 1, 0, 4, 2]),
    (10, 3, 42, [0, 3, 4, 2, 1, 5, 8, 6, 7, 9], [0, 1, 4, 2, 5, 7, 8, 3, 9, 6]),
]


@pytest.mark.parametrize(("length", "buffer", "seed", "first", "second"), ORDERS)
@pytest.mark.parametrize("form", [lambda x: x, by_value], ids=["rows", "elements"])
def test_the_order_of_a_seed_is_the_one_recorded_from_tensorflow(
    length: int, buffer: int, seed: int, first: list[int], second: list[int], form: Callable[[Any], Any]
) -> None:
    dataset = form(Dataset.range(length)).shuffle(buffer, seed=seed)
    assert (first, second) == (listed(dataset), listed(dataset))


def test_without_reshuffling_all_passes_have_one_order() -> None:
    dataset = Dataset.range(10).shuffle(10, seed=1, reshuffle_each_iteration=False)
    assert [7, 9, 3, 6, 5, 1, 8, 4, 0, 2] == listed(dataset) == listed(dataset)


def test_the_global_seed_gives_each_shuffle_an_order_of_its_own() -> None:
    tf.random.set_seed(7)
    first, second = Dataset.range(10).shuffle(10), Dataset.range(10).shuffle(10)
    assert [8, 9, 2, 3, 1, 5, 4, 6, 7, 0] == listed(first)
    assert [4, 7, 1, 5, 3, 0, 6, 2, 8, 9] == listed(second)


def test_shuffling_before_repeating_keeps_the_passes_apart() -> None:
    shuffled = listed(Dataset.range(5).shuffle(5, seed=1).repeat(2))
    assert ([0, 1, 2, 3, 4],) * 2 == (sorted(shuffled[:5]), sorted(shuffled[5:]))


@given(st.integers(0, 30), st.integers(1, 40), st.integers(0, 2**40))
def test_shuffling_loses_nothing(length: int, buffer: int, seed: int) -> None:
    assert list(range(length)) == sorted(listed(Dataset.range(length).shuffle(buffer, seed=seed)))


@given(st.integers(0, 30), st.integers(1, 9), st.integers(0, 2**40))
def test_no_element_comes_earlier_than_the_buffer_allows(length: int, buffer: int, seed: int) -> None:
    order = listed(Dataset.range(length).shuffle(buffer, seed=seed))
    assert all(value < place + buffer for place, value in enumerate(order))


@pytest.mark.parametrize("form", [lambda x: x, by_value], ids=["rows", "elements"])
def test_selections_choose_what_they_say(form: Callable[[Any], Any]) -> None:
    numbers = form(Dataset.range(6))
    assert [0, 1] == listed(numbers.take(2))
    assert [4, 5] == listed(numbers.skip(4))
    assert [] == listed(numbers.skip(-1))
    assert [1, 3, 5] == listed(numbers.shard(2, 1))
    assert [0, 2, 4] == listed(numbers.filter(lambda x: x % 2 == 0))
    assert [0, 1, 2] == listed(numbers.take_while(lambda x: x < 3))
    assert [1, 2, 1, 2] == listed(numbers.skip(1).take(2).repeat(2))
    assert [[0, 1, 2, 3], [4, 5]] == listed(numbers.prefetch(1).batch(4))
    assert [3, 4, 5, 0] == listed(numbers.map(lambda x: (x + 3) % 6).unique().take(4))


def test_repeating_nothing_for_ever_ends() -> None:
    assert [] == listed(Dataset.range(0).repeat())


def test_a_cache_calls_the_function_before_it_only_once() -> None:
    calls: list[int] = []
    dataset = Dataset.range(3).map(lambda x: calls.append(1) or x).cache()
    assert [0, 1, 2] == listed(dataset) == listed(dataset)
    assert 3 == len(calls)


def test_a_cache_that_was_left_early_starts_again() -> None:
    dataset = Dataset.range(3).cache()
    next(iter(dataset))
    assert [0, 1, 2] == listed(dataset)


def test_a_cache_keeps_the_order_of_the_first_pass() -> None:
    dataset = Dataset.range(9).shuffle(9).cache()
    assert listed(dataset) == listed(dataset)


def test_a_predicate_must_give_one_truth_value() -> None:
    text = "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is TensorSpec("
    refused(lambda: list(Dataset.range(2).filter(lambda x: x)), text, ValueError)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda ds: ds.shuffle(0), "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"),
        (lambda ds: ds.shard(2, 2), "Index must be between 0 and 1 (currently index = 2)."),
        (lambda ds: ds.shard(0, 0), "Number of shards must be greater than zero (currently num_shards = 0)."),
        (lambda ds: ds.prefetch(-3), "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"),
    ],
)
def test_wrong_numbers_are_refused_in_tensorflows_words(make: Callable[[Any], Any], text: str) -> None:
    refused(lambda: make(Dataset.range(4)), text)


def test_a_cache_in_a_file_is_not_there_and_says_what_is() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"call cache\(\) without a file name"):
        Dataset.range(2).cache("numbers")


@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        (lambda ds: ds, 5),
        (lambda ds: ds.repeat(), tf.data.INFINITE_CARDINALITY),
        (lambda ds: ds.repeat(2), 10),
        (lambda ds: ds.repeat(0), 0),
        (lambda ds: ds.repeat().take(7), 7),
        (lambda ds: ds.take(-1), 5),
        (lambda ds: ds.skip(-1), 0),
        (lambda ds: ds.shard(2, 1), 2),
        (lambda ds: ds.batch(2), 3),
        (lambda ds: ds.batch(2, drop_remainder=True), 2),
        (lambda ds: ds.window(2), 3),
        (lambda ds: ds.window(2, shift=1), 5),
        (lambda ds: ds.filter(lambda x: x > 1), tf.data.UNKNOWN_CARDINALITY),
        (lambda ds: ds.flat_map(lambda x: ds), tf.data.UNKNOWN_CARDINALITY),
        (lambda ds: ds.concatenate(ds), 10),
        (lambda ds: Dataset.zip(ds, ds.repeat()), 5),
        (lambda ds: ds.enumerate(), 5),
        (lambda ds: ds.shuffle(2).prefetch(1).cache(), 5),
    ],
)
def test_cardinality_is_what_tensorflow_says(dataset: Callable[[Any], Any], count: int) -> None:
    assert count == dataset(Dataset.range(5)).cardinality().numpy()


def test_a_length_that_is_not_there_has_a_reason() -> None:
    refused(lambda: len(Dataset.range(2).repeat()), "The dataset is infinite.", TypeError)
    refused(lambda: len(Dataset.range(2).filter(lambda x: x > 0)), "The dataset length is unknown.", TypeError)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (2, "Input dataset was expected to contain 2 elements but contained at least 3 elements."),
        (4, "Input dataset was expected to contain 4 elements but contained only 3 elements."),
    ],
)
def test_a_promised_length_is_kept_or_missed(count: int, text: str) -> None:
    dataset = Dataset.range(3).apply(tf.data.experimental.assert_cardinality(count))
    assert count == len(dataset)
    refused(lambda: list(dataset), text, FailedPreconditionError)
