"""Chooses the schedules to try: all with few preemptions, or a reproducible part of them."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from tests.interleavings.scheduler import MADE, Preemption, Schedule, Scheduler, turn_locks


@dataclass(frozen=True)
class Scenario:
    """The actions of several threads on one state, and the condition that must hold afterwards, whatever the order."""

    name: str
    begin: Callable[[], Any]
    """Creates the state."""
    bodies: tuple[Callable[[Any], object], ...]
    """The action of each thread."""
    check: Callable[[Any], None]
    """Asserts the condition after all threads have ended."""
    end: Callable[[Any], None] = lambda state: None

    def __str__(self) -> str:
        return self.name


class Failure(Exception):  # noqa: N818  # it says which schedule has failed
    """A schedule that violates the condition."""


Choices = list[tuple[int, ...]]
"""For each executed line, the other threads that could have continued there."""


def run(scenario: Scenario, schedule: Schedule, order: Sequence[int]) -> Choices:
    """Runs one schedule; returns where other threads could have continued.

    Raises:
      Failure: something is wrong afterwards.
    """
    with turn_locks():
        state = scenario.begin()
        try:
            scheduler = Scheduler([lambda body=body: body(state) for body in scenario.bodies], schedule, order)
            scheduler.run()
            assert not any(lock.is_held for lock in MADE), "a lock is still held"
            scenario.check(state)
        except Exception as error:
            raise Failure(
                f"{scenario}, {list(order)}, {list(map(tuple, schedule))}: {type(error).__name__}: {error}"
            ) from error
        finally:
            scenario.end(state)
    return scheduler.choices


def _orders(scenario: Scenario) -> list[tuple[int, ...]]:
    return list(permutations(range(len(scenario.bodies))))


def _warm(scenario: Scenario) -> None:
    """Runs a scenario until all caches are filled, so that a schedule always has the same effect."""
    for order in _orders(scenario) * 2:
        run(scenario, (), order)


def schedules(scenario: Scenario, most: int) -> Iterator[Schedule]:
    """Runs all schedules with at most `most` preemptions, in all orders, and yields each."""

    def after(schedule: Schedule, choices: Choices, order: Sequence[int]) -> Iterator[Schedule]:
        if len(schedule) == most:
            return
        for line in range(schedule[-1].line + 1 if schedule else 0, len(choices)):
            for thread in choices[line]:
                longer = (*schedule, Preemption(line, thread))
                choices_then = run(scenario, longer, order)
                yield longer
                yield from after(longer, choices_then, order)

    _warm(scenario)
    for order in _orders(scenario):
        choices = run(scenario, (), order)
        yield ()
        yield from after((), choices, order)


def explore(scenario: Scenario, preemptions: int, limit: int | None = None) -> int:
    """Runs all schedules with a limited number of preemptions, or the first `limit` of them; returns their number."""
    gc.disable()
    try:
        count = 0
        for _ in schedules(scenario, preemptions):
            count += 1
            if count % 500 == 0:
                gc.collect()
            if count == limit:
                break
        return count
    finally:
        gc.enable()


def sample(scenario: Scenario, count: int) -> int:
    """Runs some schedules: one preemption at evenly spaced lines, then a second one drawn with a fixed seed."""
    gc.disable()
    try:
        _warm(scenario)
        draw, orders, runs = random.Random(scenario.name), _orders(scenario), 0
        for order in orders:
            choices = run(scenario, (), order)
            single = [Preemption(line, thread) for line, threads in enumerate(choices) for thread in threads]
            for preemption in single[:: max(1, 2 * len(orders) * len(single) // count)]:
                choices = run(scenario, (preemption,), order)
                later = [line for line in range(preemption.line + 1, len(choices)) if choices[line]]
                if later:
                    line = draw.choice(later)
                    run(scenario, (preemption, Preemption(line, draw.choice(choices[line]))), order)
                runs += 1 + bool(later)
        return runs
    finally:
        gc.enable()
