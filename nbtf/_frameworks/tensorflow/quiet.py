"""Ops of the watch itself, which nothing counts or records."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class _Quiet(threading.local):
    """Whether the ops of this thread are the watch's own."""

    is_on = False


QUIET = _Quiet()


@contextmanager
def quiet() -> Generator[None]:
    """Runs the ops of a block unobserved."""
    earlier, QUIET.is_on = QUIET.is_on, True
    try:
        yield
    finally:
        QUIET.is_on = earlier
