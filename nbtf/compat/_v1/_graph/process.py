"""Whether `compat.v1` builds graphs, which one by default, and how shapes look: state of the process."""

from __future__ import annotations

import sys
from typing import Any

from nbtf._runtime.context import CURRENT

DOOR = "nbtf.compat.v1"
"""The module that a program imports to have TensorFlow 1 as it was."""


class Switch:
    """What a program may switch; until it does, it is off where the program imported `nbtf.compat.v1` itself."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Takes its name."""
        self._name = name

    def __get__(self, process: Process, owner: type) -> bool:
        """Tells whether it is on: what TensorFlow 2 does."""
        return process.switched.get(self._name, DOOR not in sys.modules)

    def __set__(self, process: Process, on: bool) -> None:
        """Switches."""
        process.switched[self._name] = on


class Process:
    """What programs switch for the whole process; `tf.runtime.restart` starts with a new one."""

    __slots__ = ("context", "graph", "sessions", "switched")

    eager = Switch()
    v2_shapes = Switch()
    resource_variables = Switch()

    def __init__(self, context: Any) -> None:
        self.context = context
        self.graph: Any = None
        self.sessions: list[Any] = []
        """The interactive sessions that are open; the last one is the default session."""
        self.switched: dict[str, bool] = {}

    @property
    def is_tensorflow_1(self) -> bool:
        """Whether the program is one of TensorFlow 1: it imported `nbtf.compat.v1` itself, and switched nothing."""
        return DOOR in sys.modules and not self.switched


class _Now:
    process = Process(CURRENT.context)


def process() -> Process:
    """Returns the switches; new ones when the runtime was restarted since."""
    now = _Now.process
    if now.context is not CURRENT.context:
        now = _Now.process = Process(CURRENT.context)
    return now
