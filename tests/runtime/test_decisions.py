"""Ops whose decisions are remembered: the same values, events and memory as if each op were decided anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime import decisions
from nbtf._runtime.context import CURRENT, Context
from nbtf.errors import ResourceExhaustedError
from nbtf.runtime import Allocated, Freed
from tests.machines import machine

OPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * 2.0,
    lambda x, y: 3 - x,
    lambda x, y: tf.matmul(x, y),
    lambda x, y: tf.reduce_sum(x, axis=0, keepdims=True) + y,
    lambda x, y: tf.reshape(tf.reshape(x, [-1]), [4, 4]),
    lambda x, y: tf.tanh(tf.transpose(y)),
    lambda x, y: tf.cast(tf.cast(x > y, tf.int32), tf.float32),
    lambda x, y: tf.concat([x[:2], y[1:3]], 0),
    lambda x, y: tf.where(tf.identity(x) == y, x, tf.zeros_like(y)),
    lambda x, y: tf.broadcast_to(x[0, 1], [4, 4]),
    lambda x, y: tf.concat([x, tf.identity(y), x], axis=1)[:, 2:6],
    lambda x, y: tf.add_n([tf.identity(x), tf.identity(y), x]),
    lambda x, y: tf.stack(tf.split(x + y, [1, 2, -1], axis=1)[0:1] * 4, axis=1)[:, :, 0],
    lambda x, y: tf.concat(tf.split(tf.identity(y), 2, axis=0)[::-1], tf.constant(0)),
    lambda x, y: tf.stack(tf.unstack(tf.identity(x), axis=1)),
    lambda x, y: tf.einsum("ij,jk->ik", tf.identity(x), tf.identity(y)),
    lambda x, y: tf.math.top_k(tf.identity(y), 4).values,
    lambda x, y: x + tf.nn.softmax_cross_entropy_with_logits(tf.identity(x), tf.identity(y)),
    lambda x, y: tf.linalg.qr(tf.identity(x))[1] + y,
    lambda x, y: x + np.float32(0.5) * tf.cast(tf.shape(y)[0], tf.float32),
]
PLACES = [None, "GPU:0", "GPU:1", "CPU:0", "GPU:5"]


def program(seed: int) -> list[Any]:
    """Runs some ops; returns their values."""
    dice = random.Random(seed)
    values: list[Any] = [tf.random.uniform([4, 4], seed=number) for number in range(2)]
    variable = tf.Variable(values[0])
    for _ in range(30):
        place = dice.choice(PLACES)
        with tf.device(place) if dice.random() < 0.5 else nullcontext(), tf.GradientTape() as tape:
            x, y = (dice.choice([*values, variable]) for _ in range(2))
            result = dice.choice(OPS)(x, y)
        if dice.random() < 0.3:
            grad = tape.gradient(result, variable)
            variable.assign_add(tf.zeros([4, 4]) if grad is None else grad)
        values = [*values[-4:], result]
    return [value.numpy() for value in values]


def heard(seed: int, gpus: int) -> tuple[list[Any], list[Any], Any]:
    """Returns the values of a program, what was told without times, and how much memory was in use at last."""
    with machine(gpus, memory="1 MiB"):
        tf.random.set_seed(1)
        with tf.runtime.recording() as record:
            values = program(seed)
        events = sorted(record.events, key=lambda event: event.seq)
        stats = [tf.config.experimental.get_memory_info(f"GPU:{number}") for number in range(gpus)]
    return values, [_timeless(event) for event in events], stats


def _timeless(event: Any) -> Any:
    """Returns an event without what differs from run to run: numbers, and times that are measured."""
    measured = not getattr(event, "modelled", True) or getattr(event, "timing", "") == "finished"
    return event._replace(seq=0, time=0.0, **({"seconds": 0.0} if measured else {}))


def _in_order(events: list[Any]) -> list[Any]:
    """Returns events of which those are sorted that are freed at one moment: what holds them lets go in some order."""
    runs = [[*run] for _, run in groupby(events, lambda event: isinstance(event, Freed))]
    return [
        event._replace(in_use=0) if isinstance(event, Freed) else event
        for run in runs
        for event in (sorted(run, key=lambda freed: (freed.device, freed.offset)) if isinstance(run[0], Freed) else run)
    ]


class Forgetful(dict[Any, Any]):
    """A memory that keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


def remember_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the road decide about every op anew."""
    nothing = property(lambda context: Forgetful(), lambda context, value: None)
    monkeypatch.setattr(Context, "decisions", nothing, raising=False)


@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_a_remembered_decision_reports_the_same_events(seed: int, gpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values, events, stats = heard(seed, gpus)
    remember_nothing(monkeypatch)
    expected, expected_events, expected_stats = heard(seed, gpus)

    assert _in_order(expected_events) == _in_order(events)
    assert expected_stats == stats
    assert [value.tolist() for value in expected] == [value.tolist() for value in values]


@pytest.mark.parametrize("seed", range(6))
def test_values_and_memory_are_the_same_while_nothing_listens(seed: int) -> None:
    def outcome() -> Any:
        with machine(2, memory="1 MiB"):
            tf.random.set_seed(1)
            values = program(seed)
            return [value.tolist() for value in values], [tf.runtime.memory_map(f"GPU:{number}") for number in range(2)]

    unheard = outcome()
    with tf.runtime.recording():
        heard_too = outcome()

    assert heard_too == unheard


def test_an_op_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[str] = []
    decide = decisions._decide
    monkeypatch.setattr(
        decisions, "_decide", lambda context, op, *rest: decided.append(op.type) or decide(context, op, *rest)
    )
    with machine(1):
        x = tf.ones([2, 2])
        with tf.runtime.recording():
            decided.clear()
            for _ in range(3):
                tf.matmul(x * 2.0, tf.concat(tf.split(x, 2), 0))

    assert ["Mul", "Split", "ConcatV2", "MatMul"] == decided


@pytest.mark.parametrize(
    "change",
    [
        lambda: tf.config.set_soft_device_placement(False),
        lambda: tf.runtime.observe(lambda event: None)(),
        lambda: CURRENT.context.set_default_device("CPU:0"),
    ],
    ids=["setting", "listener", "default device"],
)
def test_a_change_discards_what_was_decided(change: Callable[[], object]) -> None:
    with machine(1):
        tf.reduce_sum(tf.ones([2, 2]))
        before = len(CURRENT.context.decisions)
        change()

        assert (True, 0) == (before > 0, len(CURRENT.context.decisions))


def test_what_does_not_fit_is_refused_once() -> None:
    with machine(1, memory="1 MiB"):
        x = tf.ones([200, 320])
        with tf.runtime.recording() as record:
            kept = [tf.tanh(x), tf.tanh(x), tf.tanh(x)]
            with pytest.raises(ResourceExhaustedError):
                tf.tanh(x)

    assert 1 == sum([isinstance(event, tf.runtime.Refused) for event in record.events])
    assert len(kept) == sum([isinstance(event, Allocated) for event in record.events])
