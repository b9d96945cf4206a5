"""Calls a function at the start of each thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def on_new_threads(then: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Arranges for a function to be called on each thread that starts from now on, before its code runs.

    It uses Python's profiler of new threads for one call, and then restores the previous profiler.

    Args:
      then: function to call; it must not raise, because an error would break the user's thread.

    Returns:
      A function that starts this, and one that cancels it. The second may be called first, after an interrupt.
    """
    outer_profile, is_on = threading.getprofile(), True

    def begin(frame: Any, event: Any, argument: Any) -> None:
        sys.setprofile(outer_profile)
        if is_on:
            then()
        if outer_profile is not None:
            outer_profile(frame, event, argument)

    def call_off() -> None:
        nonlocal is_on
        is_on = False  # a profiler installed later may still call `begin`
        if threading.getprofile() is begin:
            threading.setprofile(outer_profile)

    return lambda: threading.setprofile(begin), call_off
