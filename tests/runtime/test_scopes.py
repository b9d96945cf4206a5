"""What do open blocks say, and is it undone in the right order?"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from nbtf._devices.cpu import CPU
from nbtf._runtime.blocks import ScopeStack
from nbtf._runtime.scopes import ANYWHERE, SCOPE, Request, Scope, merged, set_scope
from tests.machines import LOCAL

WRONG_ORDER = "wrong order"


@pytest.fixture(autouse=True)
def nothing_open() -> Iterator[None]:
    yield
    set_scope(None)


def name(*texts: str | None) -> str | None:
    """The full name that nested `tf.device` blocks ask for."""
    request: Request | None = None
    for text in texts:
        request = ANYWHERE if text is None else merged(text, request)
    assert request is not None
    return request.name


@pytest.mark.parametrize(
    ("texts", "full"),
    [
        (["GPU:1"], "GPU:1"),
        (["GPU"], "GPU:0"),
        (["/GPU:*"], "GPU:0"),
        ([""], "CPU:0"),
        (["/job:localhost"], "CPU:0"),
        (["CPU:2", ""], "CPU:2"),
        (["CPU:2", "CPU"], "CPU:2"),
        (["CPU:2", "GPU"], "GPU:2"),
        (["CPU:2", "/CPU:*"], "CPU:2"),
        (["CPU:2", "GPU:0"], "GPU:0"),
        (["CPU:2", None, ""], "CPU:0"),
        (["CPU:2", None, "GPU"], "GPU:0"),
        (["/task:0", "CPU:2"], "CPU:2"),
    ],
)
def test_inner_block_wins_field_by_field(texts: list[str | None], full: str) -> None:
    assert f"{LOCAL}{full}" == name(*texts)


def test_job_and_task_are_inherited_too() -> None:
    assert "/job:worker/replica:0/task:3/device:GPU:1" == name("/job:worker/task:3", "GPU:1")


def test_none_asks_for_nothing() -> None:
    assert name("CPU:2", None) is None


def test_text_that_is_no_device_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown attribute 'ink'"):
        merged("ink", None)


# Scope


def test_changed_scope_keeps_the_rest_and_closes_its_lane() -> None:
    tape = object()
    scope = Scope(ANYWHERE, tapes=(tape,), replica=1, lane=CPU(0))

    changed = scope.with_(request=merged("CPU:1", None))

    assert (f"{LOCAL}CPU:1", (tape,), tape, 1, None) == (
        changed.request and changed.request.name,
        changed.tapes,
        changed.tape,
        changed.replica,
        changed.lane,
    )


def test_two_tapes_are_heard_on_the_road_only() -> None:
    assert Scope(tapes=(object(), object())).tape is None


@pytest.mark.parametrize(
    ("scope", "plain"),
    [
        (Scope(), True),
        (Scope(ANYWHERE), True),
        (Scope(tapes=(1,)), True),
        (Scope(tapes=(1, 2)), False),
        (Scope(graph=1), False),
        (Scope(strategy=1), True),
        (Scope(replica=1), True),
    ],
)
def test_plain_scopes_only_place(scope: Scope, plain: bool) -> None:
    assert plain == scope.plain


# Entering and leaving


def test_leaving_restores_what_was_there() -> None:
    outer, inner = Scope(), Scope()
    first, second = ScopeStack(), ScopeStack()

    first.enter(outer)
    second.enter(inner)
    seen = [SCOPE()]
    second.leave(WRONG_ORDER)
    seen.append(SCOPE())
    first.leave(WRONG_ORDER)
    seen.append(SCOPE())

    assert [inner, outer, None] == seen


def test_leaving_in_the_wrong_order_is_refused_and_changes_nothing() -> None:
    outer, inner = Scope(), Scope()
    first, second = ScopeStack(), ScopeStack()
    first.enter(outer)
    second.enter(inner)

    with pytest.raises(RuntimeError, match=rf"^{WRONG_ORDER}$"):
        first.leave(WRONG_ORDER)
    seen = [SCOPE()]
    second.leave(WRONG_ORDER)
    first.leave(WRONG_ORDER)
    seen.append(SCOPE())

    assert [inner, None] == seen


def test_leaving_what_was_never_entered_is_refused() -> None:
    with pytest.raises(RuntimeError, match=rf"^{WRONG_ORDER}$"):
        ScopeStack().leave(WRONG_ORDER)


def test_one_stack_can_be_entered_again_inside_itself() -> None:
    stack, outer, inner = ScopeStack(), Scope(), Scope()

    stack.enter(outer)
    stack.enter(inner)
    stack.leave(WRONG_ORDER)
    seen = [SCOPE()]
    stack.leave(WRONG_ORDER)
    seen.append(SCOPE())

    assert [outer, None] == seen


def test_threads_share_a_stack_and_leave_in_any_order() -> None:
    stack, seen = ScopeStack(), dict[int, list[Scope | None]]()
    turns = [threading.Event() for _ in range(3)]
    scopes = [Scope(), Scope(), Scope()]

    def work(number: int) -> None:
        stack.enter(scopes[number])
        inside = SCOPE()
        turns[number].wait()
        stack.leave(WRONG_ORDER)
        seen[number] = [inside, SCOPE()]

    threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for number in (1, 2, 0):
        turns[number].set()
        threads[number].join()

    assert {number: [scopes[number], None] for number in range(3)} == seen


def test_eight_threads_hammering_one_stack_never_get_each_others_scope() -> None:
    stack, wrong, start = ScopeStack(), list[object](), threading.Barrier(8)

    def work() -> None:
        start.wait()
        try:
            for _ in range(2000):
                mine = Scope()
                stack.enter(mine)
                if SCOPE() is not mine:
                    wrong.append(SCOPE())
                stack.leave(WRONG_ORDER)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [] == wrong
