"""Which line of the forward pass has made a node of autograd's graph? Nodes are numbered on each thread."""

from __future__ import annotations

from nbtf._devices.sites import CallSite

GENERATION = 100_000
"""Numbers after which the oldest are forgotten: a line is known for a graph of so many nodes at least."""


class ForwardLines:
    """The places of the last nodes, in two generations: a loop over a million steps must not fill the memory."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        """Knows none yet."""
        self._newer: dict[int, CallSite] = {}
        self._older: dict[int, CallSite] = {}

    def keep(self, following: int, call_site: CallSite) -> None:
        """Keeps the place of an op; a later one that makes no node meets the same number, and is not kept.

        Args:
          following: the number that the next node will have, while the op runs.
          call_site: where.
        """
        self._newer.setdefault(following, call_site)
        if len(self._newer) > GENERATION:
            self._older, self._newer = self._newer, {}

    def of(self, node: int) -> CallSite | None:
        """Returns the place of a node by its number."""
        return self._newer.get(node + 1) or self._older.get(node + 1)
