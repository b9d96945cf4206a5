"""Is it told which piece of device memory a tensor or a variable holds?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import nbtf as tf
from tests.machines import machine


@pytest.fixture(autouse=True)
def gpus() -> Iterator[None]:
    with machine(2):
        yield


def test_piece_is_told_as_the_memory_map_tells_it() -> None:
    x = tf.zeros([100])

    held = tf.runtime.holding(x)

    assert held is not None
    assert ("GPU:0", 0, 512, 400, 1) == (held.device, held.region, held.nbytes, held.requested, held.sharers)
    chunks = {chunk.offset: chunk for chunk in tf.runtime.memory_map("GPU:0")[held.region].chunks}
    assert ((100,), 512, 400) == (
        chunks[held.offset].label.shape,
        chunks[held.offset].size,
        chunks[held.offset].requested,
    )


def test_tensors_that_share_memory_hold_one_piece() -> None:
    x = tf.zeros([100])
    y = tf.reshape(x, [10, 10])
    held, again = tf.runtime.holding(x), tf.runtime.holding(y)

    assert held == again
    assert held is not None
    assert 2 == held.sharers


def test_variable_holds_the_memory_of_its_value() -> None:
    with tf.device("GPU:1"):
        v = tf.Variable(tf.ones([100]))
    held = tf.runtime.holding(v)

    assert held is not None
    assert ("GPU:1", 512, 1) == (held.device, held.nbytes, held.sharers)


@pytest.mark.parametrize("value", [lambda: tf.zeros([0]), lambda: tf.shape(tf.zeros([2])), lambda: 3, lambda: [1]])
def test_what_takes_no_device_memory_holds_nothing(value) -> None:
    assert None is tf.runtime.holding(value())


def test_on_the_cpu_nothing_is_accounted() -> None:
    with tf.device("CPU:0"):
        assert None is tf.runtime.holding(tf.zeros([100]))


def test_tensor_from_before_a_restart_holds_nothing() -> None:
    x = tf.zeros([100])
    tf.runtime.restart()
    y = tf.zeros([100])

    assert None is tf.runtime.holding(x)
    assert None is not tf.runtime.holding(y)


def test_looking_runs_no_code_of_the_value() -> None:
    class Sly:
        @property
        def __class__(self):
            raise AssertionError("looked at")

        def __getattr__(self, name: str):
            raise AssertionError("looked at")

    assert None is tf.runtime.holding(Sly())
