"""`tf.autograph.experimental`: controls the conversion of functions."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from types import FunctionType
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
    """Returns a function whose branches and loops, including those of functions it calls, are not converted.

    Args:
      func: the function; without it, a decorator is returned.

    Returns:
      The marked function, or the decorator.

    >>> @tf.autograph.experimental.do_not_convert
    ... def absolute(x):
    ...     return -x if x < 0 else x
    >>> absolute(tf.constant(-2)).numpy()
    np.int32(2)
    """
    if func is None:
        return do_not_convert
    if not isinstance(func, FunctionType):
        return func
    marked: Any = FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
    marked.__kwdefaults__ = func.__kwdefaults__
    functools.update_wrapper(marked, func)
    marked.__autograph_do_not_convert__ = True
    return marked


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Sets how a loop over tensors is built in a traced function; has no effect elsewhere.

    Call it in the body of the loop, which `tf.function` converts.

    Args:
      parallel_iterations: accepted and ignored; iterations run one after another.
      swap_memory: accepted and ignored.
      maximum_iterations: number of iterations after which the loop ends in any case.
      shape_invariants: pairs of a variable and the shape that it has in every iteration.
    """
