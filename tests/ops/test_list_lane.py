"""Ops that take lists or have several results: on their lane they do to values and accounts what the road does."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import nbtf as tf
from nbtf._ops import list_lane
from nbtf._ops.op import OPS
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import Here
from nbtf.errors import InvalidArgumentError, ResourceExhaustedError
from tests.machines import machine

OPS_WITH_LISTS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: tf.concat([x, y, x], axis=-1)[:, 1:5],
    lambda x, y: tf.add_n([x, y, y]),
    lambda x, y: tf.stack([x, y], axis=2)[:, :, 1],
    lambda x, y: tf.unstack(tf.stack([x, y]))[0],
    lambda x, y: tf.concat(tf.split(y, 4), 0),
    lambda x, y: tf.concat(tf.split(x, (3, -1), axis=1), tf.constant(1)),
    lambda x, y: tf.linalg.svd(x)[2] + y,
    lambda x, y: tf.einsum("ij,kj->ki", x, y),
    lambda x, y: tf.gather(y, tf.math.top_k(x).indices[:, 0]),
    lambda x, y: y * tf.nn.sparse_softmax_cross_entropy_with_logits(tf.argmax(x, 1), y),
]


def program(dice: random.Random) -> list[Any]:
    """Runs some ops, on this device and that; returns the last values."""
    values: list[Any] = [tf.random.stateless_uniform([4, 4], [1, number]) for number in range(2)]
    variable = tf.Variable(values[0])
    for _ in range(25):
        where = tf.device(dice.choice(["GPU:0", "GPU:1", "CPU:0"])) if dice.random() < 0.4 else nullcontext()
        with where, tf.GradientTape() as tape:
            x, y = (dice.choice([*values, variable]) for _ in range(2))
            result = dice.choice(OPS_WITH_LISTS)(x, y)
        values = [*values[-3:], result]
        if dice.random() < 0.3 and (grad := tape.gradient(result, variable)) is not None:
            values.append(tf.convert_to_tensor(grad))
    return values


def outcome(seed: int) -> Any:
    """Returns the values of a program on simulated GPUs, and the memory and the account of each."""
    with machine(2, memory="1 MiB"):
        values = program(random.Random(seed))
        memory = [tf.runtime.memory_map(f"GPU:{number}") for number in range(2)]
        accounts = [gpu.memory.stats() for gpu in CURRENT.context.gpus.made if gpu.memory]
        return [str(value.numpy()) for value in values], memory, accounts


@pytest.mark.parametrize("seed", range(10))
def test_values_and_accounts_are_those_of_the_road(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    actual = outcome(seed)
    monkeypatch.setattr(list_lane, "HERE", Here())  # closed
    expected = outcome(seed)

    assert expected == actual


@pytest.mark.parametrize("recorded", [False, True])
def test_lists_on_a_simulated_gpu_take_their_lane(recorded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with machine(1), tf.runtime.recording() if recorded else nullcontext():
        x = tf.ones([4])
        monkeypatch.setattr("nbtf._ops.op.execute", lambda op, *rest: pytest.fail(f"{op.type} took the road"))

        assert [4.0, 4.0] == tf.add_n(tf.split(tf.concat([x, x], 0), 4)).numpy().tolist()


def test_a_number_that_equals_another_axis_is_refused_as_on_the_road() -> None:
    with machine(1):
        x = tf.ones([2, 2])
        tf.concat([x, x], 1)
        with pytest.raises(InvalidArgumentError):
            tf.concat([x, x], 1.0)


def test_what_does_not_fit_is_refused_and_nothing_is_taken() -> None:
    with machine(1, memory="1 MiB"):
        x = tf.ones([300, 320])
        before = tf.config.experimental.get_memory_info("GPU:0")["current"]
        with pytest.raises(ResourceExhaustedError):
            tf.concat([x, x], 0)

        assert before == tf.config.experimental.get_memory_info("GPU:0")["current"]


def test_an_op_that_does_more_than_compute_has_no_such_lane() -> None:
    with_lane = {op.type for op in OPS.values() if op.has_list_lane}

    assert {"ConcatV2", "AddN", "SplitV", "Pack", "Unpack"} <= with_lane
    assert with_lane.isdisjoint({"Assert", "CollectiveReduceV2", "EagerPyFunc", "Print", "Where", "Unique"})


def test_a_part_that_shows_its_buffer_cannot_be_told_from_a_copy() -> None:
    with machine(1):
        part, rest = tf.split(tf.ones([8]), [6, 2])
        variable = tf.Variable(part)
        variable.assign_add(tf.ones([6]))
        part.numpy()[:] = 5.0

        assert (6 * [1.0], 2 * [1.0]) == (part.numpy().tolist(), rest.numpy().tolist())
        assert ["SplitV", "SplitV"] == [
            label.op for _, label in tf.runtime.memory_pieces("GPU:0") if label and label.op == "SplitV"
        ]


@pytest.mark.parametrize(("lengths", "kept"), [([6, 2], 32), ([2, 6], 8)])
def test_a_part_keeps_less_than_twice_its_bytes_of_the_computers_memory(lengths: list[int], kept: int) -> None:
    with machine(1):
        array = tf.split(tf.ones([8]), lengths)[0]._array

    assert kept == (array if array.base is None else array.base).nbytes
