"""For how long did the program work, and for how long did it wait for a processor?"""

from __future__ import annotations

from typing import NamedTuple

_PATH = "/proc/self/schedstat"
"""Of the main thread, in which cells run. Source: `Documentation/scheduler/sched-stats.rst` of Linux."""


class Work(NamedTuple):
    """Seconds since the program's main thread has begun: in which it worked, and in which it waited for its turn.

    What it slept is in neither, nor what it waited for a file or a lock.
    """

    worked: float
    waited: float

    def since(self, earlier: Work) -> Work:
        """Returns what came after an earlier look.

        >>> Work(worked=3.0, waited=1.0).since(Work(worked=1.0, waited=0.5))
        Work(worked=2.0, waited=0.5)
        """
        return Work(self.worked - earlier.worked, self.waited - earlier.waited)


def main_thread_work() -> Work:
    """Returns it as the system counts it; nothing where that does not say."""
    try:
        with open(_PATH, encoding="ascii") as file:
            worked, waited, _ = map(int, file.read().split())
    except (OSError, ValueError):
        return Work(0.0, 0.0)
    return Work(worked / 1e9, waited / 1e9)
