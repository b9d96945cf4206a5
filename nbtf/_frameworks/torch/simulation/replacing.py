"""Undoes the changes that were made to PyTorch."""

from __future__ import annotations

from typing import Any

_ABSENT: Any = object()


class Replacements:
    """Attributes that were replaced, with their original values."""

    def __init__(self) -> None:
        """Starts empty."""
        self._previous: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module or a class."""
        self._previous.append((owner, name, owner.__dict__.get(name, _ABSENT)))
        setattr(owner, name, value)

    def remove(self, owner: Any, name: str) -> None:
        """Removes an attribute of a module."""
        self._previous.append((owner, name, owner.__dict__[name]))
        delattr(owner, name)

    def undo(self) -> None:
        """Restores all attributes, the last first."""
        while self._previous:
            owner, name, value = self._previous.pop()
            if value is not _ABSENT:
                setattr(owner, name, value)
            elif name in owner.__dict__:
                delattr(owner, name)
