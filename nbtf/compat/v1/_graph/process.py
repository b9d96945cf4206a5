"""Whether `compat.v1` builds graphs, which one by default, and how shapes look: state of the process."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.context import CURRENT


class Process:
    """What programs switch for the whole process; `tf.runtime.restart` starts with a new one."""

    __slots__ = ("context", "eager", "graph", "resource_variables", "sessions", "tensor_equality", "v2_shapes")

    def __init__(self, context: Any) -> None:
        """Starts as TensorFlow 1 did: ops build a graph."""
        self.context = context
        self.graph: Any = None
        self.sessions: list[Any] = []
        """The interactive sessions that are open; the last one is the default session."""
        self.eager = False
        self.v2_shapes = False
        self.tensor_equality = False
        self.resource_variables = False


class _Now:
    process = Process(CURRENT.context)


def process() -> Process:
    """Returns the switches; new ones when the runtime was restarted since."""
    now = _Now.process
    if now.context is not CURRENT.context:
        now = _Now.process = Process(CURRENT.context)
    return now
