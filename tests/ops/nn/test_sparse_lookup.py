"""Do lookups by sparse numbers combine the rows of a table as NumPy does?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf

TABLE = np.random.default_rng(5).normal(size=(6, 3))
ROWS = [[0, 2, 2], [5], [1, 4]]
WEIGHTS = [[1.0, 2.0, 0.5], [3.0], [0.25, 1.0]]


def sparse(rows: list[list[Any]], dtype: Any) -> tf.SparseTensor:
    positions = [[row, place] for row, values in enumerate(rows) for place in range(len(values))]
    values = tf.constant([value for row in rows for value in row], dtype)
    return tf.SparseTensor(np.reshape(positions, [-1, 2]), values, [len(rows), max(map(len, rows))])


def combined(row: list[int], weights: list[float], combiner: str) -> Any:
    total = sum(weight * TABLE[number] for number, weight in zip(row, weights, strict=True))
    return total / {"sum": 1, "mean": sum(weights), "sqrtn": np.sqrt(np.sum(np.square(weights)))}[combiner]


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("is_weighted", [True, False])
def test_rows_are_combined(combiner: str, is_weighted: bool) -> None:
    weights = WEIGHTS if is_weighted else [[1.0] * len(row) for row in ROWS]
    expected = [combined(row, each, combiner) for row, each in zip(ROWS, weights, strict=True)]
    given = sparse(WEIGHTS, tf.float64) if is_weighted else None
    table = tf.Variable(TABLE)
    slopes = tf.constant(np.random.default_rng(6).normal(size=(3, 3)))

    def loss() -> Any:
        return tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, sparse(ROWS, tf.int64), given, combiner) * slopes)

    for run in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            value = run()
        grad = tf.convert_to_tensor(tape.gradient(value, table)).numpy()
        np.testing.assert_allclose(np.sum(np.array(expected) * slopes.numpy()), value.numpy())
        np.testing.assert_allclose(np.sum(grad * TABLE), value.numpy())  # the loss is linear in the table
    looked_up = tf.nn.embedding_lookup_sparse(TABLE, sparse(ROWS, tf.int32), given, combiner)
    np.testing.assert_allclose(expected, looked_up.numpy())


def test_negative_numbers_and_empty_rows_are_left_out() -> None:
    ids = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0]], [3, -1, -2], [2, 2, 2])
    zero = [0.0] * 3

    result = tf.nn.safe_embedding_lookup_sparse(tf.constant(TABLE), ids)
    np.testing.assert_allclose([[TABLE[3], zero], [zero, zero]], result.numpy())
    result = tf.nn.safe_embedding_lookup_sparse(tf.constant(TABLE), ids, default_id=1)
    np.testing.assert_allclose([[TABLE[3], TABLE[1]], [TABLE[1], TABLE[1]]], result.numpy())


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda ids: tf.nn.embedding_lookup_sparse(TABLE, ids, None, combiner="max"), ValueError),
        (lambda ids: tf.nn.embedding_lookup_sparse(TABLE, [[0]], None), TypeError),
        (lambda ids: tf.nn.embedding_lookup_sparse(TABLE, ids, [[1.0]]), TypeError),
        (lambda ids: tf.nn.safe_embedding_lookup_sparse(None, ids), ValueError),
        (lambda ids: tf.nn.embedding_lookup_sparse(TABLE[:2], ids, None), tf.errors.InvalidArgumentError),
    ],
)
def test_what_does_not_fit_is_refused(function: Any, error: Any) -> None:
    with pytest.raises(error):
        function(sparse(ROWS, tf.int64))
