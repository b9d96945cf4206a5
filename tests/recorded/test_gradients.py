"""Are first and second derivatives those that TensorFlow 2.21 gave for the same expressions?

`gradients.json` holds expressions of `x` (and `y`), the values of these, and what a tape gave: the gradients of the
expression, and those of the sum of these gradients, both weighted with the cosines of 0, 1, 2, ...
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("gradients.json").read_text())

every_expression = pytest.mark.parametrize("recorded", RECORDED, ids=[one["code"] for one in RECORDED])


def weights(like: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.constant(np.cos(np.arange(like._array.size)).reshape(like.shape.as_list())), like.dtype)


def derivatives(code: str, values: list[Any]) -> tuple[list[Any], list[Any]]:
    x, *more = inputs = [tf.constant(value, tf.float64) for value in values]
    with tf.GradientTape() as outer:
        outer.watch(inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = eval(code, {"tf": tf, "x": x, "y": more[0] if more else None})
        first = tape.gradient(result, inputs, weights(result))
        total = [tf.reduce_sum(one * weights(tf.convert_to_tensor(one))) for one in first if one is not None]
    return first, outer.gradient(total, inputs) if total else [None] * len(inputs)


def numbers(gradient: Any, like: Any) -> Any:
    return np.zeros_like(like) if gradient is None else tf.convert_to_tensor(gradient).numpy()


@every_expression
def test_gradients_are_those_of_tensorflow(recorded: dict[str, Any]) -> None:
    first, _ = derivatives(recorded["code"], recorded["inputs"])

    assert [one is None for one in recorded["gradients"]] == [one is None for one in first]
    for value, expected, found in zip(recorded["inputs"], recorded["gradients"], first, strict=True):
        # 1e-6: where TensorFlow keeps a constant as float32.
        np.testing.assert_allclose(numbers(found, value), numbers(expected, value), rtol=1e-6, atol=1e-8)


@every_expression
def test_second_derivatives_are_those_of_tensorflow(recorded: dict[str, Any]) -> None:
    _, second = derivatives(recorded["code"], recorded["inputs"])

    for value, expected, found in zip(recorded["inputs"], recorded["second"] or [None] * 2, second, strict=False):
        np.testing.assert_allclose(numbers(found, value), numbers(expected, value), rtol=1e-6, atol=1e-8)


def test_the_table_holds_enough() -> None:
    assert len(RECORDED) > 120
