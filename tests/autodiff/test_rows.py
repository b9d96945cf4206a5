"""Are gradients of what reads rows kept as rows, and added up as TensorFlow does?"""

from __future__ import annotations

import nbtf as tf


def test_gradients_of_rows_are_rows() -> None:
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(x, [0, 2, 0])

    rows = tape.gradient(y, x)
    assert isinstance(rows, tf.IndexedSlices)
    assert [0, 2, 0] == rows.indices.numpy().tolist()
    assert [[1.0, 1.0]] * 3 == rows.values.numpy().tolist()
    assert [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]] == tf.convert_to_tensor(rows).numpy().tolist()


def test_rows_add_up_to_more_rows_and_with_tensors_to_a_tensor() -> None:
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape(persistent=True) as tape:
        y, z, whole = tf.gather(x, [0, 2]), tf.gather(x, [1]), tf.reduce_sum(x)

    assert [1, 0, 2] == tape.gradient([y, z], x).indices.numpy().tolist()
    assert [[2.0, 2.0], [1.0, 1.0], [2.0, 2.0]] == tape.gradient([y, whole], x).numpy().tolist()


def test_rows_become_a_tensor_where_an_op_takes_them() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x * 2.0, [1, 1])

    assert [[0.0, 0.0], [4.0, 4.0]] == tape.gradient(y, x).numpy().tolist()


def test_rows_with_indices_of_both_types_are_joined_as_int64() -> None:
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.gather(x, [1, 0]) + tf.gather(x, tf.constant([0, 0], tf.int64))
    rows = tape.gradient(y, x)

    assert rows.indices.dtype is tf.int64
    assert rows.indices.numpy().tolist() == [1, 0, 0, 0]
