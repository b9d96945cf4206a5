"""The real GPUs that this process has opened. They are lost together, and closed before Python ends."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from functools import cache
from typing import Protocol
from weakref import WeakSet

from nbtf._devices.cuda.probe import FORKED
from nbtf.errors import FailedPreconditionError, OpError


class OpenedGPU(Protocol):
    """The part of a real GPU that this file needs."""

    @property
    def started(self) -> bool:
        """Whether it has a CUDA context."""
        ...

    def lose(self, error: OpError) -> None:
        """Makes every later call fail with an error like this one."""

    def synchronize(self) -> None:
        """Waits until all started work has finished."""

    def close(self) -> None:
        """Releases idle memory to the card."""


OPENED: WeakSet[OpenedGPU] = WeakSet()
"""The opened devices."""


def remember(device: OpenedGPU) -> None:
    """Adds a device that is about to be opened."""
    _end_in_time()
    OPENED.add(device)


def lose_all(error: OpError) -> None:
    """Makes every later call of every opened device fail with an error."""
    for device in list(OPENED):
        device.lose(error)


@cache
def _end_in_time() -> None:
    """Registers `_end` to run before CuPy's own exit functions; CuPy has been imported by now."""
    atexit.register(_end)


def _end() -> None:
    """Waits for the cards before Python unloads CuPy; nothing waits for later finalizers."""
    for device in list(OPENED):
        with suppress(Exception):
            device.synchronize()
        device.close()


def _after_fork() -> None:
    """Marks all opened devices as lost in the child process, because CUDA does not survive a fork."""
    for device in list(OPENED):
        if device.started:
            device.lose(FailedPreconditionError(FORKED))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
