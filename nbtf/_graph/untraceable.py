"""Why a function could not be traced: it needs values itself, or something of the package does that it calls."""

from __future__ import annotations

from types import TracebackType

from nbtf._devices.sites import is_ours
from nbtf._graph.lengths import NotKnownError
from nbtf.errors import OperatorNotAllowedInGraphError

_WORDS = ("SymbolicTensor", "symbolic Tensor", "before a session runs")
"""What errors say where a value is not there."""

_ASKED = (
    *("_graph/tensor.py", "_runtime/tensor.py", "_graph/lengths.py", "_graph/function_graph.py"),
    *("autograph/operators.py", "autograph/symbolic.py", "arrays/tensor_array.py"),
)
"""Files whose functions refuse values: who asked them stands one frame above."""


def needs_values(error: BaseException, has_open_lengths: bool) -> bool:
    """Tells whether code of the package asked for a value that is not there while a function is traced.

    Args:
      error: what it raised then.
      has_open_lengths: whether lengths of arguments are not known.
    """
    if not isinstance(error, NotKnownError | OperatorNotAllowedInGraphError | NotImplementedError):
        is_symbolic = isinstance(error, AttributeError | TypeError) and any([word in str(error) for word in _WORDS])
        if not is_symbolic and not (has_open_lengths and isinstance(error, TypeError | ValueError)):
            return False
    return _asks_for_values(error.__traceback__)


def _asks_for_values(step: TracebackType | None) -> bool:
    """Tells whether the innermost frame that does not itself refuse is one of the package."""
    asks = False
    while step is not None:
        file = step.tb_frame.f_code.co_filename.replace("\\", "/")
        if not file.endswith(_ASKED):
            asks = is_ours(step.tb_frame)
        step = step.tb_next
    return asks
