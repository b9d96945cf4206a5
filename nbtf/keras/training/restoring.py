"""Makes a training step atomic: it happens as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf import distribute


class Restorable:
    """The values of variables on all devices, which are restored if a step fails.

    Values are immutable arrays (see `nbtf/_ops/variables/resource.py`). Keeping one takes no time. It needs no device
    memory beyond the step itself, because each assignment creates a new array anyway.
    """

    def __init__(self, variables: Iterable[Any]) -> None:
        """Stores Keras or TensorFlow variables without duplicates."""
        copies: dict[int, Any] = {}
        for variable in variables:
            bare = getattr(variable, "handle", variable)
            for copy in bare.values if isinstance(bare, distribute.DistributedValues) else (bare,):
                copies[id(copy)] = copy
        self._copies: list[Any] = list(copies.values())
        self._values: list[Any] = []

    def keep(self) -> None:
        """Stores the current values."""
        self._values = [copy._array for copy in self._copies]

    def forget(self) -> None:
        """Drops the stored values."""
        self._values.clear()

    def bring_back(self) -> None:
        """Sets all variables to the stored values."""
        for copy, value in zip(self._copies, self._values, strict=True):
            copy._array = value
