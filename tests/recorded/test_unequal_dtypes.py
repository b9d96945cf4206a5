"""Operands of two dtypes, in eager code, functions and sessions, beside what TensorFlow answers."""

from __future__ import annotations

import json

import pytest

import nbtf as tf
from tests.recorded.unequal_dtypes import FILE, PAIRS, WAYS, agree, answers

EXPECTED: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("way", WAYS)
def test_unequal_dtypes_fail_with_the_class_and_the_words_of_tensorflow(way: str) -> None:
    given = answers(tf, [way], PAIRS[::2])

    assert {} == {key: (EXPECTED[key], text) for key, text in given.items() if not agree(EXPECTED[key], text)}
