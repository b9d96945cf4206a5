"""Where do gradients run, and what does the log show of them?"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.events import Copied, OpPlaced
from nbtf._runtime.scopes import SCOPE
from tests.machines import machine


def heard_of(call: Any) -> list[Any]:
    """Returns what observers hear while something runs."""
    heard: list[Any] = []
    stop = tf.runtime.observe(heard.append)
    call()
    stop()
    return heard


def placed(call: Any) -> list[str]:
    """Returns types and devices of the ops that a call runs, without constants."""
    ops = [event for event in heard_of(call) if isinstance(event, OpPlaced) and event.op != "_EagerConst"]
    return [f"{event.op} {event.device[-5:]}" for event in ops]


def test_gradients_run_where_they_are_asked_for() -> None:
    with machine(2):
        with tf.device("GPU:1"):
            x = tf.Variable([3.0])
            with tf.GradientTape(persistent=True) as tape:
                y = tf.exp(x * x)

        outside = placed(lambda: tape.gradient(y, x))
        with tf.device("GPU:1"):
            inside = placed(lambda: tape.gradient(y, x))

    assert ["Fill GPU:0", "Mul GPU:0", "Mul GPU:0", "Mul GPU:0", "AddN GPU:0"] == outside
    assert ["Fill GPU:1", "Mul GPU:1", "Mul GPU:1", "Mul GPU:1", "AddN GPU:1"] == inside


def test_what_they_need_from_another_device_is_copied() -> None:
    with machine(2):
        with tf.device("GPU:1"):
            x = tf.Variable([3.0])
            with tf.GradientTape() as tape:
                y = tf.exp(x)
        copies = [event for event in heard_of(lambda: tape.gradient(y, x)) if isinstance(event, Copied)]

    assert 4 in [event.nbytes for event in copies if event.source.endswith("GPU:1")]


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        (tf.tanh, ["Fill", "TanhGrad"]),
        (tf.sigmoid, ["Fill", "SigmoidGrad"]),
        (tf.nn.relu, ["Fill", "ReluGrad"]),
        (tf.sin, ["Fill", "Cos", "Mul"]),
        (lambda x: x * x * x, ["Fill", "Mul", "Mul", "Mul", "Mul", "AddN"]),
        (lambda x: x[0], ["Fill", "StridedSliceGrad"]),
        (lambda x: x + 1.0, ["Fill"]),
    ],
)
def test_the_log_shows_what_tensorflow_runs(function: Any, ops: list[str]) -> None:
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)

    assert ops == [one.split()[0] for one in placed(lambda: tape.gradient(y, x))]


def test_a_tape_records_the_same_while_somebody_listens() -> None:
    x = tf.Variable([1.0, 2.0])

    def slope() -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.exp(x * x) / x)
        return tape.gradient(y, x)

    found: list[Any] = [slope()]
    heard_of(lambda: found.append(slope()))
    assert found[0].numpy().tolist() == found[1].numpy().tolist()


@pytest.mark.parametrize(("tapes", "lane"), [(1, True), (2, False)])
def test_the_lane_is_open_under_one_tape(tapes: int, lane: bool) -> None:
    tf.constant(1.0)
    with ExitStack() as blocks:
        for _ in range(tapes):
            blocks.enter_context(tf.GradientTape())
        scope = SCOPE()

    assert scope is not None
    assert lane == (scope.lane is not None)
