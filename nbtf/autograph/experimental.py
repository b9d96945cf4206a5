"""`tf.autograph.experimental`: what steers the conversion of functions, without effect here."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

__all__ = ["Feature", "do_not_convert", "set_loop_options"]


def __dir__() -> list[str]:
    return __all__


class Feature(enum.Enum):
    """Optional parts of the conversion; without effect."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Returns a function as it is; without one, a decorator that does.

    Args:
      func: the function.

    Returns:
      `func`, or the decorator.

    >>> tf.autograph.experimental.do_not_convert(len)([1, 2])
    2
    """
    return do_not_convert if func is None else func


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Accepts options of a loop, which runs as Python runs it.

    Args:
      parallel_iterations: accepted and ignored.
      swap_memory: accepted and ignored.
      maximum_iterations: accepted and ignored.
      shape_invariants: accepted and ignored.
    """
