"""Gradients through `x.cpu()` and `x.gpu()`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import nbtf as tf

WAYS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "cpu": lambda x: x.cpu(),
    "gpu": lambda x: x.gpu(),
    "other gpu": lambda x: x.gpu(1),
    "there and back": lambda x: x.gpu(1).cpu().gpu(0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("start", ["CPU:0", "GPU:0", "GPU:1"])
def test_gradients_of_both_orders_flow_through_a_move(way: str, start: str) -> None:
    tf.runtime.simulate_gpus(2)
    with tf.device(start):
        x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = WAYS[way](x * x) * 3.0 * WAYS[way](x)
        slope = inner.gradient(y, x)
    bend = outer.gradient(slope, x)

    assert [36.0, 81.0] == slope.numpy().tolist()
    assert [36.0, 54.0] == bend.numpy().tolist()


def test_what_arrives_is_on_the_device_that_the_tensor_came_from() -> None:
    tf.runtime.simulate_gpus(2)
    with tf.device("GPU:1"):
        x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x.cpu()

    assert x.device == tape.gradient(y, x, output_gradients=tf.ones([2])).device
