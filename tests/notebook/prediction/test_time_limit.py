"""Does a prediction's time limit interrupt only the program, wherever the interrupt comes?"""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType
from typing import Any

import pytest

from nbtf.notebook.prediction.time_limit import TimeLimit, TimeUp

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")

CODE = TimeLimit.interrupting.__wrapped__.__code__


def test_the_program_is_interrupted() -> None:
    limit = TimeLimit(0.01)

    with pytest.raises(TimeUp), limit.interrupting():
        time.sleep(60)


@pytest.mark.parametrize("line", sorted({line for _, _, line in CODE.co_lines() if line}))
def test_an_interrupt_in_any_line_leaves_no_timer(line: int) -> None:
    before, ran = signal.getsignal(signal.SIGALRM), list[str]()

    def interrupted_in(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not CODE:
            return None
        is_set = signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
        if event == "line" and frame.f_lineno == line and is_set and not ran:
            ran.append("interrupted")
            raise TimeUp
        return interrupted_in

    sys.settrace(interrupted_in)
    try:
        with TimeLimit(600).interrupting():
            pass
    except TimeUp:
        ran.append("raised")
    finally:
        sys.settrace(None)

    assert (0.0, 0.0) == signal.getitimer(signal.ITIMER_REAL)
    assert before is signal.getsignal(signal.SIGALRM)
    assert ran in ([], ["interrupted", "raised"])
