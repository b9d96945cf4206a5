"""Which simulated cards are lent to other libraries, whose allocators look after their memory?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.journal import Box, Journal

if TYPE_CHECKING:
    from nbtf._devices.bfc.pool import Driver
    from nbtf._devices.bfc.report import RegionView
    from nbtf._devices.caching.allocator import CachingAllocator  # `import nbtf` does without it


FIRST_LENT_REGION = 1000
"""Regions that other libraries' allocators have on a card count from here: nbtf's own have the numbers below."""


class LentCard:
    """A simulated card as another library has it, as far as recordings ask."""

    def __init__(
        self, physical: PhysicalGPU, read_name: Callable[[], str], memory: CachingAllocator, library: str
    ) -> None:
        """Takes the card, what says its full name of the moment, the library's allocator, and the library's name."""
        self.physical, self._read_name, self.memory, self.library = physical, read_name, memory, library
        self._journal: Journal | None = None

    @property
    def name(self) -> str:
        """Its full name of today."""
        return self._read_name()

    def keep_journal(self, journal: Journal | None) -> None:
        """Takes down from now on what happens to the pieces of its memory, or no longer."""
        if (journal is None) is not (self._journal is None):
            self._journal = journal
            self.memory.keep_journal(journal)

    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts what was taken down since the last time into boxes."""
        self.memory.hand_over(boxes)


class CardHistory(Protocol):
    """A real card of which a library's allocator tells what is where."""

    @property
    def name(self) -> str:
        """The card's full name."""
        ...

    def map(self) -> Sequence[RegionView]:
        """Returns what is in use on it."""
        ...


HISTORIES: list[CardHistory] = []
"""Cards whose memory a library tells while it is recorded."""

LENT: list[LentCard] = []
"""A library is one for the process, and so are the cards that it has."""


def memory_of_lent(physical: PhysicalGPU) -> Driver | None:
    """Returns the memory of a card that is lent: nbtf's own pools take of the same."""
    for card in LENT:
        if card.physical == physical:
            return card.memory.card
    return None
