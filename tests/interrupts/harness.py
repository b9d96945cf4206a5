"""Checks the conditions that must hold after an interrupt at any point, once the cell has ended."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import nbtf as tf
from nbtf._locks import _all_locks
from nbtf._runtime.blocks import end_cell
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE
from tests.devices.slow_bfc import problems
from tests.interrupts.scenarios import SCENARIOS, Scenario
from tests.interrupts.tracing import interrupted

ERRORS: tuple[type[BaseException], ...] = (KeyboardInterrupt, MemoryError)


def survive(name: str, share: int | None = None, tell: Callable[[str], object] = print) -> tuple[int, list[str]]:
    """Interrupts a scenario at its points; returns their number, and the problems after each interrupt.

    Args:
      name: name of the scenario.
      share: number of points, evenly spread; None for all.
      tell: called with each problem when it is found.
    """
    scenario, points, failures = SCENARIOS[name], 0, list[str]()
    with scenario.start() as (action, check), _swallowed() as swallowed, _silence():
        action()
        action()
        usual = SCOPE(), _levels()
        total = interrupted(action, 0, KeyboardInterrupt, scenario.by_line).points
        step = 1 if share is None else max(1, total * len(ERRORS) // share)
        for error in ERRORS:
            for at in range(1, total + 1, step):
                points += 1
                wrong = _after(scenario, action, check, at, error, usual) + swallowed
                swallowed.clear()
                for failure in wrong:
                    failures.append(f"{name}, {error.__name__} at {at}: {failure}")
                    tell(failures[-1])
        action()
        check()
    return points, failures


def survive_apart(name: str, share: int | None) -> tuple[int, list[str]]:
    """Does the same in a separate process."""
    program = [sys.executable, "-m", "tests.interrupts", name, *([] if share is None else ["--share", str(share)])]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    *failures, _, summary = done.stdout.splitlines() or ["", done.stderr]
    if done.returncode and not failures:
        failures = [done.stdout + done.stderr]
    return int(summary.split()[0].replace(",", "")), failures


def _after(
    scenario: Scenario, action: Callable[[], Any], check: Callable[[], None], at: int, error: Any, usual: Any
) -> list[str]:
    """Returns the problems after an error at a point."""
    point, wrong = "", list[str]()
    try:
        point = interrupted(action, at, error, scenario.by_line).place
    except BaseException as other:  # any error other than the interrupt is a problem
        wrong.append(f"{type(other).__name__}: {other}")
    end_cell()
    if sys.exc_info()[1] is not None:
        wrong.append("an error is handled for good")
    scope, levels = usual
    if SCOPE() is not scope:
        wrong.append("a scope is open")
    if any([not repr(lock).startswith("<unlocked") for lock in _all_locks()]):
        wrong.append("a lock is taken")
    if _levels() != levels:
        gc.collect()
        if _levels() != levels:
            wrong.append(f"bytes in use: {_levels()}, not {levels}")
    for gpu in _gpus():
        wrong += problems(gpu.allocator)
    try:
        assert tf.add(1.0, 2.0).numpy() == 3.0 if scope is None else True, "the next op is wrong"
        check()
    except BaseException as other:  # likewise
        wrong.append(f"{type(other).__name__}: {other}")
    return [f"{failure} [{point}]" for failure in wrong]


def _gpus() -> list[Any]:
    machine = CURRENT.context.machine
    return [] if machine is None else [device for device in machine.devices if device.type == "GPU"]


def _levels() -> list[int]:
    return [gpu.memory.level()[0] for gpu in _gpus()]


@contextmanager
def _swallowed() -> Generator[list[str]]:
    """Collects errors that Python could not raise."""
    caught: list[str] = []
    before, sys.unraisablehook = (
        sys.unraisablehook,
        lambda raised: caught.append(f"swallowed: {type(raised.exc_value).__name__} in {raised.object}"),
    )
    try:
        yield caught
    finally:
        sys.unraisablehook = before


@contextmanager
def _silence() -> Generator[None]:
    """Suppresses log lines about closed scopes, of which there are thousands."""
    logger = logging.getLogger("tensorflow")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
