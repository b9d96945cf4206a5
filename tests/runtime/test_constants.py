"""Is a number told of once on a device, as TensorFlow's log does, while every tensor of it is right and its own?"""

from __future__ import annotations

import math
from typing import Any

import pytest

import nbtf as tf
from nbtf._record.events import Copied, OpPlaced
from nbtf._runtime import constants
from nbtf._runtime.context import CURRENT
from nbtf.errors import ResourceExhaustedError
from tests.machines import MIB, SCRATCH, machine
from tests.threads import in_threads, switching_often


@pytest.fixture
def log() -> list[str]:
    """The lines of the placement log of a test."""
    lines: list[str] = []
    CURRENT.context.set_log(lambda op, device: lines.append(op))
    return lines


class Odd(int):
    """A number whose methods must not be asked."""

    def __hash__(self) -> int:
        raise RuntimeError("asked")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("asked")

    __ne__ = __eq__


def test_number_is_logged_once(log: list[str]) -> None:
    tf.constant(2.0)
    tf.constant(2.0)

    assert ["_EagerConst"] == log


def test_numbers_that_are_equal_but_not_alike_are_logged_each(log: list[str]) -> None:
    values = [tf.constant(1), tf.constant(1.0), tf.constant(True), tf.constant(1 + 0j), tf.constant(1, tf.int64)]

    assert len(values) == len(log)


def test_axis_and_constant_of_the_same_dtype_are_one(log: list[str]) -> None:
    tf.reduce_sum(tf.ones([2]), axis=0)
    log.clear()
    tf.constant(0, tf.int32)

    assert [] == log


@pytest.mark.parametrize("value", [[1.0], "text", b"text", math.nan], ids=["list", "text", "bytes", "nan"])
def test_other_values_are_logged_each_time(log: list[str], value: Any) -> None:
    tf.constant(value)
    tf.constant(value)

    assert ["_EagerConst"] * 2 == log


def test_zero_keeps_its_sign(log: list[str]) -> None:
    signs = [math.copysign(1.0, float(tf.constant(zero))) for zero in (0.0, -0.0, 0.0)]

    assert [1.0, -1.0, 1.0] == signs


def test_number_of_an_own_class_is_not_asked_for_its_hash(log: list[str]) -> None:
    tf.constant(Odd(3))
    tf.constant(Odd(3))
    tf.constant(3)

    assert ["_EagerConst"] * 2 == log


def test_tape_watches_one_of_two_tensors_of_a_number(log: list[str]) -> None:
    x, y = tf.constant(3.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x * x + y

    assert [6.0, None] == [None if grad is None else float(grad) for grad in tape.gradient(z, [x, y])]


def test_restart_begins_anew(log: list[str]) -> None:
    tf.constant(2.0)
    tf.runtime.restart(keep_settings=True)
    tf.constant(2.0)

    assert ["_EagerConst"] * 2 == log


def test_what_nobody_heard_is_told_later() -> None:
    tf.constant(2.0)
    with tf.runtime.recording() as record:
        tf.constant(2.0)

    assert 1 == len(record.ops)


def test_recording_hears_all_of_its_block() -> None:
    records: list[Any] = []
    for _ in range(2):
        with tf.runtime.recording() as record:
            records.append(record)
            tf.constant(2.0)
            tf.constant(2.0)

    assert [1, 1] == [len(record.ops) for record in records]


def test_after_a_recording_the_log_knows_what_it_knew(log: list[str]) -> None:
    tf.constant(2.0)
    with tf.runtime.recording():
        tf.constant(3.0)
    log.clear()
    tf.constant(2.0)
    tf.constant(3.0)

    assert [] == log


def test_what_an_observer_makes_is_not_remembered() -> None:
    heard: list[Any] = []

    def curious(event: Any) -> None:
        heard.append(event)
        tf.constant(7.0)

    tf.runtime.observe(curious)
    tf.constant([1.0])
    del heard[:]
    tf.constant(7.0)

    assert heard


def test_on_a_gpu_every_copy_is_told_and_no_memory_is_kept() -> None:
    with machine(1):
        heard: list[Any] = []
        tf.runtime.observe(heard.append)
        tensors = [tf.constant(2.0), tf.constant(2.0)]
        in_use = [tf.config.experimental.get_memory_info("GPU:0")["current"]]
        tensors.clear()
        in_use.append(tf.config.experimental.get_memory_info("GPU:0")["current"])

    assert [SCRATCH + 512, SCRATCH] == in_use
    assert [1, 2] == [sum(isinstance(event, kind) for event in heard) for kind in (OpPlaced, Copied)]


def test_memory_of_a_number_that_was_told_before_knows_its_line() -> None:
    with machine(1), tf.runtime.recording():
        _first = tf.constant(2.0)
        _second = tf.constant(2.0)
        here = test_memory_of_a_number_that_was_told_before_knows_its_line.__code__.co_firstlineno
        labels = [label for _, label in tf.runtime.memory_pieces("GPU:0") if label and label.op == "_EagerConst"]

    assert [here + 2, here + 3] == [label.site[1] for label in labels if isinstance(label.site, tuple)]


def test_tensor_that_was_not_told_of_is_explained_by_the_first() -> None:
    with tf.runtime.recording():
        tf.constant(2.0)
        again = tf.constant(2.0)

    explained = tf.runtime.explain_placement(again)
    assert ("_EagerConst", "no GPU") == (explained.op, explained.why)


def test_constant_for_which_there_is_no_memory_is_not_remembered() -> None:
    with machine(1):
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("GPU")[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1)]
        )
        fill = [tf.constant([0] * ((MIB - SCRATCH) // 8), tf.int64)]
        log: list[str] = []
        CURRENT.context.set_log(lambda op, device: log.append(op))
        with pytest.raises(ResourceExhaustedError):
            tf.constant(2.0)
        fill.clear()
        tf.constant(2.0)

    assert ["_EagerConst"] * 2 == log


def test_loop_over_numbers_does_not_fill_the_memory(log: list[str]) -> None:
    for number in range(2 * constants._REMEMBERED):
        tf.constant(number)

    assert 2 * constants._REMEMBERED == len(log)
    assert len(CURRENT.context.constants._events) <= constants._REMEMBERED


def test_threads_that_begin_together_are_told_of_once(log: list[str]) -> None:
    with switching_often():
        for number in range(50):
            in_threads(lambda _, number=number: tf.constant(float(number)))
            in_threads(lambda _: tf.reduce_sum([[1.0]], axis=0))

    assert 50 + 400 + 1 == log.count("_EagerConst")
