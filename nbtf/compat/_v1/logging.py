"""`tf.logging` of TensorFlow 1: library messages, sent through the Python logger `tensorflow`."""

from __future__ import annotations

import sys
from collections import Counter
from logging import DEBUG as DEBUG
from logging import ERROR as ERROR
from logging import FATAL as FATAL
from logging import INFO as INFO
from logging import WARN as WARN
from types import FrameType
from typing import Any

from nbtf._public import public_names as _public_names
from nbtf._runtime.logger import get_logger

# Number of stack frames between the logger and the caller, so that records name the caller's line.
_FRAMES = 2


def __dir__() -> list[str]:
    return _public_names(__name__)


def get_verbosity() -> int:
    """Returns the lowest level that is shown; initially 30, which is `WARN`.

    >>> import nbtf.compat.v1 as tf1
    >>> before = tf1.logging.get_verbosity()
    >>> tf1.logging.set_verbosity(tf1.logging.ERROR)
    >>> tf1.logging.get_verbosity()
    40
    >>> tf1.logging.set_verbosity(before)
    """
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Sets the lowest level that is shown.

    Args:
      v: `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`.
    """
    get_logger().setLevel(v)


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at a level."""
    get_logger().log(level, msg, *args, stacklevel=_FRAMES, **kwargs)


vlog = log


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `DEBUG`."""
    get_logger().debug(msg, *args, stacklevel=_FRAMES, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `INFO`."""
    get_logger().info(msg, *args, stacklevel=_FRAMES, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `WARN`."""
    get_logger().warning(msg, *args, stacklevel=_FRAMES, **kwargs)


warn = warning


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `ERROR`."""
    get_logger().error(msg, *args, stacklevel=_FRAMES, **kwargs)


TaskLevelStatusMessage = error


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `FATAL`; the program continues."""
    get_logger().critical(msg, *args, stacklevel=_FRAMES, **kwargs)


def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Logs `msg % args` at a level if a condition holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=_FRAMES)


_COUNTS: Counter[tuple[str, int]] = Counter()


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs `msg % args` the first time that the calling line runs, and every n-th time after that."""
    if _times_before(sys._getframe(1)) % n == 0:
        get_logger().log(level, msg, *args, stacklevel=_FRAMES)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs `msg % args` the first n times that the calling line runs."""
    if _times_before(sys._getframe(1)) < n:
        get_logger().log(level, msg, *args, stacklevel=_FRAMES)


def _times_before(frame: FrameType) -> int:
    """Returns how often a line has run before."""
    line = frame.f_code.co_filename, frame.f_lineno
    _COUNTS[line] += 1
    return _COUNTS[line] - 1


def flush() -> None:
    """Raises an error, as TensorFlow does.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError
