"""How long did the program work, and how long did it wait for a processor?"""

from __future__ import annotations

from typing import NamedTuple

_PATH = "/proc/self/schedstat"
"""Statistics of the main thread, in which cells run. Source: `Documentation/scheduler/sched-stats.rst` of Linux."""


class Work(NamedTuple):
    """Seconds that the program's main thread has worked, and has waited for a processor, since it started.

    Time spent sleeping, or waiting for a file or a lock, is in neither.
    """

    worked: float
    waited: float

    def since(self, earlier: Work) -> Work:
        """Returns the seconds that were added since an earlier measurement.

        >>> Work(worked=3.0, waited=1.0).since(Work(worked=1.0, waited=0.5))
        Work(worked=2.0, waited=0.5)
        """
        return Work(self.worked - earlier.worked, self.waited - earlier.waited)


def main_thread_work() -> Work:
    """Returns the main thread's times as the system counts them; zeros if the system does not report them."""
    try:
        with open(_PATH, encoding="ascii") as file:
            worked, waited, _ = map(int, file.read().split())
    except (OSError, ValueError):
        return Work(0.0, 0.0)
    return Work(worked / 1e9, waited / 1e9)
