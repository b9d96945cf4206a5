"""Which key was pressed? Reads single keys from a terminal, which normally waits for Enter and shows the key."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any

Wait = Callable[[float], str]
"""Returns the key that is pressed within some seconds; empty if none is."""


@contextlib.contextmanager
def pressed_keys() -> Generator[Wait]:
    """Reads single keys from the terminal within the block; reports no key if the terminal does not allow it."""
    try:
        terminal: Any = import_module("termios")
    except ModuleNotFoundError:  # Windows
        yield _sleep
        return
    try:
        descriptor = sys.stdin.fileno()
        settings = terminal.tcgetattr(descriptor)
    except (OSError, ValueError, terminal.error):  # not a terminal, or a closed one
        yield _sleep
        return
    import_module("tty").setcbreak(descriptor)
    try:
        yield lambda seconds: _key(descriptor, seconds)
    finally:
        terminal.tcsetattr(descriptor, terminal.TCSADRAIN, settings)


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _key(descriptor: int, seconds: float) -> str:
    readable, _, _ = select.select([descriptor], [], [], seconds)
    return os.read(descriptor, 1).decode(errors="replace") if readable else ""
