"""Do tapes hear the gradients of other tapes, and their own?"""

from __future__ import annotations

import logging

import pytest

import nbtf as tf
from nbtf.autodiff import tape as tape_module


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The warnings, as if none had been given yet."""
    tape_module._WARNED.clear()
    caplog.set_level(logging.WARNING, "tensorflow")
    return caplog


def test_nested_tapes_give_higher_derivatives() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape() as third:
        with tf.GradientTape() as second:
            with tf.GradientTape() as first:
                y = x**4
            slope = first.gradient(y, x)
        bend = second.gradient(slope, x)

    assert (4 * 27.0, 12 * 9.0, 24 * 3.0) == (slope.numpy(), bend.numpy(), third.gradient(bend, x).numpy())


def test_an_outer_tape_hears_the_gradient_of_an_inner_one() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        slope = inner.gradient(y, x)
        z = slope * x  # 3 x**3

    assert 81.0 == outer.gradient(z, x).numpy()


def test_a_persistent_tape_hears_its_own_gradient(heard: pytest.LogCaptureFixture) -> None:
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x * x
        slope = tape.gradient(y, x)
        tape.gradient(y, x)

    assert 12.0 == tape.gradient(slope, x).numpy()
    assert 1 == len(heard.messages)
    assert heard.messages[0].startswith("Calling GradientTape.gradient on a persistent tape inside its context is sig")


def test_inside_its_block_a_tape_stops_for_the_gradient() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        slope = tape.gradient(y, x)
        with pytest.raises(RuntimeError, match="non-persistent"):
            tape.gradient(slope, x)

    assert 4.0 == slope.numpy()


def test_tensors_of_tapes_that_are_gone_are_as_new() -> None:
    x = tf.constant(2.0)
    for _ in range(5):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.gradient(y, x)
        del tape

    with tf.GradientTape() as tape:
        tape.watch(x)
    assert not isinstance(x._watch, tuple)
