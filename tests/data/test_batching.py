"""Putting elements together, and taking them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf.errors import DataLossError
from tests.ops.refusals import refused

Dataset: Any = tf.data.Dataset


def listed(dataset: Any) -> list[Any]:
    return [value.tolist() for value in dataset.as_numpy_iterator()]


def growing() -> Any:
    """Elements of 0, 1, 2 and 3 numbers."""
    return Dataset.range(4).map(tf.range)


@given(st.integers(0, 20), st.integers(1, 7), st.booleans())
def test_batches_of_rows_and_of_elements_are_the_same(length: int, size: int, whole: bool) -> None:
    rows = Dataset.range(length)
    assert listed(rows.batch(size, whole)) == listed(rows.map(lambda x: x).batch(size, whole))


def test_batches_keep_structure_and_dtype() -> None:
    columns = {"x": np.array([[1.0], [2.0], [3.0]], np.float16), "s": ["a", "b", "c"]}
    for form in (lambda x: x, lambda ds: ds.map(lambda e: e)):
        first = next(iter(form(Dataset.from_tensor_slices(columns)).batch(2)))
        assert (tf.float16, (2, 1)) == (first["x"].dtype, first["x"].shape)
        assert [b"a", b"b"] == first["s"].numpy().tolist()


def test_texts_stay_texts_in_batches() -> None:
    for batch in (Dataset.batch, Dataset.padded_batch):
        (texts,) = batch(Dataset.from_tensor_slices(["a", "b"]).map(lambda x: x), 2).as_numpy_iterator()
        assert [bytes, bytes] == list(map(type, texts))


def test_neighbouring_rows_are_not_copied() -> None:
    dataset = Dataset.from_tensor_slices(np.zeros((8, 3)))
    first, second = dataset.batch(4)
    assert first._array.base is second._array.base is not None


def test_shapes_must_agree() -> None:
    text = "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: [1], [batch]: [0]"
    refused(lambda: list(growing().batch(2)), text)


def test_a_batch_has_some_elements() -> None:
    refused(lambda: Dataset.range(3).batch(0), "Batch size must be greater than zero.")


def test_the_size_of_a_batch_is_an_integer() -> None:
    refused(lambda: Dataset.range(3).batch(2.5), "Cannot convert 2.5 to EagerTensor of dtype int64", TypeError)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]),
        ({"padded_shapes": [4]}, [[[0] * 4, [0] * 4], [[0, 1, 0, 0], [0, 1, 2, 0]]]),
        ({"padding_values": np.int64(-1)}, [[[-1], [0]], [[0, 1, -1], [0, 1, 2]]]),
    ],
)
def test_elements_are_filled_up(how: dict[str, Any], expected: Any) -> None:
    assert expected == listed(growing().padded_batch(2, **how))


def test_texts_are_filled_up_with_nothing() -> None:
    words = Dataset.from_tensor_slices(["a", "b c"]).map(tf.strings.split)
    assert [[[b"a", b""], [b"b", b"c"]]] == listed(words.padded_batch(2))


def test_an_element_must_fit_where_it_is_filled_up() -> None:
    too_small = growing().padded_batch(2, padded_shapes=[2])
    refused(lambda: list(too_small), "Attempted to pad to a smaller size than the input element.", DataLossError)
    text = "The padded shape (2, 2) is not compatible with the shape (None,) of the corresponding input component."
    refused(lambda: growing().padded_batch(2, padded_shapes=[2, 2]), text, ValueError)


def test_what_fills_up_has_the_dtype_of_the_elements() -> None:
    text = (
        "Invalid `padding_values`. `padding_values` values type <dtype: 'int32'> does not match type <dtype: 'int64'>"
    )
    refused(lambda: growing().padded_batch(2, padding_values=0), text, TypeError)


def test_ragged_batches_keep_the_lengths() -> None:
    assert ["<tf.RaggedTensor [[], [0], [0, 1]]>", "<tf.RaggedTensor [[0, 1, 2]]>"] == [
        repr(batch) for batch in growing().ragged_batch(3)
    ]


@given(st.lists(st.integers(1, 5), max_size=5), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_other_sizes_keep_the_rows_in_order(lengths: list[int], sizes: list[int], whole: bool) -> None:
    rows = iter(range(sum(lengths)))
    batches = [[next(rows) for _ in range(length)] for length in lengths]
    spec = tf.TensorSpec((None,), tf.int64)
    found = listed(Dataset.from_generator(lambda: iter(batches), output_signature=spec).rebatch(sizes, whole))
    flat = [row for batch in found for row in batch]
    assert list(range(len(flat))) == flat
    assert [sizes[turn % len(sizes)] for turn in range(len(found))][:-1] == list(map(len, found))[:-1]
    assert sum(lengths) == len(flat) or whole


def test_rows_of_batches_come_one_by_one() -> None:
    assert [0, 1, 2, 3, 4] == listed(Dataset.range(5).batch(2).unbatch())


def test_what_has_no_rows_cannot_be_taken_apart() -> None:
    refused(lambda: Dataset.range(3).unbatch(), "Cannot unbatch an input with scalar components.", ValueError)
    refused(
        lambda: Dataset.range(3).rebatch(2), "Invalid `batch_sizes`. Expected dataset with rank of >= 1", ValueError
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((2,), [[0, 1], [2, 3], [4]]),
        ((2, None, 1, True), [[0, 1], [2, 3]]),
        ((3, 1, 2), [[0, 2, 4], [1, 3], [2, 4], [3], [4]]),
        ((1, 3), [[0], [3]]),
    ],
)
def test_windows_overlap_and_leave_out_as_asked(arguments: Any, expected: Any) -> None:
    assert expected == [listed(window) for window in Dataset.range(5).window(*arguments)]


def test_a_window_of_pairs_is_a_pair_of_windows() -> None:
    (first, second), *_ = Dataset.from_tensor_slices(([1, 2], [3, 4])).window(2)
    assert ([1, 2], [3, 4]) == (listed(first), listed(second))


def test_windows_become_batches() -> None:
    windows = Dataset.range(5).window(3, 1, 1, True)
    assert [[0, 1, 2], [1, 2, 3], [2, 3, 4]] == listed(windows.flat_map(lambda window: window.batch(3)))


def test_a_group_is_reduced_as_soon_as_it_is_full() -> None:
    groups = Dataset.range(12).group_by_window(lambda x: x % 2, lambda _, group: group.batch(4), window_size=3)
    assert [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]] == listed(groups)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda ds: ds.batch(2), "(None,)"),
        (lambda ds: ds.batch(2, drop_remainder=True), "(2,)"),
        (lambda ds: ds.batch(2).batch(3), "(None, None)"),
        (lambda ds: ds.batch(2).unbatch(), "()"),
        (lambda ds: ds.padded_batch(2), "(None,)"),
        (lambda ds: ds.batch(2).rebatch(3), "(None,)"),
        (lambda ds: ds.batch(4, drop_remainder=True).rebatch(2), "(2,)"),
        (lambda ds: ds.batch(4).rebatch([1, 2], drop_remainder=True), "(None,)"),
        (lambda ds: ds.batch(4).rebatch(2, drop_remainder=True), "(2,)"),
    ],
)
def test_specs_know_the_lengths_that_are_certain(make: Callable[[Any], Any], shape: str) -> None:
    assert shape == str(make(Dataset.range(7)).element_spec.shape)
