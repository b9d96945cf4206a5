"""What stands in the notes of another library's ops: its devices, ops and dtypes, as far as a note needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nbtf._devices import cost
from nbtf._devices.catalog import Card


class LibraryDevice:
    """A device of another library. Its times are measured, and its memory is told by its own allocator."""

    memory = None
    """No account: see `Memory`."""
    tells_pieces = False
    models_time = False
    network = None

    def __init__(self, name: str, timing: str = "finished") -> None:
        """Takes the full name, and what seconds are: `finished`, or `launch` where nobody waits for an op's end."""
        self.name = name
        self.on_host = ":CPU:" in name
        self.timing = timing

    def time_of(
        self, op: LibraryOp, inputs: Sequence[Any], outputs: Sequence[Any], measured: float
    ) -> tuple[float, str]:
        """Returns how long an op took, and what that is."""
        return measured, self.timing

    def copy_time_of(self, nbytes: int, measured: float) -> tuple[float, bool]:
        """Returns how long a copy took, and whether that is modelled."""
        return measured, False


class SimulatedCard(LibraryDevice):
    """A simulated card that a library has: how long it would take is modelled where the op runs."""

    models_time = True

    def __init__(self, name: str, card: Card) -> None:
        """Takes the full name, and what the card is."""
        super().__init__(name, "modelled")
        self.card = card

    def time_of(
        self, op: LibraryOp, inputs: Sequence[Any], outputs: Sequence[Any], measured: float
    ) -> tuple[float, str]:
        """Returns how long the card would take for an op; the time that this computer took is of no interest."""
        return op.seconds, self.timing

    def copy_time_of(self, nbytes: int, measured: float) -> tuple[float, bool]:
        """Returns how long the copy would take on the card's bus."""
        return cost.copy_seconds(self.card, nbytes), True


class LibraryOp(NamedTuple):
    """An op of another library, by the name that its own tools tell: `aten::mm`."""

    type: str
    shares_memory: bool = True
    """Its library's allocator tells of its memory, and not the op."""
    seconds: float = 0.0
    """How long a simulated card would take for it."""


class LibraryDType(NamedTuple):
    """A dtype of another library."""

    name: str
    itemsize: int

    @property
    def np_dtype(self) -> LibraryDType:
        """What has the size of an item."""
        return self
