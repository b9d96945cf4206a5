"""The collections of a graph: named lists, for example of its variables."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any


class Collections:
    """Lists of arbitrary values, by name."""

    def __init__(self) -> None:
        self._collections: dict[Hashable, list[Any]] = {}

    @property
    def collections(self) -> list[Hashable]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """Returns the collection names that are strings."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        """Adds a value to a collection, which is created if necessary."""
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: Any) -> None:
        """Adds a value to several collections, once to each even if a name is repeated."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns the values in a collection, in insertion order.

        Args:
          name: name of the collection; a collection that does not exist is empty.
          scope: a regular expression; only values whose name starts with a match are returned.
        """
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [value for value in values if hasattr(value, "name") and pattern.match(value.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the list behind a collection; changing it changes the collection."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: Hashable) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)
