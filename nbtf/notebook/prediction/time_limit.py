"""The time limit of a prediction, and how it ends a program."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_AGAIN = 5.0
"""Seconds until a program is interrupted again, in case a bare `except` caught the first interrupt."""


class TimeUp(BaseException):
    """Ends a program whose time is up; the program's `except Exception` does not catch it."""


class TimeLimit:
    """The time limit of all runs of a program together, starting now."""

    def __init__(self, seconds: float) -> None:
        """Stores the limit in seconds; 0 means no limit."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds if seconds else float("inf")

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() > self._end

    def check(self) -> None:
        """Raises `TimeUp` if no time is left."""
        if self.is_over:
            raise TimeUp

    @contextmanager
    def interrupting(self) -> Generator[None]:
        """Interrupts the program in the block when the time is up, even if it allocates no memory."""
        if self._end == float("inf") or not hasattr(signal, "setitimer"):
            yield
            return
        previous = signal.signal(signal.SIGALRM, self._interrupt)
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, max(self._end - time.monotonic(), 1e-3), _AGAIN)
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # an interrupt may come just before the timer is stopped: the next one is some seconds away
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    def _interrupt(self, *_: Any) -> None:
        raise TimeUp
