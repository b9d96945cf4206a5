"""Do losses, metrics, activations, regularizers and constraints compute what Keras 3 computes on TensorFlow?

The answers were recorded from Keras on TensorFlow 2.21. A case is an expression; where it gathers, a metric sees the
same batch twice, and its result is taken after each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "keras_functions.json").read_text())


def array(row: dict[str, Any]) -> Any:
    return np.array(row["value"], row["dtype"]).reshape(row["shape"])


def x(name: str) -> Any:
    return array(RECORDED["arrays"][name])


def pair(name: str) -> tuple[Any, Any]:
    labels, predictions = (array(row) for row in RECORDED["pairs"][name])
    return tf.constant(labels), tf.constant(predictions)


def gathered(metric: Any, name: str, sample_weight: Any) -> Any:
    labels, predictions = pair(name)
    metric.update_state(labels, predictions, sample_weight=sample_weight)
    first = np.array(metric.result())
    if name.startswith("sparse_"):
        return first
    metric.update_state(labels, predictions)
    return [first, np.array(metric.result())]


NAMES: dict[str, Any] = {
    "losses": tf.keras.losses,
    "metrics": tf.keras.metrics,
    "activations": tf.keras.activations,
    "regularizers": tf.keras.regularizers,
    "constraints": tf.keras.constraints,
    "x": x,
    "pair": pair,
    "gathered": gathered,
}


def differs(expected: Any, actual: Any) -> bool:
    """Tells whether an answer is another one: in type, in shape, or in a number by more than float32 can explain."""
    if isinstance(expected, dict) and expected.keys() == {"dtype", "v"}:
        return str(np.asarray(actual).dtype) != expected["dtype"] or differs(expected["v"], actual)
    if isinstance(expected, dict) or isinstance(expected, str | None):
        return expected != actual
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) != len(actual) or any(map(differs, expected, actual))
    wanted, got = np.asarray(expected, float), np.asarray(actual)
    if not wanted.size or not got.size:
        return wanted.size != got.size  # a list of nothing tells no shape
    return wanted.shape != got.shape or not np.allclose(wanted, got, rtol=3e-5, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("name", sorted(RECORDED["cases"]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_answers_are_those_of_keras(name: str) -> None:
    wrong = []
    for code, expected in RECORDED["cases"][name].items():
        actual = eval(code, dict(NAMES))
        if differs(expected, actual):
            wrong.append(f"{code}\n    expected {expected}\n    came     {actual}")

    assert not wrong, "\n".join(wrong)
