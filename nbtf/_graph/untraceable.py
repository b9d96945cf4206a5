"""Finds out why a function could not be traced: whether it needs values itself, or package code that it calls does."""

from __future__ import annotations

from types import TracebackType

from nbtf._devices.sites import is_ours
from nbtf._graph.lengths import NotKnownError
from nbtf.errors import OperatorNotAllowedInGraphError

_WORDS = ("SymbolicTensor", "symbolic Tensor", "before a session runs")
"""Words in the errors that are raised for a missing value."""

_ASKED = (
    *("_graph/tensor.py", "_runtime/tensor.py", "_graph/lengths.py", "_graph/function_graph.py"),
    *("autograph/operators.py", "autograph/symbolic.py", "arrays/tensor_array.py"),
)
"""Files whose functions raise errors for missing values; the code that needs the value is one frame above."""


def needs_values(error: BaseException, has_open_lengths: bool) -> bool:
    """Returns whether package code needed a value that does not exist while a function is traced.

    Args:
      error: the error that was raised.
      has_open_lengths: whether lengths of arguments are unknown.
    """
    if not isinstance(error, NotKnownError | OperatorNotAllowedInGraphError | NotImplementedError):
        is_symbolic = isinstance(error, AttributeError | TypeError) and any([word in str(error) for word in _WORDS])
        if not is_symbolic and not (has_open_lengths and isinstance(error, TypeError | ValueError)):
            return False
    return _asks_for_values(error.__traceback__)


def cause_in(error: BaseException) -> str:
    r"""Returns the line of an error's text that names the cause, without the lines of the traced code before it.

    >>> cause_in(ValueError("in user code:\n\n    File 'a.py', line 2, in f\n        g()\n\n    ValueError: no\n"))
    'ValueError: no'
    """
    first, *lines = str(error).strip().split("\n") or [""]
    stated = [line.strip() for line in lines if line[:4] == "    " and line[4:5].strip() and line[4:9] != "File "]
    return stated[0] if first == "in user code:" and stated else first


def _asks_for_values(step: TracebackType | None) -> bool:
    """Returns whether the innermost frame, apart from those that raise for missing values, is in the package."""
    asks = False
    while step is not None:
        file = step.tb_frame.f_code.co_filename.replace("\\", "/")
        if not file.endswith(_ASKED):
            asks = is_ours(step.tb_frame)
        step = step.tb_next
    return asks
