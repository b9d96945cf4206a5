"""Is a device compiling a kernel? CuPy does so when an op meets new dtypes and ranks; the cell waits meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

SLOW = 0.1
"""Seconds from which a first use is worth a word."""


class Compiling(NamedTuple):
    """An op that is used for the first time in its way, and for how many seconds it has been at it.

    >>> tf.runtime.Compiling("GPU:0", "MatMul", 1.5)
    Compiling(device='GPU:0', op='MatMul', seconds=1.5)
    """

    device: str
    op: str
    seconds: float


class FirstUse:
    """The ways in which ops were used on one device, and the one that is new at this moment."""

    __slots__ = ("_device", "_now", "_told", "seconds", "seen")

    def __init__(self, device: str) -> None:
        """Has seen nothing."""
        self._device = device
        self.seen: set[Any] = set()
        self.seconds: float = 0.0
        """How long first uses took that were slow, all together."""
        self._now: tuple[str, float] | None = None
        self._told = False

    @contextmanager
    def expected(self) -> Generator[None]:
        """Says nothing in a block of which everybody knows that it takes its time."""
        outer, self._told = self._told, True
        try:
            yield
        finally:
            self._told = outer

    def start(self, op: str) -> None:
        """Notes that an op is used in a new way."""
        self._now = op, perf_counter()

    def finish(self, key: Any) -> None:
        """Notes that it has run; says so once where it took long."""
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
                f"nbtf: compiling GPU kernels (first use): {now[0]} on {self._device} took {seconds:.1f} s. CuPy keeps "
                "what it compiles; tf.runtime.warmup() does it beforehand."
            )
            print(text, file=sys.stderr)  # noqa: T201  # a pause that nobody explains looks like a fault

    def give_up(self) -> None:
        """Notes that it failed; the next use is a first one again."""
        self._now = None

    def now(self) -> Compiling | None:
        """Returns what is being compiled, as seen from another thread; None while it may just be an op."""
        now = self._now
        if now is None:
            return None
        seconds = perf_counter() - now[1]
        return Compiling(self._device, now[0], seconds) if seconds >= SLOW else None
