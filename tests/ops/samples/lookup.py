"""Samples of lookup tables, and of the hashes of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Made, Sample

WORDS = np.array([b"a", b"b"], object)
ASKED = np.array([[b"b", b"c"], [b"a", b"b"]], object)
NUMBERS = np.array([1, 2], np.int64)


def initializer() -> Any:
    return tf.lookup.KeyValueTensorInitializer(WORDS, NUMBERS)


def table() -> Any:
    return tf.lookup.StaticHashTable(initializer(), -1)


def open_table() -> Any:
    made = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    made.insert(WORDS, NUMBERS)
    return made


SAMPLES = [
    Sample("LookupTableFindV2", tf.lookup.StaticHashTable.lookup, [Made(table), ASKED], np.array([[2, -1], [1, 2]])),
    Sample("LookupTableSizeV2", tf.lookup.StaticHashTable.size, [Made(table)], 2),
    Sample("LookupTableExportV2", tf.lookup.StaticHashTable.export, [Made(table)], [WORDS, NUMBERS]),
    Sample("LookupTableImportV2", tf.lookup.KeyValueTensorInitializer.initialize, [Made(initializer), Made(table)]),
    Sample("LookupTableInsertV2", tf.lookup.experimental.MutableHashTable.insert, [Made(open_table), WORDS, NUMBERS]),
    Sample("LookupTableRemoveV2", tf.lookup.experimental.MutableHashTable.remove, [Made(open_table), WORDS]),
    Sample("StringToHashBucketFast", tf.strings.to_hash_bucket_fast, [WORDS, 1000], np.array([939, 822])),
    Sample(
        "StringToHashBucketStrong",
        tf.strings.to_hash_bucket_strong,
        [np.array([b"a", b"bcd", b"hello world"], object), 1000, [1, 2]],
        np.array([646, 189, 446]),
    ),
]
