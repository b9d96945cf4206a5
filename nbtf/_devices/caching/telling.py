"""What does PyTorch's allocator report about its memory? A map of what is stored where, and a journal of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbtf._devices.base import describe_label
from nbtf._devices.bfc.chunks import bin_of
from nbtf._devices.bfc.pool import Driver
from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._devices.caching import statistics as count
from nbtf._devices.caching.blocks import Block
from nbtf._devices.caching.segments import Segments
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._devices.journal import Journal, JournalKeeper
from nbtf._locks import new_lock


class TellingSegments(JournalKeeper, Segments):
    """Segments that report every piece granted, freed or refused; see `nbtf/_devices/journal.py`."""

    def __init__(self, card: Driver, settings: AllocatorSettings) -> None:
        """Starts without a journal."""
        super().__init__(card, settings)
        self._lock = new_lock()
        self._journal: Journal | None = None
        self._held: dict[Block, None] = {}
        """Blocks in use; after an interrupt, it may also contain others."""

    def keep_journal(self, journal: Journal | None) -> None:
        """Starts recording events, or stops if `journal` is None."""
        with self._lock:
            self._do_frees()
            self._journal, self._entries = journal, []

    def tell_end(self) -> None:
        """Records that all memory is freed, because the card is removed."""
        with self._lock:
            self._do_frees()
            in_use = self._statistics.current(count.ALLOCATED_BYTES)
            for block in self._blocks_in_use():
                in_use -= block.size
                self._write("freed", block, in_use, 0)

    def tell_beginning(self) -> None:
        """Records the blocks in use, for observers that have just been registered."""
        with self._lock:
            self._do_frees()
            in_use = 0
            for block in self._blocks_in_use():
                in_use += block.size
                self._write("granted", block, in_use, self.reserved)

    def map(self) -> tuple[RegionView, ...]:
        """Returns the segments reserved on the card, and the blocks in them."""
        with self._lock:
            self._do_frees()
            in_use = {(region.number, block.address): block for region, block in self._located(self._blocks_in_use())}
            free = [entry[-1] for pool in (self._small, self._large) for entry in pool.blocks]
            views: dict[int, list[ChunkView]] = {region.number: [] for region in self._regions}
            for region, block in self._located([*in_use.values(), *free, *self._waiting]):
                offset, is_used = block.address - region.address, (region.number, block.address) in in_use
                views[region.number].append(
                    ChunkView(
                        offset,
                        block.size,
                        True,
                        block.requested,
                        describe_label(block.label),
                        None,
                        _holder(block.label),
                    )
                    if is_used
                    else ChunkView(offset, block.size, False, 0, None, bin_of(block.size))
                )
            return tuple(
                [
                    RegionView(region.number, region.size, tuple(sorted(views[region.number])))
                    for region in self._regions
                ]
            )

    def _blocks_in_use(self) -> list[Block]:
        return sorted([block for block in self._held if block.allocated], key=lambda block: block.address)

    def _located(self, blocks: Sequence[Block]) -> list[tuple[Any, Block]]:
        return [(self.region_of(block.address), block) for block in blocks]

    def _write(self, event: str, block: Block, in_use: int, pool: int) -> None:
        """Records an event of a block."""
        journal = self._journal
        if journal is not None:
            region, number = self.region_of(block.address), journal.next_number()
            piece = region, block.address, block.size, block.requested, block.label
            self._entries += (getattr(journal, event), number, in_use, pool, *piece)

    def _write_refusal(self, nbytes: int, label: object) -> None:
        """Records that a request has failed."""
        journal = self._journal
        if journal is not None:
            largest = max([entry[-1].size for pool in (self._small, self._large) for entry in pool.blocks], default=0)
            limit = (
                self.total - self.mapped_by_others
                if self.allowed is None
                else min(self.allowed, self.total - self.mapped_by_others)
            )
            in_use = self._statistics.current(count.ALLOCATED_BYTES)
            figures = in_use, self.reserved, None, largest, limit, nbytes, label
            self._entries += (journal.refused, journal.next_number(), *figures)


def _holder(label: Any) -> str:
    """Returns what holds a block, a module's weights or an optimizer's slots, if that was known at its allocation."""
    site = getattr(label, "site", None)
    holder = site[2].holder if site is not None and len(site) > 2 else ""
    return holder if holder in ("weights", "optimizer slots") else ""
