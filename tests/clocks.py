"""A clock that one module reads, while all other threads of the process go on reading theirs."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


def set_clock(patches: pytest.MonkeyPatch, module: ModuleType, **functions: Callable[[], float]) -> None:
    """Has a module read another clock.

    Args:
      patches: end with the test.
      module: has imported `time`.
      **functions: of `time`, which the module calls: `monotonic=lambda: 0.0`.
    """
    clock: Any = ModuleType("time")
    vars(clock).update(vars(time) | functions)
    patches.setattr(module, "time", clock)
