"""A way is a generator that pauses after each phase, so that a scope can be opened for the next one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

import numpy as np

Phases = Generator[str, None, Iterable[Any]]
"""Yields the name of each completed phase, and returns the variables."""

Device = Callable[[int | None], str]
"""Returns the name of a GPU, or the CPU's for None."""

Way = Callable[[Any, Device], Phases]
"""Takes TensorFlow or nbtf, and a function that names its devices."""

X, Y = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
STEPS = np.ones((4, 5, 3), np.float32)
