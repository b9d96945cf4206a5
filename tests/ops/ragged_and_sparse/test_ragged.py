"""Do ragged tensors keep rows of different lengths?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

ROWS = [[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]]
DEEP = [[[1, 2], [3]], [], [[4]]]


def ragged(rows: Any = ROWS) -> Any:
    return tf.ragged.constant(rows)


def lists(value: Any) -> Any:
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


# Making


@pytest.mark.parametrize(
    ("rows", "text", "shape"),
    [
        (ROWS, "[[0, 1, 2, 3], [4, 5], [6, 7, 8], [9]]", [4, None]),
        (DEEP, "[[[1, 2], [3]], [], [[4]]]", [3, None, None]),
        ([["a", "b"], ["c"]], "[[b'a', b'b'], [b'c']]", [2, None]),
        ([[1, 2.5]], "[[1.0, 2.5]]", [1, None]),
        ([[1.0], [2.0]], "[[1.0],\n [2.0]]", [2, None]),
        ([[True], []], "[[True], []]", [2, None]),
        ([[], []], "[[], []]", [2, None]),
        ([np.array([1, 2]), np.array([3])], "[[1, 2], [3]]", [2, None]),
    ],
)
def test_nested_lists_become_rows(rows: Any, text: str, shape: list[int | None]) -> None:
    made = ragged(rows)

    assert (f"<tf.RaggedTensor {text}>", shape) == (repr(made), made.shape.as_list())


@pytest.mark.parametrize("value", [[1, 2], 3, []])
def test_what_cannot_be_ragged_becomes_a_tensor(value: Any) -> None:
    made = ragged(value)

    assert isinstance(made, tf.Tensor)
    assert value == made.numpy().tolist()


@pytest.mark.parametrize("rows", [[[1], 2], [[1], [[2]]], [[1], [[]]]])
def test_elements_nested_differently_deep_are_refused(rows: Any) -> None:
    with pytest.raises(ValueError, match="all scalar values must have the same nesting depth"):
        ragged(rows)


@pytest.mark.parametrize("how", [{"ragged_rank": 1}, {"inner_shape": (2,)}])
def test_inner_axes_need_not_be_ragged(how: dict[str, Any]) -> None:
    made = tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], **how)

    assert ([3, None, 2], "[[[1, 2],\n  [3, 4]], [], [[5, 6]]]") == (made.shape.as_list(), repr(made)[17:-1])


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        ("from_row_splits", [[0, 2, 2, 3]]),
        ("from_row_lengths", [[2, 0, 1]]),
        ("from_row_starts", [[0, 2, 2]]),
        ("from_row_limits", [[2, 2, 3]]),
        ("from_value_rowids", [[0, 0, 2]]),
    ],
)
def test_rows_are_said_in_many_ways(make: str, arguments: list[Any]) -> None:
    assert [[1, 2], [], [3]] == getattr(tf.RaggedTensor, make)([1, 2, 3], *arguments).to_list()


def test_rows_at_the_end_may_be_empty() -> None:
    assert [[1], []] == tf.RaggedTensor.from_value_rowids([1], [0], nrows=2).to_list()


def test_matrix_becomes_rows() -> None:
    matrix = [[1, 0], [3, 4]]

    assert [2, 2] == tf.RaggedTensor.from_tensor(matrix).shape.as_list()
    assert [[1], [3, 4]] == tf.RaggedTensor.from_tensor(matrix, padding=0).to_list()
    assert [[1], [3, 4]] == tf.RaggedTensor.from_tensor(matrix, lengths=[1, 2]).to_list()
    with pytest.raises(ValueError, match="Specify argument `lengths` or `padding`, but not both"):
        tf.RaggedTensor.from_tensor(matrix, lengths=[1, 2], padding=0)


@pytest.mark.parametrize(
    ("splits", "text"),
    [
        ([1, 2, 3], "RaggedTensor:zero\nCondition x == y did not hold.\nFirst 1 elements of x:\n[1]\n"),
        ([0, 2, 1], "RaggedTensor:monotonic"),
        (
            [0, 2, 4],
            "RaggedTensor\nCondition x == y did not hold.\nFirst 1 elements of x:\n[4]\nFirst 1 elements of y:",
        ),
    ],
)
def test_splits_that_do_not_fit_are_refused(splits: list[int], text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.RaggedTensor.from_row_splits([1, 2, 3], splits)

    assert text in str(caught.value)


# What it is


def test_parts_of_a_ragged_tensor() -> None:
    r = ragged(DEEP)

    assert (2, 3, tf.int32) == (r.ragged_rank, len(r), r.dtype)
    assert [1, 2, 3, 4] == lists(r.flat_values)
    assert [[1, 2], [3], [4]] == lists(r.values)
    assert [[0, 2, 2, 3], [0, 2, 3, 4]] == [lists(splits) for splits in r.nested_row_splits]
    assert [[2, 0, 1], [2, 1, 1]] == [lists(lengths) for lengths in r.nested_row_lengths()]
    assert ([0, 2, 2], [2, 2, 3], [0, 0, 2], 3) == (
        lists(r.row_starts()),
        lists(r.row_limits()),
        lists(r.value_rowids()),
        lists(r.nrows()),
    )
    assert ([3, 2, 2], 2) == (lists(r.bounding_shape()), lists(r.bounding_shape(axis=1)))


@pytest.mark.parametrize(
    ("rows", "how", "expected"),
    [
        ([[1, 2], [], [3]], {}, [[1, 2], [0, 0], [3, 0]]),
        ([[1, 2], [3]], {"default_value": -1}, [[1, 2], [3, -1]]),
        ([[1, 2], [3]], {"shape": [None, 3]}, [[1, 2, 0], [3, 0, 0]]),
        ([[1, 2], [3]], {"shape": [1, 1]}, [[1]]),
        ([["a"], ["b", "c"]], {}, [[b"a", b""], [b"b", b"c"]]),
        (DEEP, {}, [[[1, 2], [3, 0]], [[0, 0], [0, 0]], [[4, 0], [0, 0]]]),
    ],
)
def test_short_rows_are_filled_up(rows: Any, how: dict[str, Any], expected: Any) -> None:
    assert expected == lists(ragged(rows).to_tensor(**how))


def test_array_of_rows_is_ordinary_where_they_have_one_length() -> None:
    assert (2, 2) == ragged([[1, 2], [3, 4]]).numpy().shape
    assert [[1, 2], [3]] == [row.tolist() for row in ragged([[1, 2], [3]]).numpy()]


def test_long_rows_are_summarized() -> None:
    assert "<tf.RaggedTensor [[0, 1, 2, ..., 1997, 1998, 1999], [1]]>" == repr(ragged([list(range(2000)), [1]]))


# Use in Python


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (0, [0, 1, 2, 3]),
        (-1, [9]),
        ((0, 2), 2),
        (slice(1, None), [[4, 5], [6, 7, 8], [9]]),
        (slice(3, 1), []),
        (slice(None, None, -2), [[9], [4, 5]]),
        ((slice(None), slice(1, None)), [[1, 2, 3], [5], [7, 8], []]),
        ((slice(0, 2), slice(None, -1)), [[0, 1, 2], [4]]),
        ((0, slice(1, 3)), [1, 2]),
    ],
)
def test_rows_are_indexed(key: Any, expected: Any) -> None:
    assert expected == lists(ragged()[key])


@pytest.mark.parametrize(
    ("key", "kind", "text"),
    [
        (4, IndexError, "Row key 4 out of bounds"),
        ((slice(None), 0), ValueError, "Cannot index into an inner ragged dimension."),
        ((0, 9), tf.errors.InvalidArgumentError, "slice index 9 of dimension 0 out of bounds"),
        (None, tf.errors.UnimplementedError, "A ragged tensor can be indexed only with integers and slices"),
    ],
)
def test_rows_outside_are_refused(key: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        ragged()[key]


def test_deep_rows_are_ragged() -> None:
    assert [[1, 2], [3]] == lists(ragged(DEEP)[0])
    assert [[[1, 2]], [], [[4]]] == lists(ragged(DEEP)[:, :1])
    assert ROWS == [lists(row) for row in ragged()]


def test_operators_keep_the_rows() -> None:
    r = ragged([[1.0, 2.0], [3.0]])

    assert [[2.0, 3.0], [4.0]] == lists(1 + r)
    assert [[1.0, 4.0], [9.0]] == lists(r * r)
    assert [[False, True], [True]] == lists(r > 1.0)
    assert [[-1.0, -2.0], [-3.0]] == lists(-r)
    with pytest.raises(tf.errors.InvalidArgumentError, match="have the same row splits"):
        _ = r + ragged([[1.0], [2.0, 3.0]])


def test_functions_are_applied_to_the_values() -> None:
    assert [[1, 2], [3]] == lists(tf.ragged.map_flat_values(tf.abs, ragged([[-1, 2], [-3]])))
    assert 2 == tf.ragged.map_flat_values(tf.abs, -2).numpy()


def test_other_ops_say_what_to_do() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"Use its \.to_tensor"):
        tf.abs(ragged())
    with pytest.raises(AttributeError, match=r"no attribute 'stack'\nAvailable: constant, map_flat_values."):
        _ = tf.ragged.stack


def test_rows_are_neither_key_nor_truth_value() -> None:
    with pytest.raises(TypeError, match="RaggedTensor is unhashable"):
        hash(ragged())
    with pytest.raises(TypeError, match="may not be used as a boolean"):
        bool(ragged())
