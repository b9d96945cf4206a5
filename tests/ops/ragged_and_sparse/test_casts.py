"""Do casts and lookups of ragged and sparse tensors, and of slices of rows, keep the positions?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "bool"])
def test_casts_change_only_the_values(dtype: str) -> None:
    ragged: Any = tf.cast(tf.ragged.constant([[1, 0], [], [3]]), dtype)
    sparse: Any = tf.cast(tf.sparse.from_dense([[0, 2], [0, 0]]), dtype)
    rows: Any = tf.cast(tf.IndexedSlices(tf.constant([[1, 2]]), tf.constant([3]), tf.constant([4, 2])), dtype)

    assert {dtype} == {ragged.dtype.name, sparse.dtype.name, rows.dtype.name}
    whole: Any = tf.cast(ragged, tf.int32)
    assert [[1, 0], [], [3]] == whole.to_list() or dtype == "bool"
    assert [[0, 1]] == sparse.indices.numpy().tolist()
    assert [3] == rows.indices.numpy().tolist()
    assert [4, 2] == rows.dense_shape.numpy().tolist()


def test_rows_of_a_table_are_looked_up_for_ragged_numbers() -> None:
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = tf.nn.embedding_lookup(table, tf.ragged.constant([[2], [], [0, 1]]))

    assert [[[4.0, 5.0]], [], [[0.0, 1.0], [2.0, 3.0]]] == rows.to_list()


def test_a_shape_may_be_promised_while_a_function_is_traced() -> None:
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([2], tf.int64)])
    def trace(dense_shape: tf.Tensor) -> tf.Tensor:
        sparse = tf.SparseTensor(tf.zeros([1, 2], tf.int64), [5], dense_shape)
        sparse.set_shape([None, 3])
        shapes.append(sparse.shape.as_list())
        return sparse.values

    assert [5] == trace(tf.constant([2, 3], tf.int64)).numpy().tolist()
    assert [[None, 3]] == shapes
    with pytest.raises(ValueError, match="not compatible"):
        tf.sparse.from_dense([0, 1]).set_shape([3])
