"""Does nbtf answer hostile calls where TensorFlow 2.21 answers, with the same, and refuse them where it refuses?

`hostile.json` holds calls that `tests.hostile` made, and what TensorFlow said: the class of an error, or dtype, shape
and values of the results.
"""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import nbtf as tf
from tests.hostile.answers import Answer, answers

HERE = Path(__file__).parent
RECORDED: list[dict[str, Any]] = json.loads((HERE / "hostile.json").read_text())
REASONS: dict[str, list[str]] = tomllib.loads((HERE / "hostile_not_met.toml").read_text())
"""Why calls differ, and which."""


def near(expected: Any, value: Any) -> bool:
    if isinstance(expected, list) and isinstance(value, list):
        return len(expected) == len(value) and all(map(near, expected, value))
    if isinstance(expected, float) and isinstance(value, int | float):
        both_nan = math.isnan(expected) and math.isnan(value)
        return both_nan or expected == value or math.isclose(expected, value, rel_tol=2e-3, abs_tol=1e-6)
    return expected == value


def agrees(recorded: dict[str, Any], answer: Answer) -> bool:
    if recorded["error"] or answer.error:
        return bool(recorded["error"]) == bool(answer.error)
    return near(recorded["result"], json.loads(json.dumps(answer.result)))


def differing() -> list[str]:
    heard: list[Answer] = []
    answers(tf, [recorded["call"] for recorded in RECORDED], heard.append)
    return [recorded["call"] for recorded, answer in zip(RECORDED, heard, strict=True) if not agrees(recorded, answer)]


def test_hostile_calls_are_answered_as_tensorflow_does() -> None:
    assert sorted(call for calls in REASONS.values() for call in calls) == sorted(differing())
