"""TensorFlow's warning for functions that are traced too often, and the calls that it counts."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from nbtf._runtime.logger import get_logger

# Source: the file polymorphic_function.py of TensorFlow 2.21 has these three numbers.
_REMEMBERED_CALLS = 10
_TOO_MANY_TRACES = 5
_WARNINGS = 2

_TEXT = (
    "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive and the excessive number "
    "of tracings could be due to (1) creating @tf.function repeatedly in a loop, (2) passing tensors with different "
    "shapes, (3) passing Python objects instead of tensors. For (1), please define your @tf.function outside of the "
    "loop. For (2), @tf.function has reduce_retracing=True option that can avoid unnecessary retracing. For (3), "
    "please refer to https://www.tensorflow.org/guide/function#controlling_retracing and "
    "https://www.tensorflow.org/api_docs/python/tf/function for  more details."
)


class CallHistory:
    """The latest calls of all functions made from the same Python code."""

    __slots__ = ("_calls_by_trace", "_warnings_left", "untraced")

    def __init__(self) -> None:
        """Starts without calls."""
        self.untraced = 0
        """Number of calls since the last trace."""
        self._calls_by_trace: list[int] = []
        """Number of calls that each of the latest traces served, including the call that traced it."""
        self._warnings_left = _WARNINGS

    def add_trace(self, python_function: Any) -> None:
        """Counts a call that was traced, and warns if too many of the latest calls were traced.

        Args:
          python_function: the function named in the warning.
        """
        calls = self._calls_by_trace
        if self.untraced and not calls:
            calls.append(0)
        if calls:
            calls[-1] += self.untraced
        self.untraced = 0
        calls.append(1)
        while sum(calls) - calls[0] > _REMEMBERED_CALLS:
            del calls[0]
        if len(calls) >= _TOO_MANY_TRACES and self._warnings_left:
            self._warnings_left -= 1
            get_logger().warning(_TEXT, len(calls), sum(calls), getattr(python_function, "__func__", python_function))


_histories: WeakKeyDictionary[Any, CallHistory] = WeakKeyDictionary()


def call_history(python_function: Any) -> CallHistory:
    """Returns the history of a function's code: functions recreated in a loop share it."""
    function = python_function
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    function = getattr(function, "__func__", function)
    try:
        return _histories.setdefault(getattr(function, "__code__", python_function), CallHistory())
    except TypeError:  # an object that cannot be a key
        return CallHistory()
