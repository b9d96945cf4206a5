"""Who closes what a block has opened: the block, or the next op or the end of the cell when the block cannot."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, nullcontext
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._locks import new_lock
from nbtf._runtime.blocks import end_cell, within
from nbtf._runtime.scopes import SCOPE, set_scope
from tests.machines import machine


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    with machine(2):
        yield
    set_scope(None)


def device_of_an_op() -> str:
    return tf.add(1.0, 2.0).device[-5:]


def enter_only(block: Any) -> None:
    """Does what is left of a `with` statement that an interrupt ends before Python knows of its block."""
    bound = block.__exit__
    block.__enter__()
    del bound


def test_what_a_with_statement_lost_is_closed_before_the_next_op(caplog: pytest.LogCaptureFixture) -> None:
    block = tf.device("GPU:1")  # a name holds it, and yet nobody will close it
    enter_only(block)

    assert "GPU:0" == device_of_an_op()
    assert ["nbtf: closed blocks that were left open: tf.device."] == caplog.messages


@pytest.mark.parametrize("listens", [False, True], ids=["nobody listens", "a recorder listens"])
def test_whatever_a_program_asks_first_sees_no_lost_block(listens: bool) -> None:
    strategy = tf.distribute.MirroredStrategy(["GPU:1"])
    graph = tf.Graph()
    questions: list[tuple[Any, Callable[[], Any], Any]] = [
        (tf.device("GPU:1"), lambda: tf.constant([1.0]).device[-5:], "GPU:0"),
        (tf.device("GPU:1"), lambda: tf.convert_to_tensor(np.ones(2)).device[-5:], "GPU:0"),
        (tf.device("GPU:1"), lambda: tf.random.normal([]).device[-5:], "GPU:0"),
        (strategy.scope(), lambda: tf.distribute.get_strategy() is strategy, False),
        (strategy.scope(), lambda: type(tf.Variable(1.0)) is tf.Variable, True),
        (graph.as_default(), tf.executing_eagerly, True),
        (graph.as_default(), lambda: tf.constant(1.0).numpy(), 1.0),
        (graph.as_default(), lambda: tf.compat.v1.get_default_graph() is graph, False),
        (tf.name_scope("lost"), lambda: tf.Variable(1.0).name, "Variable:0"),
    ]
    for block, ask, answer in questions:
        with tf.runtime.recording() if listens else nullcontext():
            enter_only(block)
            assert answer == ask()
        assert SCOPE() is None


def test_a_lost_tape_hears_no_more_and_can_be_used_again(caplog: pytest.LogCaptureFixture) -> None:
    x, tape = tf.Variable(3.0), tf.GradientTape()
    enter_only(tape)

    tf.square(x)
    assert SCOPE() is None
    with tape:
        y = x * x

    assert 6.0 == tape.gradient(y, x).numpy()


def test_an_inner_block_that_was_lost_does_no_harm_to_the_outer_one(caplog: pytest.LogCaptureFixture) -> None:
    with tf.device("GPU:1"):
        enter_only(tf.device("CPU:0"))
        assert "GPU:1" == device_of_an_op()
        enter_only(tf.name_scope("lost"))

    assert SCOPE() is None


def test_an_outer_block_that_was_lost_ends_with_the_inner_one(caplog: pytest.LogCaptureFixture) -> None:
    inner = tf.device("GPU:1")
    outer = tf.name_scope("lost")
    outer.__enter__()
    inner.__enter__()
    del outer
    inner.__exit__(None, None, None)

    assert SCOPE() is None


def test_a_block_entered_by_hand_stays_open_as_long_as_a_name_holds_it(caplog: pytest.LogCaptureFixture) -> None:
    block = tf.device("GPU:1")
    block.__enter__()
    end_cell()
    assert "GPU:1" == device_of_an_op()

    del block

    assert "GPU:0" == device_of_an_op()


def test_a_look_at_exit_does_not_make_a_block_entered_by_hand_a_lost_one() -> None:
    block = tf.device("GPU:1")
    assert hasattr(block, "__exit__")
    block.__enter__()
    end_cell()

    assert "GPU:1" == device_of_an_op()
    block.__exit__(None, None, None)


def test_an_exit_stack_closes_its_blocks() -> None:
    with ExitStack() as stack:
        stack.enter_context(tf.device("GPU:1"))
        assert "GPU:1" == device_of_an_op()

    assert SCOPE() is None


def test_a_block_of_a_generator_that_waits_stays_open() -> None:
    def generate() -> Generator[None]:
        with tf.device("GPU:1"):
            yield

    waiting = generate()
    next(waiting)
    end_cell()

    assert "GPU:1" == device_of_an_op()
    waiting.close()
    assert SCOPE() is None


def test_the_end_of_a_cell_closes_what_functions_of_the_package_left() -> None:
    with tf.device("GPU:1"):
        set_scope(SCOPE().with_())  # pyright: ignore[reportOptionalMemberAccess]  # a block is open
        lock = new_lock()
        lock.acquire()
        end_cell()

        assert "GPU:1" == device_of_an_op()
        assert not lock._is_owned()


def test_nested_blocks_of_one_object_end_in_order() -> None:
    block = within(lambda outer: outer.with_())
    with block:
        first = SCOPE()
        with block:
            pass
        assert SCOPE() is first

    assert SCOPE() is None
