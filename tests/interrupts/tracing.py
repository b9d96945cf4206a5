"""Raises an error at a given point: before the n-th instruction, or the n-th line, of the package's own code."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import nbtf

_PACKAGE = str(Path(nbtf.__file__).parent)
_LANES = "<express lane"
_ACTION = "action"
"""Name of the scenario's function that plays the user's code; it is interrupted as well."""


class Interrupter:
    """Raises an error at a point; `points` counts the points so far."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        """Takes the point's number, counted from 1; with 0 it only counts."""
        self.points = 0
        self._at, self._error = at, error
        self.place = ""

    def pass_point(self, code: CodeType, line: int) -> None:
        """Counts an instruction or a line that is about to run."""
        self.points += 1
        if self.points == self._at:
            self.place = f"{Path(code.co_filename).name}:{line} ({code.co_name})"
            raise self._error


def _counts(code: CodeType) -> bool:
    """Returns whether a function's points count: in the package itself and in the action they do."""
    return code.co_filename.startswith((_PACKAGE, _LANES)) or code.co_name.startswith(_ACTION)


@cache
def _handler_edges(code: CodeType) -> frozenset[int]:
    """Where the handlers of errors begin and end, in instructions at which Python looks for no signal.

    An error that a tracer raises there leaves the one that is handled in the thread for good: `sys.exc_info()` has it.
    """
    edges = ("PUSH_EXC_INFO", "POP_EXCEPT")
    return frozenset(each.offset for each in dis.get_instructions(code) if each.opname in edges)


@contextmanager
def _traced(interrupter: Interrupter, by_line: bool) -> Generator[None]:
    """Reports this thread's points to an interrupter, by `sys.settrace`."""

    def enter(frame: FrameType, event: str, _: object) -> Any:
        if not _counts(frame.f_code):
            return None
        if not by_line:
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return step

    def step(frame: FrameType, event: str, _: object) -> Any:
        if event == "line" or (event == "opcode" and frame.f_lasti not in _handler_edges(frame.f_code)):
            interrupter.pass_point(frame.f_code, frame.f_lineno)
        return step

    outer = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(outer)


if sys.version_info >= (3, 12):
    _TOOL = 4
    """A tool number that neither debuggers nor coverage nor profilers use."""

    @contextmanager
    def _monitored(interrupter: Interrupter, by_line: bool) -> Generator[None]:
        """Reports this thread's points to an interrupter, by `sys.monitoring`."""
        monitoring, thread = sys.monitoring, threading.get_ident()

        def step(code: CodeType, position: int) -> Any:
            if not _counts(code) or (not by_line and position in _handler_edges(code)):
                return monitoring.DISABLE
            if threading.get_ident() == thread:
                interrupter.pass_point(code, position if by_line else code.co_firstlineno)
            return None

        event = monitoring.events.LINE if by_line else monitoring.events.INSTRUCTION
        monitoring.use_tool_id(_TOOL, "interrupts")
        monitoring.register_callback(_TOOL, event, step)
        monitoring.set_events(_TOOL, event)
        try:
            yield
        finally:
            monitoring.set_events(_TOOL, 0)
            monitoring.register_callback(_TOOL, event, None)
            monitoring.free_tool_id(_TOOL)

    _watched = _monitored
else:
    _watched = _traced


def interrupted(action: Callable[[], object], at: int, error: type[BaseException], by_line: bool) -> Interrupter:
    """Runs an action that an error interrupts; only errors that stand for it are caught.

    Raises:
      AssertionError: a KeyboardInterrupt was swallowed.
    """
    interrupter, came = Interrupter(at, error), False
    try:
        with _watched(interrupter, by_line):
            action()
    except error:
        came = True
    except Exception:
        if error is KeyboardInterrupt or not interrupter.place:
            raise
        came = True  # a lack of memory raises TensorFlow's error
    assert came or not interrupter.place or error is not KeyboardInterrupt, f"swallowed at {interrupter.place}"
    return interrupter
