"""Gradients where a function knows no lengths: a share of `python -m tests.graph.open_gradients`."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from tests.graph.open_gradients import gradients_of, judged, verdicts, ways_of
from tests.ops.samples import all_samples

SHARES = 40


def test_gradients_are_right_where_no_length_is_known() -> None:
    found = dict(verdicts(all_samples()[::SHARES]))

    assert len(found) > 50
    assert [] == [f"{name}: {verdict}" for name, verdict in found.items() if not verdict.startswith("right")]


FUNCTIONS: dict[str, Any] = {
    "mean": lambda x: tf.reduce_mean(x * x),
    "sum": lambda x: tf.reduce_sum(x, 0),
    "pieces": lambda x: tf.concat([x, x * 2], 0)[1:],
    "own length": lambda x: x * tf.cast(tf.shape(x)[0], tf.float32),
    "reshaped": lambda x: tf.reshape(tf.tile(x, [2, 1]), [-1, 1]) * x[:1, :1],
    "softmax": lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x),
    "broadcast": lambda x: x * tf.reduce_max(x, 0, keepdims=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_common_functions_are_traced_with_their_gradients(name: str) -> None:
    x = tf.constant([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])
    expected = gradients_of(FUNCTIONS[name], [x])

    for way, take in ways_of(FUNCTIONS[name], [x], knows_rank=True).items():
        assert (way, "right") == (way, judged(take, expected))


def test_operands_that_broadcast_when_run_have_gradients_of_their_own_lengths() -> None:
    spec = tf.TensorSpec([None])

    @tf.function(input_signature=[spec, spec])
    def slopes(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = x * y
        return tape.gradient(z, [x, y])

    for x, y in (([2.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [2.0]), ([1.0, 2.0], [3.0, 4.0])):
        assert [len(x), len(y)] == [len(slope) for slope in slopes(x, y)]
        assert sum(y) == pytest.approx(sum(slopes(x, y)[0].numpy()) * (1 if len(x) <= len(y) else len(y) / len(x)))


def test_specs_that_are_left_belong_to_the_starred_parameter() -> None:
    spec = tf.TensorSpec([None])
    total = tf.function(lambda first, *others: first + tf.add_n(others), input_signature=[spec, spec, spec])

    assert [6.0] == total([1.0], [2.0], [3.0]).numpy().tolist()
    with pytest.raises(TypeError, match=r"^Binding inputs to tf.function failed"):
        total([1.0], [2.0])
