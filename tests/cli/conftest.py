"""What tests of the command line share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest


@pytest.fixture
def lines_run() -> Callable[[Callable[[], Any]], int]:
    """Counts the lines of Python that a call runs: twice the input is to run twice as many."""

    def count(call: Callable[[], Any]) -> int:
        lines = 0

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
        return lines

    return count
