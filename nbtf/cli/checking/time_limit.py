"""How long may comparing take, and what ends it? A rule of a user's may take longer than anybody can wait."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class TooSlowError(Exception):
    """The time for comparing is over; `rule` is the pattern in which it was spent, or empty."""

    rule = ""


@contextmanager
def comparing_within(seconds: float | None) -> Generator[None]:
    """Ends a block that compares outputs after a time, or at once by Ctrl-C, even inside a pattern.

    A pattern lets no other thread run, so a signal must end it. The block is not ended outside the main thread, nor on
    Windows, which has no timer for signals.

    Args:
      seconds: what the block may take; None for any time.

    Raises:
      TooSlowError: if the time is over.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    started = time.monotonic()
    alarm = signal.signal(signal.SIGALRM, _stop)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's waits until the block is left
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 1e-3) if left else 0, interval)
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGALRM, alarm)


def _stop(*_: Any) -> None:
    raise TooSlowError
