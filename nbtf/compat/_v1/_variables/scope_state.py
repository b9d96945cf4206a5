"""The open variable scope of a graph, kept in one of its collections, as in TensorFlow."""

from __future__ import annotations

from typing import Any

from nbtf.compat._v1._graph.graph import Graph

_SCOPES = ("__varscope",)


class OpenScopes:
    """The open variable scope of a graph, and how many times each name has been opened."""

    def __init__(self) -> None:
        self.current: Any = None
        self.counts: dict[str, int] = {}

    def opened(self, name: str) -> None:
        """Counts one more scope with this name."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Resets the counts of the scopes inside one, so that their names start again."""
        for opened_name in self.counts:
            if not name or opened_name.startswith(f"{name}/"):
                self.counts[opened_name] = 0

    def unique(self, prefix: str) -> str:
        """Returns the name, with a number if the current scope has already opened a scope with that name."""
        full_name = f"{self.current.name}/{prefix}" if self.current is not None and self.current.name else prefix
        number, counted_name, chosen = 0, full_name, prefix
        while self.counts.get(counted_name):
            number += 1
            counted_name, chosen = f"{full_name}_{number}", f"{prefix}_{number}"
        return chosen


def open_scopes(graph: Graph) -> OpenScopes:
    """Returns the state of a graph's variable scopes."""
    open_collection = graph.get_collection_ref(_SCOPES)
    if not open_collection:
        open_collection.append(OpenScopes())
    return open_collection[0]


def scope_uses_resources(graph: Graph) -> bool | None:
    """Returns whether the open scope creates resource variables; None if it does not specify the kind."""
    open_collection = graph.get_collection(_SCOPES)
    return (
        open_collection[0].current.use_resource if open_collection and open_collection[0].current is not None else None
    )
