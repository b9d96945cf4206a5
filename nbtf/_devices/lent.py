"""Simulated cards that other libraries use, with allocators of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.journal import Box, Journal

if TYPE_CHECKING:
    from nbtf._devices.bfc.pool import Driver
    from nbtf._devices.bfc.report import RegionView
    from nbtf._devices.caching.allocator import CachingAllocator  # for type checkers: `import nbtf` does not need it


FIRST_LENT_REGION = 1000
"""Numbers of regions from other libraries' allocators start here; nbtf's own regions have lower numbers."""


class LentCard:
    """A simulated card as another library uses it, with the parts that recordings need."""

    def __init__(
        self, physical: PhysicalGPU, read_name: Callable[[], str], memory: CachingAllocator, library: str
    ) -> None:
        """Wraps the card, a function that returns its current full name, the library's allocator, and its name."""
        self.physical, self._read_name, self.memory, self.library = physical, read_name, memory, library
        self._journal: Journal | None = None

    @property
    def name(self) -> str:
        """The card's current full name."""
        return self._read_name()

    def keep_journal(self, journal: Journal | None) -> None:
        """Starts recording the pieces of its memory, or stops if `journal` is None."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            self.memory.keep_journal(journal)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the entries recorded since the last call into boxes."""
        self.memory.hand_over(boxes)


class CardHistory(Protocol):
    """A real card whose memory map a library's allocator reports."""

    @property
    def name(self) -> str:
        """The card's full name."""
        ...

    def map(self) -> Sequence[RegionView]:
        """Returns what is in use on it."""
        ...


HISTORIES: list[CardHistory] = []
"""Cards whose memory a library reports during a recording."""

LENT: list[LentCard] = []
"""Lent cards are global because a library and its cards exist once per process."""


def memory_of_lent(physical: PhysicalGPU) -> Driver | None:
    """Returns the memory of a lent card, which nbtf's own pools share; None if the card is not lent."""
    for card in LENT:
        if card.physical == physical:
            return card.memory.card
    return None
