"""Are categories crossed as in TensorFlow? The hashes were recorded from TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError
from tests.ops.refusals import refused

NUMBERS, LETTERS = [[1, 2], [3, 4]], [["x"], ["y"]]


def crossed(inputs: Callable[[], list[Any]], *arguments: Any) -> tuple[list[Any], list[int], list[int]]:
    result = tf.sparse.cross_hashed(inputs(), *arguments)
    return result.indices.numpy().tolist(), result.values.numpy().tolist(), result.dense_shape.numpy().tolist()


ALL_PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]]
OF_NUMBERS = [5199413699614396413, 5167850198417433268, 1424184489956106035, 7063646998832180613]
OF_BOTH = [854275097015501859, 508490610932277762, 7264420386008829588, 8854913971711769294]


@pytest.mark.parametrize(
    ("inputs", "arguments", "places", "hashes", "shape"),
    [
        (lambda: [tf.constant(NUMBERS, tf.int64)], (), ALL_PLACES, OF_NUMBERS, [2, 2]),
        (lambda: [tf.constant(NUMBERS), tf.constant(LETTERS)], (), ALL_PLACES, OF_BOTH, [2, 2]),
        (lambda: [tf.constant([[1.0]])], (), [[0, 0]], OF_NUMBERS[:1], [1, 1]),
        (lambda: [tf.constant([["a"]])], (100,), [[0, 0]], [15], [1, 1]),
        (lambda: [tf.constant([["a"]]), tf.constant([["b"]])], (100, 7), [[0, 0]], [94], [1, 1]),
        (
            lambda: [tf.constant([["a"]]), tf.constant([["b"]]), tf.constant([[5]])],
            (),
            [[0, 0]],
            [1006730651597039337],
            [1, 1],
        ),
        (
            lambda: [tf.constant([["x", "y"], ["z", "w"]]), tf.sparse.from_dense([["a", ""], ["", "b"]])],
            (1000,),
            ALL_PLACES,
            [892, 747, 460, 790],  # sparse inputs come first
            [2, 2],
        ),
        (lambda: [], (), [], [], [0, 0]),
    ],
)
def test_hashes_are_tensorflows(inputs: Any, arguments: Any, places: Any, hashes: Any, shape: Any) -> None:
    assert (places, hashes, shape) == crossed(inputs, *arguments)


@pytest.mark.parametrize(
    ("call", "text", "error"),
    [
        (lambda: tf.sparse.cross_hashed([LETTERS]), "All inputs must be SparseTensors", TypeError),
        (lambda: tf.sparse.cross_hashed([tf.ragged.constant([[1], []])]), "All inputs must be", TypeError),
        (lambda: tf.sparse.cross_hashed(tf.constant(LETTERS)), "Inputs must be a list", TypeError),
        (
            lambda: tf.sparse.cross_hashed([tf.constant([1])]),
            "Dense inputs should be a matrix but received shape [1] at position 0",
            InvalidArgumentError,
        ),
        (
            lambda: tf.sparse.cross_hashed([tf.constant([[1]]), tf.constant(NUMBERS)]),
            "Expected batch size 1 got 2 at dense tensor 1",
            InvalidArgumentError,
        ),
        (
            lambda: tf.sparse.cross_hashed([tf.constant([[1]])], -3),
            "Value for attr 'num_buckets' of -3 must be at least minimum 0",
            InvalidArgumentError,
        ),
    ],
)
def test_what_tensorflow_refuses_is_refused(call: Callable[[], Any], text: str, error: type[Exception]) -> None:
    refused(call, text, error)
