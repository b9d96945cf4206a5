"""What of the forward pass has made a node of autograd's graph? Nodes are numbered on each thread."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")

GENERATION = 100_000
"""Numbers after which the oldest are forgotten: a line is known for a graph of so many nodes at least."""


class ForwardLines(Generic[T]):
    """What has made the last nodes, in two generations: a loop over a million steps must not fill the memory."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        """Knows none yet."""
        self._newer: dict[int, T] = {}
        self._older: dict[int, T] = {}

    def keep(self, following: int, origin: T) -> None:
        """Keeps the origin of an op; a later one that makes no node meets the same number, and is not kept.

        Args:
          following: the number that the next node will have, while the op runs.
          origin: its place, for example.
        """
        self._newer.setdefault(following, origin)
        if len(self._newer) > GENERATION:
            self._older, self._newer = self._newer, {}

    def of(self, node: int) -> T | None:
        """Returns the origin of a node by its number."""
        return self._newer.get(node + 1) or self._older.get(node + 1)
