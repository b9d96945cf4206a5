"""Is a device compiling a kernel? CuPy compiles when an op sees new dtypes or ranks, and the cell waits."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

from nbtf._own_name import own_name

SLOW = 0.1
"""A first use is reported from this many seconds on."""


class Compiling(NamedTuple):
    """An op whose kernel is being compiled, and for how many seconds it has been running.

    >>> tf.runtime.Compiling("GPU:0", "MatMul", 1.5)
    Compiling(device='GPU:0', op='MatMul', seconds=1.5)
    """

    device: str
    op: str
    seconds: float


class FirstUse:
    """The signatures for which ops ran on one device, and the new one that is running now."""

    __slots__ = ("_device", "_now", "_told", "seconds", "seen")

    def __init__(self, device: str) -> None:
        """Starts without any signature."""
        self._device = device
        self.seen: set[Any] = set()
        self.seconds: float = 0.0
        """Total seconds of the slow first uses."""
        self._now: tuple[str, float] | None = None
        self._told = False

    @contextmanager
    def expected(self) -> Generator[None]:
        """Suppresses the message in a block that is known to take long."""
        outer, self._told = self._told, True
        try:
            yield
        finally:
            self._told = outer

    def start(self, op: str) -> None:
        """Records that an op starts with a new signature."""
        self._now = op, perf_counter()

    def finish(self, key: Any) -> None:
        """Records that the op has run; prints a message if it was the first slow one."""
        now, self._now = self._now, None
        self.seen.add(key)
        if now is None:
            return
        seconds = perf_counter() - now[1]
        if seconds < SLOW:
            return
        self.seconds += seconds
        if not self._told:
            self._told = True
            text = (
                f"nbtf: compiling GPU kernels (first use): {now[0]} on {self._device} took {seconds:.1f} s. CuPy "
                f"caches them. Call {own_name()}.runtime.warmup() to compile them in advance."
            )
            print(text, file=sys.stderr)  # noqa: T201  # an unexplained pause looks like a fault

    def give_up(self) -> None:
        """Records that the op failed; the next use counts as a first one again."""
        self._now = None

    def now(self) -> Compiling | None:
        """Returns the op that is compiling, for other threads; None while it may just be a normal op."""
        now = self._now
        if now is None:
            return None
        seconds = perf_counter() - now[1]
        return Compiling(self._device, now[0], seconds) if seconds >= SLOW else None
