"""Does the loop over towers train as one tower does: variables on the CPU, gradients on several GPUs, averaged?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf._record.events import OpPlaced


def variable(name: str, shape: list[int], start: Any) -> Any:
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=start)


def logits_of(images: Any) -> Any:
    with tf.variable_scope("conv1"):
        kernel = variable("weights", [3, 3, 1, 4], tf.truncated_normal_initializer(stddev=0.3, seed=1))
        h = tf.nn.conv2d(images, kernel, [1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.bias_add(h, variable("biases", [4], tf.constant_initializer(0.1))))
    h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="pool1")
    h = tf.reshape(tf.nn.lrn(h, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75), [h.get_shape()[0].value, -1])
    with tf.variable_scope("linear"):
        weights = variable("weights", [h.get_shape()[1].value, 3], tf.truncated_normal_initializer(stddev=0.1, seed=2))
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(weights), 0.004, name="weight_loss"))
        return tf.nn.xw_plus_b(h, weights, variable("biases", [3], tf.zeros_initializer()))


def loss_of(scope: str, images: Any, labels: Any) -> Any:
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits_of(images))
    tf.add_to_collection("losses", tf.reduce_mean(entropy, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def averaged(towers: Any) -> Any:
    found: list[Any] = []
    for pairs in zip(*towers, strict=True):
        grads = tf.concat([tf.expand_dims(grad, 0) for grad, _ in pairs], axis=0)
        found.append((tf.reduce_mean(grads, 0), pairs[0][1]))
    return found


def built(count: int) -> tuple[Any, Any]:
    """Builds towers, and returns the step and the mean loss."""
    random = np.random.default_rng(0)
    images = random.normal(size=(8, 8, 8, 1)).astype(np.float32)
    labels = random.integers(0, 3, 8)
    with tf.device("/cpu:0"):
        global_step = tf.get_variable("global_step", [], initializer=tf.constant_initializer(0), trainable=False)
        rate = tf.train.exponential_decay(0.2, global_step, 100, 0.1, staircase=True)
        optimizer = tf.train.GradientDescentOptimizer(rate)
        parts = list(zip(tf.split(images, count), tf.split(labels, count), strict=True))
        towers: list[Any] = []
        losses: list[Any] = []
        with tf.variable_scope(tf.get_variable_scope()):
            for number, (some, of_some) in enumerate(parts):
                with tf.device(f"/gpu:{number}"), tf.name_scope(f"tower_{number}") as scope:
                    loss = loss_of(scope, some, of_some)
                    tf.get_variable_scope().reuse_variables()
                    towers.append(optimizer.compute_gradients(loss))
                    losses.append(loss)
        step = optimizer.apply_gradients(averaged(towers), global_step=global_step)
        averages = tf.train.ExponentialMovingAverage(0.9, global_step).apply(tf.trainable_variables())
        return tf.group(step, averages), tf.add_n(losses, name="all") / count


def trained(count: int, times: int = 6) -> list[float]:
    nbtf.runtime.restart()
    nbtf.runtime.simulate_gpus(count)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        step, loss = built(count)
        session.run(tf.global_variables_initializer())
        return [float(session.run([loss, step])[0]) for _ in range(times)]


@pytest.mark.parametrize("count", [2, 4])
def test_several_towers_train_as_one(count: int) -> None:
    alone, together = trained(1), trained(count)

    assert together == pytest.approx(alone, rel=1e-5)
    assert together[-1] < together[0]


def test_variables_are_shared_and_gradients_are_each_towers_own() -> None:
    with tf.Graph().as_default() as graph:
        built(2)
        gradient = graph.get_operation_by_name("tower_1/gradients/tower_1/conv1/Conv2D_grad/Conv2DBackpropFilter")

        assert ["conv1/weights:0", "conv1/biases:0", "linear/weights:0", "linear/biases:0"] == [
            one.name for one in tf.trainable_variables()
        ]
        assert {"/device:CPU:0"} == {one.device for one in tf.global_variables()}
        assert "/device:GPU:1" == gradient.device


def test_each_gpu_runs_its_tower() -> None:
    nbtf.runtime.simulate_gpus(2)
    places: dict[str | None, str] = {}

    def listen(event: Any) -> None:
        if isinstance(event, OpPlaced):
            places[event.node] = event.device[-5:]

    with tf.Graph().as_default(), tf.Session() as session:
        step, _ = built(2)
        session.run(tf.global_variables_initializer())
        stop = nbtf.runtime.observe(listen)
        session.run(step)
        stop()

    assert ("GPU:0", "GPU:1") == (places["tower_0/conv1/Conv2D"], places["tower_1/conv1/Conv2D"])
    assert "CPU:0" == places["GradientDescent/update_linear/weights/ApplyGradientDescent"]
