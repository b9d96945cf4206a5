"""Is the value of a line magic used, or would it be lost?

IPython shows the value of a cell's last line only. A magic in a loop, in `except` or in the middle of a cell is an
expression whose value Python drops.
"""

from __future__ import annotations

import dis
import sys
from types import FrameType

_MACHINERY = frozenset({"IPython", "ipykernel", "traitlets", "decorator", __name__.partition(".")[0]})
"""Top-level modules between the user's code and a magic."""


def is_value_dropped() -> bool:
    """Returns whether the user's code that called the running magic drops its value."""
    frame = _caller()
    if frame is None:
        return False
    following = next((step for step in dis.get_instructions(frame.f_code) if step.offset > frame.f_lasti), None)
    return following is not None and following.opname == "POP_TOP"


def _caller() -> FrameType | None:
    """Returns the innermost frame of the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _MACHINERY:
        frame = frame.f_back
    return frame
