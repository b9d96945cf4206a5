"""`tf.logging` of TensorFlow 1: library messages, sent through the Python logger `tensorflow`."""

from __future__ import annotations

from logging import DEBUG as DEBUG
from logging import ERROR as ERROR
from logging import FATAL as FATAL
from logging import INFO as INFO
from logging import WARN as WARN
from typing import Any, NoReturn

from nbtf._missing import of_tensorflow_1 as _missing
from nbtf._public import public_names as _public_names
from nbtf._runtime.logger import get_logger

# Number of stack frames between the logger and the caller, so that records name the caller's line.
_FRAMES = 2


def __dir__() -> list[str]:
    return _public_names(__name__)


def __getattr__(name: str) -> NoReturn:
    raise _missing(f"logging.{name}")


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


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at level `FATAL`; the program continues."""
    get_logger().critical(msg, *args, stacklevel=_FRAMES, **kwargs)
