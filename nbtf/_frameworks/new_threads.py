"""What happens at the beginning of each thread?"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any


def on_new_threads(then: Callable[[], object]) -> Callable[[], None]:
    """Has a function called on each thread that begins now or later, before its code runs; returns what calls it off.

    Python's place for that is the profiler of new threads: it is there for one call, and the one before comes after it.

    Args:
      then: what an error of it would break is the user's thread, so it must not raise.
    """
    before, is_on = threading.getprofile(), True

    def begin(frame: Any, event: Any, argument: Any) -> None:
        sys.setprofile(before)
        if is_on:
            then()
        if before is not None:
            before(frame, event, argument)

    def call_off() -> None:
        nonlocal is_on
        is_on = False  # where a profiler came later, it may go on calling `begin`
        if threading.getprofile() is begin:
            threading.setprofile(before)

    threading.setprofile(begin)
    return call_off
