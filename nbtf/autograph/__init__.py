"""`tf.autograph`, for compatibility: its functions return Python functions unchanged."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from nbtf.autograph import experimental as experimental

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def __dir__() -> list[str]:
    return __all__


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None
) -> Callable[..., Any]:
    """Returns a function unchanged; no conversion is necessary.

    Args:
      entity: the function.
      recursive: accepted and ignored.
      experimental_optional_features: accepted and ignored.

    Returns:
      `entity`.

    >>> tf.autograph.to_graph(len)([1, 2])
    2
    """
    return entity


def to_code(entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Any = None) -> str:
    """Returns the source code of a function.

    Args:
      entity: the function.
      recursive: accepted and ignored.
      experimental_optional_features: accepted and ignored.

    Returns:
      The source code as it was written.

    Raises:
      OSError: if the source code cannot be found.
    """
    return inspect.getsource(inspect.unwrap(entity))


def trace(*args: Any) -> None:
    """Prints its arguments on every call; TensorFlow prints them only while a function is traced.

    Args:
      *args: values to print.

    >>> tf.autograph.trace("here", 1)
    here 1
    """
    print(*args)  # noqa: T201  # the purpose of this function


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepts a level of detail; has no effect, because nothing is converted or logged.

    Args:
      level: accepted and ignored.
      alsologtostdout: accepted and ignored.
    """
