"""How long may comparing take, and what ends it? A user's rule may take longer than anyone would wait."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class TooSlowError(Exception):
    """The time limit for comparing is reached; `rule` is the pattern that was running, or empty."""

    rule = ""


@contextmanager
def comparing_within(seconds: float | None) -> Generator[None]:
    """Stops a block that compares outputs at a time limit, or at once after Ctrl-C, even inside a pattern.

    While a pattern runs, no other thread can, so a signal must stop it. The limit has no effect outside the main
    thread, or on Windows, which has no timer for signals.

    Args:
      seconds: time limit of the block; None for no limit.

    Raises:
      TooSlowError: if the time limit is reached.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    started = time.monotonic()
    alarm = signal.signal(signal.SIGALRM, _stop)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's acts only after the block
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 1e-3) if left else 0, interval)
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGALRM, alarm)


def _stop(*_: Any) -> None:
    raise TooSlowError
