"""Samples of the ops on texts, and of those that write values."""

from __future__ import annotations

from typing import Any

import numpy as np

import nbtf as tf
from tests.ops.samples import Sample

WORDS = np.array(["Gray wolf", "Red fox"], object)
X = np.array([1.5, -2.0], np.float32)


def texts(*words: str) -> Any:
    return np.array([word.encode() for word in words], object)


SAMPLES = [
    Sample("StringLower", tf.strings.lower, [WORDS], texts("gray wolf", "red fox")),
    Sample("StringLower", tf.strings.lower, ["ÄÖ", "utf-8"], "äö".encode()),
    Sample("StringUpper", tf.strings.upper, [WORDS], texts("GRAY WOLF", "RED FOX")),
    Sample("StringUpper", tf.strings.upper, ["äö", "utf-8"], "ÄÖ".encode()),
    Sample("StringStrip", tf.strings.strip, [[" a ", "\tb"]], texts("a", "b")),
    Sample("StringLength", tf.strings.length, [WORDS], [[9, 7]]),
    Sample("StringLength", tf.strings.length, ["äö", "UTF8_CHAR"], 2),
    Sample("Substr", tf.strings.substr, [WORDS, [5, -3], 2], texts("wo", "fo")),
    Sample("Substr", tf.strings.substr, ["äöü", 1, 1, "UTF8_CHAR"], "ö".encode()),
    Sample("StringToNumber", tf.strings.to_number, [["1", "2.5"]], np.array([1.0, 2.5])),
    Sample("StringToNumber", tf.strings.to_number, [["7"], tf.int64], [[7]]),
    Sample("AsString", tf.strings.as_string, [X], texts("1.500000", "-2.000000")),
    Sample("AsString", tf.strings.as_string, [[True, False]], texts("true", "false")),
    Sample("StaticRegexReplace", tf.strings.regex_replace, [WORDS, "[aeiou]+", "-"], texts("Gr-y w-lf", "R-d f-x")),
    Sample("StaticRegexFullMatch", tf.strings.regex_full_match, [WORDS, "G.*"], [[True, False]]),
    Sample("StringJoin", tf.strings.join, [[WORDS, "!"]], texts("Gray wolf!", "Red fox!")),
    Sample("ReduceJoin", tf.strings.reduce_join, [WORDS], texts("Gray wolfRed fox")[0]),
    Sample(
        "ReduceJoin", tf.strings.reduce_join, [[["a", "b"], ["c", "d"]], 0, True, "-"], np.array([texts("a-c", "b-d")])
    ),
    Sample("StringSplitV2", tf.strings.split, ["Gray wolf"], texts("Gray", "wolf")),
    Sample("StringSplitV2", tf.strings.split, [WORDS, " "], np.array([texts("Gray", "wolf"), texts("Red", "fox")])),
    Sample("StringSplit", tf.strings.bytes_split, ["fox"], texts("f", "o", "x")),
    Sample("StringNGrams", tf.strings.ngrams, [["a", "b", "c"], 2], texts("a b", "b c")),
    Sample(
        "StringNGrams", tf.strings.ngrams, [[["a", "b"]], (1, 2), "-", "*"], [[texts("a", "b", "*-a", "a-b", "b-*")]]
    ),
    Sample("UnicodeDecode", tf.strings.unicode_decode, ["Bär", "UTF-8"], [[66, 228, 114]]),
    Sample("UnicodeDecode", tf.strings.unicode_decode, [["ä", "é"], "UTF-8"], [[[228], [233]]]),
    Sample("UnicodeEncode", tf.strings.unicode_encode, [[66, 228], "UTF-8"], "Bä".encode()),
    Sample("UnicodeEncode", tf.strings.unicode_split, ["Bä", "UTF-8"], texts("B", "ä")),
    Sample("UnicodeTranscode", tf.strings.unicode_transcode, ["ä", "UTF-8", "UTF-16-BE"], b"\x00\xe4"),
    Sample("DecodeRaw", tf.io.decode_raw, [["ab", "cd"], tf.uint8], [[[97, 98], [99, 100]]]),
    Sample("DecodeRaw", tf.io.decode_raw, ["\x01\x00", tf.int16, False], [[256]]),
    Sample("DecodePaddedRaw", tf.io.decode_raw, [["ab", "c"], tf.uint8, True, 2], [[[97, 98], [99, 0]]]),
    Sample("StringFormat", tf.strings.format, ["{} and {}", [X, 1]], b"[1.5 -2] and 1"),
    Sample("PrintV2", tf.print, [X, "and", [1]]),
    Sample("CheckNumerics", tf.debugging.check_numerics, [X, "loss"], X, differentiable=[0]),
]
