"""What the tests of variables share: a graph that is open, and the nodes in it."""

from __future__ import annotations

from typing import Any

import nbtf.compat.v1 as tf1


def nodes(graph: tf1.Graph) -> list[tuple[str, str]]:
    """The names and types of the nodes."""
    return [(node.name, node.type) for node in graph.get_operations()]


def initialized(*variables: Any) -> tf1.Session:
    """A session in which variables have their initial values."""
    session = tf1.Session()
    session.run([variable.initializer for variable in variables])
    return session
