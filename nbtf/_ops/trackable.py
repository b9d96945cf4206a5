"""What objects have in common whose variables a checkpoint can restore, also those that come later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Trackable:
    """An object whose parts are saved under the names of its attributes.

    `_awaiting` holds what is to be done when it gets a part: a checkpoint that was restored before waits there for the
    parts whose values it has.
    """

    _awaiting: tuple[Callable[[], None], ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute, and gives its variables the values that a checkpoint has for them."""
        object.__setattr__(self, name, value)
        if self._awaiting:
            restore_parts(self)


def restore_parts(owner: Any) -> None:
    """Gives variables that came into an object the values that restored checkpoints have for them."""
    for resume in owner._awaiting:
        resume()
