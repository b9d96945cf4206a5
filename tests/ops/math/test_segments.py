"""Segments and counts: TensorFlow's special rules and words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from tests.ops.refusals import refused, untyped

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=40))
def test_segments_are_what_numpy_adds_up_one_by_one(pairs: list[tuple[int, int]]) -> None:
    ids, values = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    expected = np.zeros(5, np.int64)
    np.add.at(expected, ids, values)
    assert expected.tolist() == tf.math.unsorted_segment_sum(values, ids, 5).numpy().tolist()


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("columns", [(), (3,), (2, 2)], ids=str)
def test_segments_of_rows_are_what_numpy_joins_one_by_one(name: str, dtype: str, columns: tuple[int, ...]) -> None:
    random = np.random.default_rng(len(columns))
    rows, ids = random.integers(-3, 4, (500, *columns)).astype(dtype), random.integers(-1, 40, 500)
    join = {"sum": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}[name]
    operation = getattr(tf.math, f"unsorted_segment_{name}")
    expected = operation(rows[:0], ids[:0], 40).numpy().copy()  # what stands where no row belongs
    join.at(expected, ids[ids >= 0], rows[ids >= 0])

    assert expected.tolist() == operation(rows, ids, 40).numpy().tolist()


@given(st.lists(st.integers(0, 6), max_size=40))
def test_counts_are_numpys(values: list[int]) -> None:
    numbers = np.array(values, np.int64)
    assert np.bincount(numbers).tolist() == tf.math.bincount(numbers).numpy().tolist()


@pytest.mark.parametrize(
    ("data", "ids", "text"),
    [
        (ROWS, [1, 0, 2], "segment ids are not increasing"),
        (ROWS, [0, 1], "segment_ids should be the same size as dimension 0 of input."),
        (ROWS, [-1, 0, 1], "Segment id -1 out of range [0, 2), possibly because 'segment_ids' input is not sorted."),
        (ROWS, [[0, 1, 2]], "segment_ids should be a vector."),
        (1.0, [0], "input must be at least rank 1"),
    ],
)
def test_sorted_segments_are_checked(data: Any, ids: Any, text: str) -> None:
    refused(lambda: tf.math.segment_sum(data, ids), text)


@pytest.mark.parametrize(
    ("ids", "count", "text"),
    [
        ([0, 5, 0], 4, "segment_ids[1] = 5 is out of range [0, 4)"),
        ([[0, 1, 2]], 2, "data.shape = [3,2] does not start with segment_ids.shape = [1,3]"),
        ([0, 1, 2], -1, "Input num_segments == -1 must not be negative."),
        ([0, 1, 2], [3], "num_segments should be a scalar, not shape [1]"),
    ],
)
def test_unsorted_segments_are_checked(ids: Any, count: Any, text: str) -> None:
    refused(lambda: tf.math.unsorted_segment_sum(ROWS, ids, count), text)


@pytest.mark.parametrize("name", ["segment_max", "segment_min", "unsorted_segment_max", "unsorted_segment_min"])
def test_rows_that_tie_share_the_gradient(name: str) -> None:
    x = tf.constant([2.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(untyped.math, name)(x, [0, 0], *([1] if name[0] == "u" else []))
    assert [0.5, 0.5] == tape.gradient(y, x).numpy().tolist()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"minlength": 6}, [0, 2, 0, 1, 0, 0]),
        ({"maxlength": 2}, [0, 2]),
        ({"binary_output": True}, [0, 1, 0, 1]),
        ({"weights": [1.0, 2.0, 3.0]}, [0.0, 3.0, 0.0, 3.0]),
    ],
)
def test_counts_are_cut_and_weighted(arguments: dict[str, Any], expected: list[float]) -> None:
    assert expected == tf.math.bincount([1, 1, 3], **arguments).numpy().tolist()


def test_counting_needs_numbers_from_zero_on_and_a_weight_for_each() -> None:
    refused(lambda: tf.math.bincount([-1, 2]), "Input arr must be non-negative!")
    text = (
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights equal"
    )
    refused(lambda: tf.math.bincount([1, 1, 3], weights=[1, 2]), text)


def test_a_row_for_each_label_and_a_column_for_each_prediction() -> None:
    matrix = tf.math.confusion_matrix([1, 2, 0], [2, 2, 0], num_classes=4, weights=[1.0, 2.0, 3.0], dtype=tf.float32)
    expected = np.zeros((4, 4), np.float32)
    expected[1, 2], expected[2, 2], expected[0, 0] = 1, 2, 3
    assert expected.tolist() == matrix.numpy().tolist()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: tf.math.confusion_matrix([1, 2, 4], [2, 2, 4], num_classes=3),
            "`labels` out of bound\nCondition x < y",
        ),
        (lambda: tf.math.confusion_matrix([-1, 2], [2, 2]), "`labels` contains negative values.  \nCondition x >= 0"),
    ],
)
def test_classes_that_are_none_are_refused(call: Callable[[], Any], text: str) -> None:
    refused(call, text)


def test_ranks_count_what_is_not_as_good_as_zero() -> None:
    matrices = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
    assert [2, 1] == tf.linalg.matrix_rank(matrices).numpy().tolist()
    assert 1 == tf.linalg.matrix_rank([[1.0, 0.0], [0.0, 0.1]], tol=0.5).numpy()
    text = "Input `a` must have at least 2 dimensions (saw: 1)."
    refused(lambda: tf.linalg.matrix_rank([1.0, 2.0]), text, ValueError)


def test_what_is_accumulated_must_be_alike() -> None:
    text = "inputs must be a list of at least one Tensor with the same dtype and shape"
    refused(lambda: tf.math.accumulate_n([]), text, ValueError)
    refused(lambda: tf.math.accumulate_n([ROWS, [1.0]]), "Shapes (3, 2) and (1,) are not compatible", ValueError)
