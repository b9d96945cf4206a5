"""Does `tf.device`, whose common case is written out, open the scopes that a plain block opens?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nbtf as tf
from nbtf._runtime.blocks import open_scopes, within
from nbtf._runtime.context import CURRENT
from nbtf._runtime.lanes import with_open_lane
from nbtf._runtime.scopes import ANYWHERE, SCOPE, Scope, merged
from tests.machines import machine

Opens = Callable[[str | None], AbstractContextManager[None]]


class Block(NamedTuple):
    """A block around others, and how a program enters and leaves it."""

    text: str | None
    way: str
    inner: tuple[Any, ...]


TEXTS = st.sampled_from(["/CPU:0", "CPU:1", "/GPU:0", "GPU:1", "GPU", "/GPU:*", "", None, "/job:localhost"])
WAYS = st.sampled_from(["with", "twice", "by hand", "raises", "tape", "name", "log"])
PROGRAMS = st.recursive(
    st.just(()), lambda inner: st.lists(st.builds(Block, TEXTS, WAYS, inner), max_size=3).map(tuple), max_leaves=12
)


def plain_block(text: str | None) -> AbstractContextManager[None]:
    """What `tf.device` is, in the general form."""

    def inner(outer: Scope) -> Scope:
        request = ANYWHERE if text is None else merged(text, outer.request)
        return with_open_lane(outer.with_(request=request))

    return within(inner)


def look(steps: list[Any]) -> None:
    """Notes what is open, and where an op goes."""
    steps.append([(scope.request, scope.lane, scope.names, len(scope.tapes)) for scope in open_scopes()])
    steps.append(tf.reduce_sum([1.0, 2.0]).device)


def run(program: tuple[Block, ...], opens: Opens, steps: list[Any]) -> None:
    """Runs a program, whose blocks are opened in one of two forms."""
    for text, way, inner in program:
        block = opens(text)
        look(steps)
        if way == "by hand":
            block.__enter__()
            run(inner, opens, steps)
            block.__exit__(None, None, None)
        elif way == "raises":
            with suppress(ZeroDivisionError), block:
                run(inner, opens, steps)
                steps.append(1 / 0)
        else:
            for _ in range(2 if way == "twice" else 1):
                with block:
                    run_around(way, inner, opens, steps)
        look(steps)


def run_around(way: str, inner: tuple[Block, ...], opens: Opens, steps: list[Any]) -> None:
    """Runs the inner blocks in something else that opens a scope, or closes the lane."""
    if way == "tape":
        with tf.GradientTape():
            run(inner, opens, steps)
    elif way == "name":
        with tf.name_scope("part"):
            run(inner, opens, steps)
    elif way == "log":
        CURRENT.context.set_log(lambda op, device: None)
        run(inner, opens, steps)
        CURRENT.context.set_log(None)
    else:
        run(inner, opens, steps)
        look(steps)


@pytest.fixture(params=[0, 2], ids=["without GPUs", "with two GPUs"])
def computer(request: pytest.FixtureRequest) -> Iterator[None]:
    with machine(request.param):
        yield


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS)
def test_blocks_open_the_scopes_of_the_general_form(computer: None, program: tuple[Block, ...]) -> None:
    as_written, general = list[Any](), list[Any]()
    run(program, tf.device, as_written)
    run(program, plain_block, general)

    assert general == as_written
    assert SCOPE() is None


def test_what_is_remembered_of_a_block_does_not_outlive_a_change(computer: None) -> None:
    def lane() -> Any:
        with tf.device("/CPU:0"):
            scope = SCOPE()
            assert scope is not None
            return scope.lane

    open_before = lane()
    CURRENT.context.set_log(lambda op, device: None)
    closed = lane()
    CURRENT.context.set_log(None)

    cpu = CURRENT.context.host if CURRENT.context.devices.first.type == "CPU" else None
    assert (cpu, None, cpu) == (open_before, closed, lane())


@pytest.mark.parametrize("text", ["GPU:1", "", "CPU"])
def test_a_cell_counts_in_its_own_thread_whatever_was_remembered(text: str) -> None:
    def requests(cell: str | None) -> set[Any]:
        with ThreadPoolExecutor(1) as threads:
            undo = threads.submit(CURRENT.context.set_cell_device, cell).result() if cell else lambda: None
            asked = {
                request_of(text),
                threads.submit(request_of, text).result(),
                threads.submit(request_of, text).result(),
            }
            undo()
        return asked

    with machine(2):
        at_top = merged(text, None)
        in_cell = merged(text, merged("GPU:1", None))

        assert [{at_top}, {at_top, in_cell}, {at_top}] == [requests(None), requests("GPU:1"), requests(None)]


def request_of(text: str) -> Any:
    """What an op in a block asks for."""
    with tf.device(text):
        scope = SCOPE()
        assert scope is not None
        return scope.request
