"""Other people's objects as operands: what they say of themselves counts, and not what nbtf's own objects have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf


class Foreign:
    """An array of someone else's that has, by chance, attributes with nbtf's names."""

    _dtype: Any = tf.float64
    _shape = 7
    _device = "somewhere"
    dtype: Any = tf.int32

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([1.0, 4.0], np.float32)


class WithText(Foreign):
    _dtype = "nonsense"
    dtype = "nonsense"


class Convertible:
    """An object with TensorFlow's protocol."""

    _dtype = tf.int32

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tf.constant([1.0, 4.0])


class ConvertibleWithDtype(Convertible):
    dtype, shape = tf.float32, (2,)


def twos() -> Any:
    return tf.constant([2.0, 2.0])


CALLS: dict[str, Callable[[Any], Any]] = {
    "sqrt": tf.sqrt,
    "sum": tf.reduce_sum,
    "shape": tf.shape,
    "rank": tf.rank,
    "zeros_like": tf.zeros_like,
    "identity": tf.identity,
    "reshape": lambda value: tf.reshape(value, [2, 1]),
    "gather": lambda value: tf.gather(value, [1]),
    "transpose": tf.transpose,
    "cast": lambda value: tf.cast(value, tf.int32),
    "add": lambda value: tf.add(value, twos()),
    "add second": lambda value: tf.add(twos(), value),
    "+": lambda value: twos() + value,
    "concat": lambda value: tf.concat([value, twos()], 0),
    "stack": lambda value: tf.stack([twos(), value]),
    "where": lambda value: tf.where([True, False], value, twos()),
    "variable": tf.Variable,
    "matmul": lambda value: tf.tensordot(twos(), value, 1),
    "dataset": lambda value: next(iter(tf.data.Dataset.from_tensors(value))),
    "function": lambda value: tf.function(tf.sqrt)(tf.convert_to_tensor(value)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [Foreign, WithText, Convertible, ConvertibleWithDtype])
def test_private_attributes_of_other_peoples_objects_are_not_read(call: str, kind: type[Any]) -> None:
    expected = CALLS[call](tf.constant([1.0, 4.0]))
    actual = CALLS[call](kind())

    assert expected.dtype == actual.dtype
    assert expected.numpy().tolist() == actual.numpy().tolist()


@pytest.mark.parametrize("kind", [Foreign, WithText, Convertible, ConvertibleWithDtype])
def test_what_can_become_a_tensor_is_none_yet(kind: type[Any]) -> None:
    assert not tf.is_tensor(kind())


def test_tensors_of_all_kinds_are_tensors() -> None:
    with tf.Graph().as_default():
        symbolic = [
            tf.compat.v1.placeholder(tf.float32),
            tf.compat.v1.Variable(1.0, use_resource=False),
            tf.Variable(1.0),
        ]
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        mirrored = tf.Variable(1.0)
    rows = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    others = [mirrored, tf.Variable(1.0), tf.sparse.from_dense([1]), tf.ragged.constant([[1]]), rows]

    assert all(tf.is_tensor(value) for value in [tf.constant(1), *symbolic, *others])
    assert not any(tf.is_tensor(value) for value in [1, "a", None, np.array(1), tf.TensorShape([1]), tf.Tensor])
