"""`tf.autograph`: functions run eagerly, so Python's control flow is left as it is, and so are functions."""

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
    """Returns a function as it is: there is nothing to convert it to.

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
    """Returns the source of a function as it is written.

    Args:
      entity: the function.
      recursive: accepted and ignored.
      experimental_optional_features: accepted and ignored.

    Returns:
      Its text.

    Raises:
      OSError: the source is not to be found.
    """
    return inspect.getsource(inspect.unwrap(entity))


def trace(*args: Any) -> None:
    """Prints its arguments; in TensorFlow while a function is traced, here at every call.

    Args:
      *args: anything.

    >>> tf.autograph.trace("here", 1)
    here 1
    """
    print(*args)  # noqa: T201  # that is what it is for


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Accepts a level of detail; nothing is converted, so nothing is told.

    Args:
      level: accepted and ignored.
      alsologtostdout: accepted and ignored.
    """
