"""Are values and slopes at kinks, complex gradients, string ops and NumPy's functions those of TensorFlow 2.21?

`expressions.py` makes the expressions and says how `expressions.json` was recorded.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from tests.recorded.expressions import SECTIONS, answer, differs, names

FOLDER = Path(__file__).parent
RECORDED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expressions.json").read_text())
NOT_MET: dict[str, list[str]] = tomllib.loads((FOLDER / "expressions_not_met.toml").read_text())
"""Why answers differ, and which."""


@pytest.mark.parametrize("section", sorted(SECTIONS))
@pytest.mark.filterwarnings("ignore")
def test_answers_are_those_of_tensorflow(section: str) -> None:
    rows, space = RECORDED[section], names(tf)
    differing = {code for code, expected in rows.items() if differs(expected, answer(code, space))}

    assert differing == {code for codes in NOT_MET.values() for code in codes if code in rows}


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_what_was_recorded_is_what_is_asked(section: str) -> None:
    asked = set(SECTIONS[section]())

    assert RECORDED[section].keys() <= asked
    assert len(RECORDED[section]) > 0.7 * len(asked)  # where TensorFlow fails inside, nothing was recorded


@pytest.mark.parametrize(
    ("expected", "actual", "is_different"),
    [
        (["float32", [1], [1.0]], ["float32", [1], [1.0000001]], False),
        (["float32", [1], [1.0]], ["float32", [1], [1.001]], True),
        (["float32", [1], [1.0]], ["float64", [1], [1.0]], True),
        (["string", [], ["a"]], ["string", [], ["b"]], True),
        ([["float32", [], [0.0]], None], [["float32", [], [0.0]], ["float32", [], [0.0]]], True),
        ({"error": "ValueError"}, ["float32", [], [0.0]], True),
        ({"error": "ValueError"}, {"error": "TypeError"}, False),
        ({"ragged": [["a"], []]}, {"ragged": [["a"]]}, True),
    ],
)
def test_answers_are_told_apart(expected: Any, actual: Any, is_different: bool) -> None:
    assert is_different == differs(expected, actual)
