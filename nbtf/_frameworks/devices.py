"""Devices, ops and dtypes of other libraries, with the attributes that notes of their ops need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices import cost
from nbtf._devices.catalog import Card


class LibraryDevice:
    """A device of another library. Its times are measured, and its library's allocator reports its memory."""

    memory = None
    """Always None: see `Memory`."""
    tells_pieces = False
    models_time = False
    network = None

    def __init__(self, name: str, timing: str = "finished") -> None:
        """Stores the full name, and the meaning of times: `finished`, or `launch` if ops are not awaited."""
        self.name = name
        self.on_host = ":CPU:" in name
        self.timing = timing

    def time_of(
        self, op: LibraryOp, inputs: Sequence[Any], outputs: Sequence[Any], measured: float
    ) -> tuple[float, str]:
        """Returns the duration of an op, and its meaning."""
        return measured, self.timing

    def copy_time_of(self, nbytes: int, measured: float) -> tuple[float, bool]:
        """Returns the duration of a copy, and whether it is modelled."""
        return measured, False


class SimulatedCard(LibraryDevice):
    """A simulated card used by a library; the op itself models how long the card would take."""

    models_time = True

    def __init__(self, name: str, card: Card) -> None:
        """Stores the full name and the model of the card."""
        super().__init__(name, "modelled")
        self.card = card

    def time_of(
        self, op: LibraryOp, inputs: Sequence[Any], outputs: Sequence[Any], measured: float
    ) -> tuple[float, str]:
        """Returns the modelled duration of an op on the card, instead of the time measured on this machine."""
        return op.seconds, self.timing

    def copy_time_of(self, nbytes: int, measured: float) -> tuple[float, bool]:
        """Returns the modelled duration of a copy over the card's bus."""
        return cost.copy_seconds(self.card, nbytes), True


class LibraryOp(NamedTuple):
    """An op of another library, under the name that the library's tools show: `aten::mm`."""

    type: str
    shares_memory: bool = True
    """Always empty: the library's allocator reports the memory, not the op."""
    seconds: float = 0.0
    """Modelled duration on a simulated card, in seconds."""


class LibraryDType(NamedTuple):
    """A dtype of another library."""

    name: str
    itemsize: int

    @property
    def np_dtype(self) -> LibraryDType:
        """The object that has the item size."""
        return self
