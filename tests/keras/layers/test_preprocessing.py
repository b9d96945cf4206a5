"""Do layers that prepare data give Keras' numbers?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

L = tf.keras.layers


def test_normalization_finds_mean_and_variance_of_each_feature() -> None:
    layer = L.Normalization()
    layer.adapt(np.array([[1.0, 2.0], [3.0, 6.0]]))

    assert [[-1.0, 1.0]] == layer(np.array([[1.0, 6.0]])).numpy().tolist()
    assert ["normalization/mean", "normalization/variance", "normalization/count"] == [
        one.path for one in layer.weights
    ]


def test_normalization_can_be_undone() -> None:
    there = L.Normalization(axis=None, mean=3.0, variance=4.0)
    back = L.Normalization(axis=None, mean=3.0, variance=4.0, invert=True)

    assert [1.0, 7.0] == back(there([1.0, 7.0])).numpy().tolist()


def test_normalization_learns_from_a_dataset() -> None:
    layer = L.Normalization()
    layer.adapt(tf.data.Dataset.from_tensor_slices(np.array([[0.0], [2.0], [4.0]], "float32")).batch(2))

    assert 2.0 == float(layer.mean[0, 0])


def test_mean_without_variance_is_refused() -> None:
    with pytest.raises(ValueError, match="both `mean` and `variance` must be set"):
        L.Normalization(mean=1.0)


@pytest.mark.parametrize(
    ("mode", "inputs", "expected"),
    [
        ("one_hot", [3, 0], [[0, 0, 0, 1], [1, 0, 0, 0]]),
        ("multi_hot", [[0, 1], [0, 0]], [[1, 1, 0, 0], [1, 0, 0, 0]]),
        ("count", [[0, 1], [0, 0]], [[1, 1, 0, 0], [2, 0, 0, 0]]),
    ],
)
def test_categories_become_vectors(mode: str, inputs: Any, expected: Any) -> None:
    assert expected == L.CategoryEncoding(num_tokens=4, output_mode=mode)(inputs).numpy().tolist()


def test_words_are_numbered_in_the_order_of_the_vocabulary() -> None:
    assert [1, 0, 2] == L.StringLookup(vocabulary=["a", "b"])(["a", "z", "b"]).numpy().tolist()


def test_word_that_stands_for_nothing_is_zero() -> None:
    layer = L.StringLookup(vocabulary=["a"], mask_token="", num_oov_indices=1)

    assert ([0, 1, 2], ["", "[UNK]", "a"]) == (layer(["", "z", "a"]).numpy().tolist(), layer.get_vocabulary())


def test_numbers_are_turned_back() -> None:
    layer = L.StringLookup(vocabulary=["a", "b"], invert=True)

    assert [b"[UNK]", b"a", b"b"] == layer([0, 1, 2]).numpy().tolist()


def test_vocabulary_is_found_by_frequency() -> None:
    layer = L.StringLookup()
    layer.adapt(["x", "y", "x"])

    assert ["[UNK]", "x", "y"] == layer.get_vocabulary()


def test_words_become_vectors_when_asked_for() -> None:
    layer = L.StringLookup(vocabulary=["a", "b"], output_mode="count")

    assert [[1, 2, 0]] == layer([["a", "z", "a"]]).numpy().tolist()


def test_repeated_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"The repeated terms are: \['a'\]"):
        L.StringLookup(vocabulary=["a", "a"])


def test_unknown_word_is_refused_where_no_number_is_kept_free() -> None:
    with pytest.raises(InvalidArgumentError, match="When `num_oov_indices=0` all inputs should be in vocabulary"):
        L.StringLookup(vocabulary=["a"], num_oov_indices=0)(["q"])


def test_lookup_without_vocabulary_is_refused() -> None:
    with pytest.raises(FailedPreconditionError, match="Table not initialized"):
        L.StringLookup()(["q"])


def test_lookup_stands_in_functional_models() -> None:
    words = tf.keras.Input((1,), dtype="string")
    numbers = L.StringLookup(vocabulary=["a", "b"])(words)
    model = tf.keras.Model(words, L.Embedding(3, 2)(numbers))

    assert [2, 1, 2] == model(np.array([["a"], ["z"]])).shape.as_list()
