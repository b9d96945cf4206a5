"""A block in which a function of TensorFlow 1 builds its nodes under a name, or runs its ops at once."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nbtf.compat.v1._graph.defaults import building


@contextmanager
def scoped(name: str | None, default: str) -> Generator[str | None]:
    """Opens a name scope of the default graph.

    Args:
      name: what the caller asked for.
      default: the scope when `name` is None.

    Yields:
      The whole name, with a `/`, which the last node takes; None where ops run at once.
    """
    graph = building()
    if graph is None:
        yield None
        return
    with graph.inside(), graph.name_scope(default if name is None else name) as scope:
        yield scope or None
