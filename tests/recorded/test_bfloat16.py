"""Does every sample with floats answer in bfloat16 as TensorFlow 2.21 did on a CPU?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.recorded.bfloat16 import FILE, answer, cases, units_apart

pytest.importorskip("ml_dtypes")

RECORDED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

UNITS = {
    "Elu nn.elu 1": 1.0,
    "Prod reduce_prod 2": 1.0,
    "Selu nn.selu 1": 1.0,
    "Sigmoid nn.silu 1": 1.0,
    "Sigmoid nn.silu 2": 1.0,
    "Sigmoid sigmoid 1": 1.0,
    "Softplus math.softplus 1": 3.0,
}
"""Units of the last place that TensorFlow's answer is away from the rounded exact one, since it rounds in between.

Its softplus gives back what is above 2.9.
"""

NOT_MET = {
    "ArgMin argmin 1": "int16 for the result is accepted",
    "InTopKV2 math.in_top_k 1": "another class of error",
    "InTopKV2 math.in_top_k 2": "another class of error",
    "ScaleAndTranslate image.resize 5": "float32; TensorFlow's weights of this filter are less exact",
}
"""Calls that differ, and why: they do so in float16, too."""


def differing() -> Iterator[tuple[str, Any, Any]]:
    """Yields each call that differs by more than is said."""
    for name, path, sample in cases():
        if name in RECORDED and name not in NOT_MET:
            came = answer(tf, path, sample)
            if units_apart(RECORDED[name], came) > UNITS.get(name, 0):
                yield name, RECORDED[name], came


def test_samples_answer_as_recorded() -> None:
    assert [] == list(differing())


def test_the_table_holds_enough() -> None:
    answered = [name for name, results in RECORDED.items() if not isinstance(results[0], str)]

    assert len(RECORDED) > 330
    assert len(answered) > 280
