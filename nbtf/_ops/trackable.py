"""Base class of objects whose variables a checkpoint can restore, including variables created later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Trackable:
    """An object whose parts are saved under its attribute names.

    `_awaiting` holds callbacks for parts that do not exist yet: a checkpoint that was already restored keeps their
    values until they are assigned.
    """

    _awaiting: tuple[Callable[[], None], ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute and restores its variables if a checkpoint has values for them."""
        object.__setattr__(self, name, value)
        if self._awaiting:
            restore_parts(self)


def restore_parts(owner: Any) -> None:
    """Restores variables that were added to an object from checkpoints that were restored earlier."""
    for resume in owner._awaiting:
        resume()
