"""Which schedules are tried: all with few preemptions, or a share of them that is the same each time."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.interleavings.scheduler import MADE, Preemption, Schedule, Scheduler, turn_locks


@dataclass(frozen=True)
class Scenario:
    """What some threads do to one state, and what must be true of it afterwards, whatever the order."""

    name: str
    begin: Callable[[], Any]
    """Makes the state."""
    bodies: tuple[Callable[[Any], object], ...]
    """What each thread does with it."""
    check: Callable[[Any], None]
    """Asserts what must be true when all have ended."""
    end: Callable[[Any], None] = lambda state: None

    def __str__(self) -> str:
        return self.name


class Failure(Exception):  # noqa: N818  # it says which schedule has failed
    """A schedule after which something is wrong."""


Choices = list[tuple[int, ...]]
"""For each line of a run the other threads that could have gone on there."""


def run(scenario: Scenario, schedule: Schedule) -> Choices:
    """Runs one schedule; returns where others would have been possible.

    Raises:
      Failure: something is wrong afterwards.
    """
    with turn_locks():
        state = scenario.begin()
        try:
            scheduler = Scheduler([lambda body=body: body(state) for body in scenario.bodies], schedule)
            scheduler.run()
            assert not any(lock.is_held for lock in MADE), "a lock is still held"
            scenario.check(state)
        except Exception as error:
            raise Failure(f"{scenario}, {list(map(tuple, schedule))}: {type(error).__name__}: {error}") from error
        finally:
            scenario.end(state)
    return scheduler.choices


def _warm(scenario: Scenario) -> Choices:
    """Runs a scenario until caches are filled, so that the same schedule always means the same."""
    for _ in range(2):
        for first in range(len(scenario.bodies)):
            run(scenario, (Preemption(0, first),))
    return run(scenario, ())


def schedules(scenario: Scenario, most: int) -> Iterator[Schedule]:
    """Runs all schedules with at most so many preemptions, and yields each."""

    def after(schedule: Schedule, choices: Choices) -> Iterator[Schedule]:
        if len(schedule) == most:
            return
        for line in range(schedule[-1].line + 1 if schedule else 0, len(choices)):
            for thread in choices[line]:
                longer = (*schedule, Preemption(line, thread))
                choices_then = run(scenario, longer)
                yield longer
                yield from after(longer, choices_then)

    choices = _warm(scenario)
    yield ()
    yield from after((), choices)


def explore(scenario: Scenario, preemptions: int, limit: int | None = None) -> int:
    """Runs all schedules with at most so many preemptions, or the first so many of them; returns how many."""
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
    """Runs some schedules: one preemption at lines of equal distance, then two, drawn with a fixed seed."""
    gc.disable()
    try:
        choices, draw = _warm(scenario), random.Random(scenario.name)
        single = [Preemption(line, thread) for line, others in enumerate(choices) for thread in others]
        first = single[:: max(1, 2 * len(single) // count)]
        for preemption in first:
            choices_then = run(scenario, (preemption,))
            line = draw.randrange(preemption.line + 1, len(choices_then) + 1)
            if line < len(choices_then) and choices_then[line]:
                run(scenario, (preemption, Preemption(line, draw.choice(choices_then[line]))))
        return 2 * len(first)
    finally:
        gc.enable()
