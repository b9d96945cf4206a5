"""Do optimizers step as those of TensorFlow 1?

The figures are those of TensorFlow 2.21, five steps each, for the loss of `trained`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf.compat.v1 as tf

train = tf.train

FIGURES: dict[str, tuple[Callable[[], Any], list[float], list[float]]] = {
    "gradient descent": (
        lambda: train.GradientDescentOptimizer(0.1),
        [4.275, 2.70541, 1.85778, 1.35216, 1.02111],
        [0.39375, 0.349875, 0.312912, 0.281337, 0.254026],
    ),
    "momentum": (
        lambda: train.MomentumOptimizer(0.1, 0.9),
        [4.275, 2.70541, 1.19606, 0.804457, 1.09177],
        [0.39375, 0.349875, 0.279869, 0.204854, 0.140426],
    ),
    "Nesterov momentum": (
        lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        [4.275, 1.73168, 0.763001, 0.490715, 0.296385],
        [0.39375, 0.313736, 0.230717, 0.15899, 0.103021],
    ),
    "Adam": (
        lambda: train.AdamOptimizer(0.1),
        [4.275, 3.34125, 2.5955, 2.02597, 1.59838],
        [0.39375, 0.280417, 0.205509, 0.157258, 0.122482],
    ),
    "Adagrad": (
        lambda: train.AdagradOptimizer(0.1),
        [4.275, 3.3739, 2.8716, 2.52375, 2.25893],
        [0.39375, 0.312686, 0.263123, 0.227663, 0.200269],
    ),
    "RMSProp": (
        lambda: train.RMSPropOptimizer(0.1),
        [4.275, 2.87681, 2.08663, 1.57974, 1.22499],
        [0.39375, 0.3481, 0.308322, 0.273339, 0.242301],
    ),
    "RMSProp with momentum": (
        lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
        [4.275, 2.87681, 1.67194, 0.996382, 0.624927],
        [0.39375, 0.3481, 0.289029, 0.233115, 0.185641],
    ),
    "centered RMSProp": (
        lambda: train.RMSPropOptimizer(0.1, centered=True, momentum=0.3),
        [4.275, 2.85788, 1.78587, 1.16744, 0.794079],
        [0.39375, 0.348053, 0.296425, 0.250116, 0.210623],
    ),
}
"""How to make each optimizer, its losses with a whole gradient, and with one of rows, of which one comes twice."""


def trained(optimizer: Any, resource: bool, rows: bool = False) -> list[float]:
    """Returns the losses of five steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        start = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], np.float32)
        w = tf.get_variable("w", initializer=start, use_resource=resource)
        b = tf.get_variable("b", initializer=np.array([0.1, -0.2], np.float32), use_resource=resource)
        x = tf.constant([[1.0, -1.0, 2.0], [0.5, 1.0, 0.0]])
        h = tf.gather(w, [0, 2, 0]) if rows else tf.matmul(x, w)
        loss = tf.reduce_mean(tf.square(h + b - 1.0))
        step = optimizer.minimize(loss)
        session.run(tf.global_variables_initializer())
        return [session.run([loss, step])[0] for _ in range(5)]


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("name", FIGURES)
def test_five_steps_give_tensorflows_losses(name: str, resource: bool) -> None:
    make, whole, _ = FIGURES[name]

    assert trained(make(), resource) == pytest.approx(whole, rel=2e-5)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("name", FIGURES)
def test_five_steps_on_rows_give_tensorflows_losses(name: str, resource: bool) -> None:
    make, _, rows = FIGURES[name]

    assert trained(make(), resource, rows=True) == pytest.approx(rows, rel=2e-5)


@pytest.mark.parametrize("name", FIGURES)
def test_at_once_the_same_steps_are_made(name: str) -> None:
    tf.enable_eager_execution()
    w = nbtf.Variable([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], name="w")
    b = nbtf.Variable([0.1, -0.2], name="b")
    make, whole, _ = FIGURES[name]
    optimizer, losses = make(), list[float]()

    def loss() -> Any:
        found = tf.reduce_mean(tf.square(tf.matmul([[1.0, -1.0, 2.0], [0.5, 1.0, 0.0]], w) + b - 1.0))
        losses.append(float(found.numpy()))
        return found

    for _ in range(5):
        optimizer.minimize(loss)

    assert losses == pytest.approx(whole, rel=2e-5)


def adam_of_two() -> tuple[Any, Any, Any]:
    w = tf.Variable(1.0, name="w")
    optimizer = train.AdamOptimizer()
    return optimizer, w, optimizer.minimize(w * w, global_step=train.get_or_create_global_step())


def test_slots_are_named_after_variable_and_optimizer() -> None:
    with tf.Graph().as_default():
        optimizer, w, _ = adam_of_two()

        assert ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"] == [v.name for v in optimizer.variables()]
        assert ["m", "v"] == optimizer.get_slot_names()
        assert "w/Adam:0" == optimizer.get_slot(w, "m").name
        assert optimizer.get_slot(w, "nothing") is None


def test_nodes_are_named_after_the_optimizer() -> None:
    with tf.Graph().as_default() as graph:
        _, _, step = adam_of_two()
        types = {one.name: one.type for one in graph.get_operations() if one.name.startswith("Adam")}

        assert ("Adam", "AssignAdd") == (step.name, step.type)
        assert ("ApplyAdam", "NoOp", "Mul") == (
            types["Adam/update_w/ApplyAdam"],
            types["Adam/update"],
            types["Adam/mul"],
        )


def test_slots_are_not_trained() -> None:
    with tf.Graph().as_default():
        _, w, _ = adam_of_two()

        assert [w] == tf.trainable_variables()


def test_a_step_is_counted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        _, _, step = adam_of_two()
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.run(step)

        assert 2 == session.run(train.get_global_step())


def test_a_step_is_in_the_collection_of_train_ops() -> None:
    with tf.Graph().as_default():
        _, _, step = adam_of_two()

        assert [step] == tf.get_collection(tf.GraphKeys.TRAIN_OP)


def test_a_variable_that_does_not_matter_has_no_gradient() -> None:
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")
        pairs = train.GradientDescentOptimizer(0.1).compute_gradients(v * v)

        assert [(True, v), (False, w)] == [(grad is not None, variable) for grad, variable in pairs]


def test_a_learning_rate_may_be_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        rate = tf.placeholder(tf.float32, [])
        step = train.GradientDescentOptimizer(rate).minimize(v)
        session.run(tf.global_variables_initializer())
        session.run(step, {rate: 0.25})
        session.run(step, {rate: 0.5})

        assert 0.25 == session.run(v)


def test_gradients_may_be_changed_before_they_are_applied() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([3.0, 0.25])
        optimizer = train.GradientDescentOptimizer(1.0)
        pairs = optimizer.compute_gradients(tf.reduce_sum(v * v))
        step = optimizer.apply_gradients([(tf.clip_by_value(grad, -1.0, 1.0), variable) for grad, variable in pairs])
        session.run(tf.global_variables_initializer())
        session.run(step)

        assert [2.0, -0.25] == session.run(v).tolist()


def test_a_constraint_holds_after_a_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, constraint=lambda value: tf.maximum(value, 0.5))
        step = train.GradientDescentOptimizer(1.0).minimize(v)
        session.run(tf.global_variables_initializer())
        session.run(step)

        assert 0.5 == session.run(v)


def test_without_variables_there_is_nothing_to_optimize() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"No variables to optimize\."):
        train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_a_loss_that_depends_on_no_variable_is_refused() -> None:
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="w")

        with pytest.raises(ValueError, match="No gradients provided for any variable, check your graph for ops"):
            train.GradientDescentOptimizer(0.1).minimize(w * 2.0, var_list=[v])


def test_no_pairs_are_refused() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        optimizer = train.GradientDescentOptimizer(0.1)

        with pytest.raises(ValueError, match=r"No variables provided\."):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match=r"No gradients provided for any variable: \[\"<tf.Variable 'v:0'"):
            optimizer.apply_gradients([(None, v)])


def test_an_update_runs_where_its_variable_lives() -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            v = tf.Variable(1.0, name="v")
        with tf.device("/gpu:1"):
            train.MomentumOptimizer(0.1, 0.9).minimize(v * v)

        for name in ("v/Momentum", "Momentum/update_v/ApplyMomentum"):
            assert "/device:CPU:0" == graph.get_operation_by_name(name).device


@pytest.mark.parametrize("make", [train.GradientDescentOptimizer, train.AdamOptimizer])
def test_variables_may_have_several_dtypes(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(np.float32(1.0)), tf.Variable(np.float64(1.0))
        step = make(0.5).minimize(tf.cast(v, tf.float64) + w)
        session.run(tf.global_variables_initializer())
        session.run(step)

        assert [0.5, 0.5] == pytest.approx(session.run([v, w]), rel=1e-6)
