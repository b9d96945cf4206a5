"""Does a tape hold what gradients need, and only as long as they need it?"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

import nbtf as tf
from nbtf._runtime.context import Context
from tests.machines import machine

KB = 256 * 1024
"""Bytes of a tensor of 256 x 256 float32, which the allocator does not round."""


@pytest.fixture
def gpu() -> Iterator[Context]:
    gc.collect()
    gc.disable()  # what counts is what goes without the collector
    with machine(1) as context:
        tf.zeros([1])  # takes what a device takes once
        yield context
    gc.enable()


def in_use(context: Context) -> int:
    memory = context.devices.first.memory
    assert memory is not None
    return memory.stats().in_use


def test_everything_is_free_after_the_gradient(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    before = in_use(gpu)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.exp(x * x) @ x)
    assert in_use(gpu) > before
    slope = tape.gradient(y, x)
    del y

    assert KB == in_use(gpu) - before
    del slope
    assert before == in_use(gpu)


def test_everything_is_free_when_a_persistent_tape_is_gone(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    before = in_use(gpu)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.exp(x * x) @ x)
    tape.gradient(y, x)
    del y
    assert in_use(gpu) > before

    del tape
    assert before == in_use(gpu)


def test_everything_is_free_when_nobody_asks_for_a_gradient(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    before = in_use(gpu)
    for _ in range(3):
        with tf.GradientTape():
            tf.reduce_sum(tf.exp(x * x))

    assert before == in_use(gpu)


def test_nested_tapes_let_go_of_each_other(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    before = in_use(gpu)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.exp(x * x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)

    del y, slope, bend
    assert before == in_use(gpu)


def test_custom_gradients_keep_nothing_afterwards(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    before = in_use(gpu)
    square = tf.custom_gradient(lambda x: (x * x, lambda upstream: upstream * x))
    with tf.GradientTape() as tape:
        y = square(x + 1.0)
    slope = tape.gradient(y, x)

    del y, slope
    assert before == in_use(gpu)


@pytest.mark.parametrize(
    ("op", "kept"),
    [
        (tf.exp, 1),  # its result
        (tf.sin, 1),  # what it was applied to
        (tf.nn.relu, 1),  # its result, and not what it was applied to
        (tf.negative, 0),
        (tf.identity, 0),
    ],
)
def test_only_what_the_gradient_reads_is_kept(gpu: Context, op: object, kept: int) -> None:
    x = tf.constant(tf.ones([256, 256]))
    before = in_use(gpu)
    with tf.GradientTape() as tape:
        tape.watch(x)
        op(tf.negative(x))  # type: ignore[operator]

    assert kept * KB == in_use(gpu) - before


def test_memory_is_given_back_on_the_way(gpu: Context) -> None:
    x = tf.Variable(tf.ones([256, 256]))
    with tf.GradientTape() as tape:
        y = x * 1.0
        for _ in range(20):
            y = tf.exp(y)
    memory = gpu.devices.first.memory
    assert memory is not None
    full = in_use(gpu)
    memory.reset_peak()
    slope = tape.gradient(y, x)

    assert memory.stats().peak <= full + 4 * KB
    assert slope.shape == x.shape


@pytest.mark.parametrize("persistent", [False, True])
def test_there_are_no_cycles(persistent: bool) -> None:
    gc.disable()
    try:
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent) as tape:
            y = tf.exp(x * x)
        slope = tape.gradient(y, x)
        seen = [weakref.ref(one) for one in (tape, y, slope)]
        del tape, y, slope

        assert [None] * 3 == [one() for one in seen]
    finally:
        gc.enable()


def test_memory_is_flat_over_many_steps(gpu: Context) -> None:
    w, x = tf.Variable(tf.ones([16, 16])), tf.ones([8, 16])

    def step() -> int:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(x @ w))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return in_use(gpu)

    step()
    assert 1 == len({step() for _ in range(50)})
