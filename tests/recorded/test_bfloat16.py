"""Does every sample with floats answer in bfloat16 as TensorFlow 2.21 did on a CPU?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._runtime.context import Context, use_context
from tests.recorded.bfloat16 import FILE, answer, cases, units_apart

pytest.importorskip("ml_dtypes")

RECORDED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

UNITS = {
    "AvgPool nn.avg_pool2d 2": 1.0,
    "Elu nn.elu 1": 1.0,
    "Log1p nn.sigmoid_cross_entropy_with_logits 1": 4.0,
    "Prod reduce_prod 2": 2.0,
    "Rsqrt nn.batch_normalization 2": 1.0,
    "Selu nn.selu 1": 8.0,
    "Sigmoid nn.silu 1": 1.0,
    "Sigmoid nn.silu 2": 2.0,
    "Sigmoid sigmoid 1": 1.0,
    "SoftmaxCrossEntropyWithLogits nn.softmax_cross_entropy_with_logits 1": 6.0,
    "SoftmaxCrossEntropyWithLogits nn.softmax_cross_entropy_with_logits 2": 4.0,
    "Softplus math.softplus 1": 3.0,
    "Tanh nn.gelu 2": 2.0,
}
"""Units of the last place between TensorFlow's answer, which it rounds between the steps, and ours.

More than 1 are those of gradients that subtract what is almost equal, and of softplus, which gives back what is above
2.9.
"""

NOT_MET = {
    "ArgMin argmin 1": "int16 for the result is accepted",
    "InTopKV2 math.in_top_k 1": "another class of error",
    "InTopKV2 math.in_top_k 2": "another class of error",
    "ScaleAndTranslate image.resize 5": "float32; TensorFlow's weights of this filter are less exact",
    "Transpose transpose 2": "its gradient, which TensorFlow refuses for this permutation",
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


def test_functions_answer_the_same() -> None:
    for name, path, sample in cases():
        answered = answer(tf, path, sample)
        if path != "Variable" and not isinstance(answered[0], str):
            assert (name, answered) == (name, answer(tf, path, sample, tf.function))


def test_a_simulated_gpu_answers_the_same() -> None:
    for name, path, sample in cases():
        on_cpu = answer(tf, path, sample)
        with use_context(Context(simulated_machine(1, "Tesla K20m"), environ={})):
            assert (name, on_cpu) == (name, answer(tf, path, sample))


def test_the_table_holds_enough() -> None:
    answered = [name for name, results in RECORDED.items() if not isinstance(results[0], str)]

    assert len(RECORDED) > 330
    assert len(answered) > 280
