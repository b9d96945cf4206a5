"""N-grams are the windows of padded rows, of each width in turn, and errors are TensorFlow's."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import nbtf as tf

ROWS = [["a", "b"], [], ["c"], ["d", "e", "f", "g"]]


def windows(row: list[str], widths: list[int], pads: Any, most: int | None, keeps: bool) -> list[bytes]:
    found: list[str] = []
    left, right = pads or ("", "")
    for width in widths:
        count = 0 if pads is None else width - 1 if most is None else min(most, width - 1)
        padded = [*[left] * count, *row, *[right] * count]
        found += ["-".join(padded[start : start + width]) for start in range(len(padded) - width + 1)]
    if keeps and row and not found:
        found = ["-".join([*[left] * (most or 0), *row, *[right] * (most or 0)])]
    return [text.encode() for text in found]


@pytest.mark.parametrize(
    ("widths", "pads", "most", "keeps"),
    [
        case
        for case in product([[1], [2], [3], [2, 1], [5, 2]], [None, ("<", ">")], [None, 1, 3], [False, True])
        if case[1] or case[2] is None
    ],
)
def test_n_grams_are_windows(widths: list[int], pads: Any, most: int | None, keeps: bool) -> None:
    expected = [windows(row, widths, pads, most, keeps) for row in ROWS]
    options: Any = {"pad_values": pads, "padding_width": most, "preserve_short_sequences": keeps}

    ragged = tf.strings.ngrams(tf.ragged.constant(ROWS, tf.string), widths, "-", **options)
    nested = tf.strings.ngrams(tf.ragged.constant([ROWS[:1], ROWS[1:]], tf.string), widths, "-", **options)
    vector = tf.strings.ngrams(ROWS[3], widths, "-", **options)
    matrix = tf.strings.ngrams([ROWS[3], ROWS[3]], widths, "-", **options)

    assert ragged.to_list() == expected
    assert nested.to_list() == [expected[:1], expected[1:]]
    assert vector.numpy().tolist() == expected[3]
    assert matrix.numpy().tolist() == [expected[3]] * 2


def test_a_traced_function_gives_n_grams_of_rows_of_any_length() -> None:
    traced = tf.function(
        lambda texts: tf.strings.ngrams(texts, 2), input_signature=[tf.TensorSpec([None, None], tf.string)]
    )

    assert traced([["a", "b", "c"]]).numpy().tolist() == [[b"a b", b"b c"]]
    assert traced([["a"], ["b"]]).numpy().tolist() == [[], []]


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match="rank>0"):
        tf.strings.ngrams("a", 2)
    for width in (0, [2, -1]):
        with pytest.raises(ValueError, match="must be greater than 0"):
            tf.strings.ngrams(["a"], width)
    with pytest.raises(TypeError, match="`ngram_width` must be an integer"):
        tf.strings.ngrams(["a"], 2.5)
    for pads in (1, ("<",), ("<", 1)):
        with pytest.raises(TypeError, match="`pad_values` must be a string, a pair of strings, or None"):
            tf.strings.ngrams(["a"], 2, pad_values=pads)
    with pytest.raises(ValueError, match="padding_width must be greater than 0"):
        tf.strings.ngrams(["a"], 2, pad_values="<", padding_width=0)
    with pytest.raises(ValueError, match="pad_values must be provided"):
        tf.strings.ngrams(["a"], 2, padding_width=1)
    with pytest.raises(TypeError, match="`separator` must be a string"):
        tf.strings.ngrams(["a"], 2, separator=1)  # pyright: ignore[reportArgumentType]
