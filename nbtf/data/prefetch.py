"""A pipeline step that copies elements to another device, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._ops.arrays.identity import identity
from nbtf._runtime.device import placed
from nbtf._runtime.placement import DATASET
from nbtf._runtime.tensor import Tensor
from nbtf.data.specs import each
from nbtf.data.stage import Stage


class CopiedTo(Stage, op="", class_name="_CopyToDeviceDataset"):
    """The elements of the input, copied to a device."""

    def __init__(self, source: Stage, target: str) -> None:
        """Stores the device's name."""
        self.inputs: tuple[Stage, ...] = (source,)
        self._target = target

    @property
    def spec(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The input's spec."""
        return self.inputs[0].spec

    def cardinality(self) -> int:
        """Returns the input's cardinality."""
        return self.inputs[0].cardinality()

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        return (each(self._copy_value, element) for element in self.inputs[0].start())

    def _copy_value(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        with placed(self._target, DATASET):
            return identity(value)
