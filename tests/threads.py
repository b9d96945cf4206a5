"""Work done by several threads at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


def in_threads(work: Callable[[int], object], count: int = 8) -> None:
    """Runs work in threads that start together; what one of them raises is raised here."""
    errors, start = list[BaseException](), threading.Barrier(count)

    def guarded(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def switching_often(seconds: float = 1e-6) -> Generator[None]:
    """Lets threads take turns after almost every call: what can go wrong between two goes wrong sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
