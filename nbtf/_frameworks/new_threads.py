"""What happens at the beginning of each thread?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def on_new_threads(then: Callable[[], object]) -> tuple[Callable[[], None], Callable[[], None]]:
    """Has a function called on each thread that begins now or later, before its code runs.

    Python's place for that is the profiler of new threads: it is there for one call, and the one before comes after it.

    Args:
      then: what an error of it would break is the user's thread, so it must not raise.

    Returns:
      What begins this, and what calls it off, which may come first: an interrupt can cut the beginning in two.
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
        is_on = False  # where a profiler came later, it may go on calling `begin`
        if threading.getprofile() is begin:
            threading.setprofile(outer_profile)

    return lambda: threading.setprofile(begin), call_off
