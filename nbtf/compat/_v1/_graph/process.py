"""Process-wide state of `compat.v1`: whether ops build graphs, the default graph, and the kind of shapes."""

from __future__ import annotations

import sys
from typing import Any

from nbtf._runtime.context import CURRENT

DOOR = "nbtf.compat.v1"
"""The module whose import by a program selects TensorFlow 1 behaviour."""


class Switch:
    """A setting whose default is off if the program itself imported `nbtf.compat.v1`; otherwise it is on."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Stores the attribute's name."""
        self._name = name

    def __get__(self, process: Process, owner: type) -> bool:
        """Returns whether the setting is on, which means TensorFlow 2 behaviour."""
        return process.switched.get(self._name, DOOR not in sys.modules)

    def __set__(self, process: Process, on: bool) -> None:
        """Sets the setting."""
        process.switched[self._name] = on


class Process:
    """The settings of the whole process; `tf.runtime.restart` replaces them with new ones."""

    __slots__ = ("context", "graph", "sessions", "switched")

    eager = Switch()
    v2_shapes = Switch()
    resource_variables = Switch()

    def __init__(self, context: Any) -> None:
        self.context = context
        self.graph: Any = None
        self.sessions: list[Any] = []
        """The open interactive sessions; the last one is the default session."""
        self.switched: dict[str, bool] = {}

    @property
    def is_tensorflow_1(self) -> bool:
        """Whether this is a TensorFlow 1 program: it imported `nbtf.compat.v1` itself and changed no setting."""
        return DOOR in sys.modules and not self.switched


class _Now:
    process = Process(CURRENT.context)


def process() -> Process:
    """Returns the current settings, which are new after each restart of the runtime."""
    now = _Now.process
    if now.context is not CURRENT.context:
        now = _Now.process = Process(CURRENT.context)
    return now
