"""Is all well whatever the order in which the lines of several threads come? A share; all: tests/interleavings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.bfc.pool import Driver
from nbtf._locks import new_lock
from nbtf._ops.variables import updates
from nbtf._runtime import seeds
from nbtf._runtime.context import Context
from tests.interleavings import scheduler
from tests.interleavings.explorer import Failure, Scenario, explore, run, sample
from tests.interleavings.scenarios import SCENARIOS

SHARE = 20
"""Schedules of each scenario."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_all_is_well_in_any_order(scenario: Scenario) -> None:
    assert sample(scenario, SHARE) > 0


# Does the explorer see what is wrong?


def _at_once(update: Callable[[], Any], *variables: Any) -> Any:
    return update()


def test_updates_that_do_not_wait_for_each_other_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "alone", _at_once)
    scenario = next(one for one in SCENARIOS if one.name == "variable on a CPU: scatter, slice")

    with pytest.raises(Failure, match="variable on a CPU: scatter, slice"):
        explore(scenario, 1)


def _wait_for_each_other() -> Scenario:
    def make() -> Any:
        return SimpleNamespace(locks=[new_lock(), new_lock()])

    def take(state: Any, first: int) -> None:
        with state.locks[first]:
            tf.TensorShape([1])  # a line of the package, where the other thread may come
            with state.locks[1 - first]:
                pass

    return Scenario("two locks", make, (lambda state: take(state, 0), lambda state: take(state, 1)), lambda state: None)


def test_threads_that_wait_for_each_other_are_seen() -> None:
    with pytest.raises(Failure, match="Deadlock"):
        explore(_wait_for_each_other(), 1)


def test_a_thread_that_waits_for_a_lock_kept_outside_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run fails and says where the thread waits, instead of lasting forever."""
    kept = threading.Lock()
    scenario = Scenario(
        "a kept lock", lambda: kept, (lambda lock: lock.acquire(), lambda lock: None), lambda lock: None
    )
    monkeypatch.setattr(scheduler, "PATIENCE", 0.2)

    with kept, pytest.raises(Failure, match=r"waits for something.*(?s:.*)lock\.acquire\(\)"):
        run(scenario, (), (0, 1))


def test_shared_locks_are_replaced() -> None:
    """A thread that is preempted while it holds one does not stop the threads that want it."""
    with scheduler.turn_locks():
        assert all(isinstance(lock, scheduler.TurnLock) for lock in (Driver.lock, Context._lock, seeds._TAKING))
    assert not any(isinstance(lock, scheduler.TurnLock) for lock in (Driver.lock, Context._lock, seeds._TAKING))


def test_the_same_schedule_gives_the_same_lines() -> None:
    scenario = SCENARIOS[1]
    sample(scenario, 2)

    assert run(scenario, (scheduler.Preemption(20, 1),), (0, 1)) == run(
        scenario, (scheduler.Preemption(20, 1),), (0, 1)
    )
