"""Ops that are recorded on their lane: all that the road would have told, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime import recorded_lane
from nbtf._runtime.context import Context
from nbtf._runtime.scopes import HERE
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


def heard(seed: int) -> tuple[list[Any], list[Any], Any]:
    """Returns the values of a program, what was told without times, and how much memory was in use at last."""
    with machine(2, memory="1 MiB"):
        tf.random.set_seed(1)
        with tf.runtime.recording() as record:
            values = program(seed)
        events = sorted(record.events, key=lambda event: event.seq)
        stats = [tf.config.experimental.get_memory_info(f"GPU:{number}") for number in range(2)]
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


@pytest.mark.parametrize("seed", range(12))
def test_the_lane_tells_what_the_road_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values, events, stats = heard(seed)
    monkeypatch.setattr(Context, "_only_recorders_listen", lambda context: False)
    expected, expected_events, expected_stats = heard(seed)

    assert _in_order(expected_events) == _in_order(events)
    assert expected_stats == stats
    assert [value.tolist() for value in expected] == [value.tolist() for value in values]


def test_ops_on_a_simulated_gpu_are_recorded_on_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []
    decided = recorded_lane._decided
    monkeypatch.setattr(
        recorded_lane, "_decided", lambda context, op, *rest: served.append(op.type) or decided(context, op, *rest)
    )
    with machine(1):
        x = tf.ones([2, 2])
        with tf.runtime.recording():
            for _ in range(2):
                tf.matmul(x * 2.0, tf.concat(tf.split(x, 2), 0))

    assert ["Mul", "Split", "ConcatV2", "MatMul"] == served


def test_whoever_wants_each_event_at_once_closes_the_lane() -> None:
    with machine(1):
        x = tf.ones([2, 2])
        with tf.runtime.recording():
            is_open = bool(HERE.recorded)
            stop = tf.runtime.observe(lambda event: None)
            closed = not HERE.recorded
            stop()
            tf.tanh(x)

    assert (True, True) == (is_open, closed)


def test_what_does_not_fit_is_refused_once() -> None:
    with machine(1, memory="1 MiB"):
        x = tf.ones([200, 320])
        with tf.runtime.recording() as record:
            kept = [tf.tanh(x), tf.tanh(x), tf.tanh(x)]
            with pytest.raises(ResourceExhaustedError):
                tf.tanh(x)

    assert 1 == sum([isinstance(event, tf.runtime.Refused) for event in record.events])
    assert len(kept) == sum([isinstance(event, Allocated) for event in record.events])
