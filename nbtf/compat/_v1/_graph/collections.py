"""The collections of a graph: lists by name, such as its variables."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any


class Collections:
    """Lists of anything, by name."""

    def __init__(self) -> None:
        self._collections: dict[Hashable, list[Any]] = {}

    @property
    def collections(self) -> list[Hashable]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of the collections that are texts."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name: Hashable, value: Any) -> None:
        """Puts a value into a collection, which need not exist."""
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: Any) -> None:
        """Puts a value into several collections; into each once, however often it is named."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns the values of a collection, in the order in which they came.

        Args:
          name: its name; one that does not exist is empty.
          scope: a regular expression; only values whose name begins with it count.
        """
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [value for value in values if hasattr(value, "name") and pattern.match(value.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the list of a collection itself, which can be changed."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: Hashable) -> None:
        """Empties a collection."""
        self._collections.pop(name, None)
