"""Is all well whatever the order in which the lines of several threads come? A share; all: tests/interleavings."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import nbtf as tf
from nbtf._locks import new_lock
from nbtf._ops.variables import updates
from tests.interleavings.explorer import Failure, Scenario, explore, sample
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


def test_the_same_schedule_gives_the_same_lines() -> None:
    from tests.interleavings.explorer import run
    from tests.interleavings.scheduler import Preemption

    scenario = SCENARIOS[1]
    sample(scenario, 2)

    assert run(scenario, (Preemption(20, 1),), (0, 1)) == run(scenario, (Preemption(20, 1),), (0, 1))
