"""Which key was pressed? Asked of a terminal that would else wait for Enter and show the key."""

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
"""Returns the key that is pressed within some seconds, or an empty text after them."""


@contextlib.contextmanager
def pressed_keys() -> Generator[Wait]:
    """Has single keys come from the terminal within the block; where they cannot come, none is ever pressed."""
    try:
        terminal: Any = import_module("termios")
    except ModuleNotFoundError:  # Windows
        yield _sleep
        return
    try:
        descriptor = sys.stdin.fileno()
        settings = terminal.tcgetattr(descriptor)
    except (OSError, ValueError, terminal.error):  # no terminal, or a closed one
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
