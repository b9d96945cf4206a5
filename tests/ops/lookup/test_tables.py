"""Do tables find what they contain, in every way they are filled, and refuse what does not fit?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from tests.ops.refusals import refused

lookup: Any = tf.lookup
LINE, NUMBER = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER


def words(*texts: str, **options: Any) -> Any:
    return lookup.KeyValueTensorInitializer(list(texts), tf.range(len(texts), dtype=tf.int64), **options)


def counts() -> Any:
    return lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_table_that_changes_is_a_dictionary(seed: int) -> None:
    random, known, table = np.random.default_rng(seed), dict[int, int](), None
    table = lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    for _ in range(20):
        keys, values = random.integers(0, 30, (2, random.integers(0, 5)))
        if random.random() < 0.3:
            table.remove(keys)
            known = {key: value for key, value in known.items() if key not in keys.tolist()}
        else:
            table.insert(keys, values)
            known |= dict(zip(keys.tolist(), values.tolist(), strict=True))
        asked = random.integers(0, 30, (2, 3))

        assert table.lookup(asked).numpy().tolist() == [[known.get(key, -1) for key in row] for row in asked.tolist()]
        assert table.size().numpy() == len(known)
        exported = (tensor.numpy().tolist() for tensor in table.export())
        assert dict(zip(*exported, strict=True)) == known


def test_a_function_counts_words() -> None:
    table = counts()

    @tf.function
    def count(texts: Any) -> Any:
        for text in texts:
            table.insert(text, table.lookup(text) + 1)
        return table.size()

    assert count(tf.constant(["a", "b", "a"])).numpy() == 2
    assert count(tf.constant(["c", "b", "a"])).numpy() == 3
    assert table.lookup(tf.constant(["a", "b", "c", "d"])).numpy().tolist() == [3, 2, 1, 0]


def test_a_table_is_found_in_functions_datasets_and_composites() -> None:
    table = lookup.StaticHashTable(words("a", "b"), -1)

    assert list(tf.data.Dataset.from_tensor_slices(["b", "c"]).map(table.lookup).as_numpy_iterator()) == [1, -1]
    assert table.lookup(tf.ragged.constant([["a"], ["b", "c"]])).to_list() == [[0], [1, -1]]
    assert table[tf.sparse.from_dense([["", "b"]])].values.numpy().tolist() == [1]
    assert tf.function(lambda: lookup.StaticHashTable(words("a"), -1).lookup(tf.constant("a")))().numpy() == 0


def test_values_may_be_vectors() -> None:
    table = lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.5])
    table.insert(tf.constant([7], tf.int64), [[1.0, 2.0]])

    assert table.lookup(tf.constant([7, 8], tf.int64)).numpy().tolist() == [[1.0, 2.0], [0.0, 0.5]]
    assert [tensor.shape for tensor in table.export()] == [(1,), (1, 2)]


@pytest.mark.parametrize(
    ("columns", "keys", "expected"),
    [
        ((tf.string, LINE, tf.int64, NUMBER, -1), ["b 5", "b"], [1, -1]),
        ((tf.int64, NUMBER, tf.string, LINE, "?"), [1, 9], [b"b 5", b"?"]),
        ((tf.string, 0, tf.int64, 1, -1), ["b", "z"], [5, -1]),
        ((tf.int64, 1, tf.string, 0, "?"), [4, 6], [b"a", b"?"]),
    ],
)
def test_a_file_fills_a_table(columns: Any, keys: Any, expected: Any, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a 4\nb 5\n")
    *indices, default = columns
    initializer = lookup.TextFileInitializer(str(tmp_path / "words.txt"), *indices, delimiter=" ")

    table = lookup.StaticHashTable(initializer, default)

    assert table.lookup(tf.constant(keys, columns[0])).numpy().tolist() == expected


def test_other_words_share_buckets() -> None:
    table = lookup.StaticVocabularyTable(words("a", "b"), 3)

    assert table.lookup(tf.constant(["a", "zz", "q", "hello"])).numpy().tolist() == [0, 3, 4, 3]
    assert table.size().numpy() == 5
    only_buckets = lookup.StaticVocabularyTable(None, 4, lookup_key_dtype=tf.int32)
    assert set(only_buckets.lookup(tf.range(50)).numpy().tolist()) == {0, 1, 2, 3}


def test_the_fingerprint_is_that_of_farmhash() -> None:
    """Lengths on both sides of each boundary of the algorithm; recorded from TensorFlow 2.21."""
    texts = [b"x" * n for n in (0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 128, 129, 200)]

    found = tf.strings.to_hash_bucket_fast(texts, 2**62 - 1).numpy().tolist()

    assert found == FINGERPRINTS


FINGERPRINTS = [
    1936946117179621457,
    107802420385376261,
    3091163115821544028,
    1720235418723337393,
    1227340135899025970,
    416454844068956801,
    3320895591121647644,
    2082709914559524775,
    3678204687145032711,
    3046993373088323129,
    2304502108871267257,
    323337772074164026,
    1256696753479420952,
    3958089325734133433,
    103930210689786818,
]


@pytest.mark.parametrize(
    ("call", "text", "error"),
    [
        (
            lambda: lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1),
            "HashTable has different value for same key. Key a has 1 and trying to add value 2",
            tf.errors.FailedPreconditionError,
        ),
        (
            lambda: lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1]), -1),
            "Expected shape [2] for value, got [1]",
            tf.errors.InvalidArgumentError,
        ),
        (lambda: counts().lookup(tf.constant([1])), "Dtype of argument `keys` must be <dtype: 'string'>", TypeError),
        (lambda: counts().remove(tf.constant([1])), "Dtype of argument `keys` must be <dtype: 'string'>", TypeError),
        (
            lambda: counts().insert(tf.constant(["x", "y"]), tf.constant([5], tf.int64)),
            "Expected shape [2] for value, got [1]",
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: counts().lookup(tf.constant(["x"]), tf.constant([1, 2], tf.int64)),
            "Expected shape [] or [1] for default value, got [2]",
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: lookup.experimental.MutableHashTable(tf.float32, tf.int64, 0),
            "Could not find device for node",
            tf.errors.NotFoundError,
        ),
        (
            lambda: lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -1),
            "Empty and deleted keys must be different",
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda: lookup.experimental.DenseHashTable(tf.int64, tf.int64, 0, -1, -2).lookup(
                tf.constant([-2], tf.int64)
            ),
            "Using the deleted_key as a table key is not allowed",
            tf.errors.InvalidArgumentError,
        ),
        (lambda: lookup.StaticVocabularyTable(words("a"), 0), "`num_oov_buckets` must be > 0", ValueError),
        (
            lambda: lookup.StaticHashTable(
                lookup.TextFileInitializer("/none.txt", tf.string, LINE, tf.int64, NUMBER), 0
            ),
            "/none.txt; No such file or directory",
            tf.errors.NotFoundError,
        ),
        (
            lambda: lookup.TextFileInitializer("a.txt", tf.string, NUMBER, tf.int64, NUMBER),
            "`key_dtype` must be int64 if `key_index` is -1",
            ValueError,
        ),
        (
            lambda: tf.strings.to_hash_bucket_fast(["a"], 0),
            "Value for attr 'num_buckets' of 0 must be at least minimum 1",
            tf.errors.InvalidArgumentError,
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str, error: Any) -> None:
    refused(call, text, error)
