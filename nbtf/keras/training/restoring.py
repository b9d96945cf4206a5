"""What makes a step happen as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf import distribute


class Restorable:
    """The values of variables on all devices, to be brought back if a step fails in the middle.

    Values are immutable arrays (see `nbtf/_ops/variables/resource.py`): keeping one takes no time and, since
    assigning makes a new one anyway, no memory of a device beyond the step itself.
    """

    def __init__(self, variables: Iterable[Any]) -> None:
        """Takes variables of Keras or of TensorFlow; each once, also if it comes twice."""
        copies: dict[int, Any] = {}
        for variable in variables:
            bare = getattr(variable, "handle", variable)
            for copy in bare.values if isinstance(bare, distribute.DistributedValues) else (bare,):
                copies[id(copy)] = copy
        self._copies: list[Any] = list(copies.values())
        self._values: list[Any] = []

    def keep(self) -> None:
        """Keeps the values of this moment."""
        self._values = [copy._array for copy in self._copies]

    def forget(self) -> None:
        """Lets go of what was kept."""
        self._values.clear()

    def bring_back(self) -> None:
        """Gives all variables the values that were kept."""
        for copy, value in zip(self._copies, self._values, strict=True):
            copy._array = value
