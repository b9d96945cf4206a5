"""How long may a prediction take, and what ends it?"""

from __future__ import annotations

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_AGAIN = 5.0
"""Seconds after which a program is interrupted once more: it may have caught the first time with a bare `except`."""


class TimeUp(BaseException):
    """Ends a program whose time is up; `except Exception` of the program does not stop it."""


class TimeLimit:
    """The time of all runs of a program together, from now on."""

    def __init__(self, seconds: float) -> None:
        """Takes how long they may take; 0 is for as long as they want."""
        self.seconds = seconds
        self._end = time.monotonic() + seconds if seconds else float("inf")

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() > self._end

    def check(self) -> None:
        """Raises `TimeUp` where no time is left."""
        if self.is_over:
            raise TimeUp

    @contextmanager
    def interrupting(self) -> Generator[None]:
        """Has a program in the block interrupted when the time is up, also where it asks for no memory."""
        if self._end == float("inf") or not hasattr(signal, "setitimer"):
            yield
            return
        previous = signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, max(self._end - time.monotonic(), 1e-3), _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    def _interrupt(self, *_: Any) -> None:
        raise TimeUp
