"""Which op of the forward pass has created a node of autograd's graph? Nodes are numbered on each thread."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")

GENERATION = 100_000
"""Numbers after which the oldest entries are dropped; a graph with fewer nodes is fully known."""


class ForwardLines(Generic[T]):
    """The origins of the latest nodes, in two generations, so that a loop over a million steps does not fill memory."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        """Creates an empty table."""
        self._newer: dict[int, T] = {}
        self._older: dict[int, T] = {}

    def keep(self, following: int, origin: T) -> None:
        """Keeps the origin of an op; a later op that creates no node meets the same number and is not kept.

        Args:
          following: number of the next node while the op runs.
          origin: origin of the op.
        """
        self._newer.setdefault(following, origin)
        if len(self._newer) > GENERATION:
            self._older, self._newer = self._newer, {}

    def of(self, node: int) -> T | None:
        """Returns the origin of a node, by its number."""
        return self._newer.get(node + 1) or self._older.get(node + 1)
