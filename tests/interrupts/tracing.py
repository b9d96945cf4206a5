"""How an error comes at a given place: before the n-th instruction, or the n-th line, of the package's own code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import nbtf

_PACKAGE = str(Path(nbtf.__file__).parent)
_LANES = "<express lane"
_ACTION = "action"
"""What the function of a scenario is called that stands for the user's code; it is interrupted, too."""


class Interrupter:
    """A trace function that raises an error at a point; `points` counts those that came."""

    def __init__(self, at: int, error: type[BaseException], by_line: bool) -> None:
        """Takes the number of the point, counted from 1; at 0 it only counts."""
        self.points = 0
        self._at, self._error, self._by_line = at, error, by_line
        self.place = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        """Is told of a call: chooses the frames whose points count."""
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, _LANES)) and not code.co_name.startswith(_ACTION):
            return None
        if not self._by_line:
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._point

    def _point(self, frame: FrameType, event: str, _: object) -> Any:
        if event in ("line", "opcode"):
            self.points += 1
            if self.points == self._at:
                self.place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} ({frame.f_code.co_name})"
                raise self._error
        return self._point


def interrupted(action: Callable[[], object], at: int, error: type[BaseException], by_line: bool) -> Interrupter:
    """Runs an action that an error interrupts; only errors that stand for it are caught.

    Raises:
      AssertionError: a KeyboardInterrupt was swallowed.
    """
    interrupter, outer = Interrupter(at, error, by_line), sys.gettrace()
    came = False
    sys.settrace(interrupter)
    try:
        action()
    except error:
        came = True
    except Exception:
        sys.settrace(outer)
        if error is KeyboardInterrupt or not interrupter.place:
            raise
        came = True  # lack of memory is told in TensorFlow's words
    finally:
        sys.settrace(outer)
    assert came or not interrupter.place or error is not KeyboardInterrupt, f"swallowed at {interrupter.place}"
    return interrupter
