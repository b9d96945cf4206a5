"""Do learning rates change with the steps as in TensorFlow 1? The figures are those of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbtf.compat.v1 as tf

train = tf.train

STEPS = [0, 1, 3, 4, 7, 8, 12, 25, 40]

RATES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "exponential": (
        lambda step: train.exponential_decay(0.1, step, 10, 0.5),
        [0.1, 0.0933033, 0.0812252, 0.0757858, 0.0615572, 0.0574349, 0.0435275, 0.0176777, 0.00625],
    ),
    "exponential, in steps": (
        lambda step: train.exponential_decay(0.1, step, 10, 0.5, staircase=True),
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.025, 0.00625],
    ),
    "piecewise": (
        lambda step: train.piecewise_constant(step, [3, 7], [1.0, 0.5, 0.25]),
        [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25],
    ),
    "polynomial": (
        lambda step: train.polynomial_decay(0.1, step, 10, 0.01, power=2.0),
        [0.1, 0.0829, 0.0541, 0.0424, 0.0181, 0.0136, 0.01, 0.01, 0.01],
    ),
    "polynomial, again and again": (
        lambda step: train.polynomial_decay(0.1, step, 10, 0.01, power=0.5, cycle=True),
        [0.1, 0.0953815, 0.0852994, 0.0797137, 0.059295, 0.0502492, 0.066921, 0.0467423, 0.01],
    ),
}


@pytest.mark.parametrize("name", RATES)
def test_rates_are_tensorflows(name: str) -> None:
    make, expected = RATES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int32, [])
        rate = make(step)

        assert [session.run(rate, {step: one}) for one in STEPS] == pytest.approx(expected, abs=2e-7)


def test_a_rate_may_follow_the_global_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = train.get_or_create_global_step()
        rate = train.exponential_decay(1.0, step, 1, 0.5, staircase=True)
        session.run(tf.global_variables_initializer())
        session.run(tf.assign_add(step, 3))

        assert 0.125 == session.run(rate)


def test_the_rate_is_called_after_its_scope() -> None:
    with tf.Graph().as_default():
        names = [train.exponential_decay(1.0, 1, 1, 0.5, name=name).name for name in (None, None, "mine")]

        assert ["ExponentialDecay:0", "ExponentialDecay_1:0", "mine:0"] == names


def test_at_once_a_rate_is_a_function() -> None:
    tf.enable_eager_execution()

    assert 0.25 == train.exponential_decay(1.0, 2, 1, 0.5)().numpy()


def test_a_step_is_wanted() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"None values not supported\."):
        train.exponential_decay(1.0, None, 1, 0.5)


def test_there_is_one_value_more_than_boundaries() -> None:
    with pytest.raises(ValueError, match="The length of boundaries should be 1 less than the length of values"):
        train.piecewise_constant(1, [1, 2], [1.0, 2.0])
