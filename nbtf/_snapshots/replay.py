"""Does PyTorch's allocator decide as a real card did? Replays a recorded history with its own settings.

The allocator gets the driver's addresses, and releases what the card released. All its decisions are compared: the
address of every allocation, every segment that it requests, whether released memory is idle, and the bytes at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.replayed import AddressRange
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.history import UNLIMITED, History
from nbtf._snapshots.history_replay import HistoryReplay, Outcome
from nbtf._snapshots.snapshot import ALLOC, OOM, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP

_MOST_DIFFERENCES = 20
"""The number of differences that are described; all are counted."""


class Comparison(NamedTuple):
    """How a replay agrees with what a card did.

    Attributes:
      device: number of the device.
      events: number of events.
      addresses: allocations at the address that the card gave.
      segments: segments, or ranges of pages, that were requested at the same event in the same size.
      releases: segments, or ranges of pages, that were idle when the card released them.
      differences: number of differences.
      described: the first differences as sentences.
      ambiguous: allocations from before the first event whose exact size is unknown, and a first event that may
        belong to a lost one.
      outcome: what the replay needed.
    """

    device: int
    events: int
    addresses: int
    segments: int
    releases: int
    differences: int
    described: Sequence[str]
    ambiguous: int
    outcome: Outcome


class ContradictoryHistoryError(ValueError):
    """The events of a file contradict each other so much that they cannot be replayed."""


class RecordedReplay(HistoryReplay):
    """Replays a history with its own settings, and compares all decisions of the allocator with the recording."""

    def __init__(self, history: History) -> None:
        """Places what was in memory before the first event as it was."""
        self._recorded_ranges: list[AddressRange] = []
        self.addresses = self.segments = self.releases = self.differences = 0
        self.described: list[str] = []
        super().__init__(history, history.settings, UNLIMITED, keeps_layout=True, addressable=history.card)

    @classmethod
    def replayed(cls, history: History) -> tuple[RecordedReplay, Outcome]:
        """Returns a replay of a whole history, and what it needed.

        Raises:
          ContradictoryHistoryError: if the file places blocks at the same addresses, or has more memory than any card.
        """
        cause: Exception | None = None
        try:
            replay = cls(history)
            outcome = replay.run()
            if not outcome.stopped:  # otherwise the beginning is larger than any card
                return replay, outcome
        except (IndexError, TypeError) as error:  # free blocks of overlapping segments cannot be sorted
            cause = error
        raise ContradictoryHistoryError(
            f"The events of GPU:{history.trace.device} contradict each other, so they cannot be replayed. "
            "Record the snapshot again."
        ) from cause

    def comparison(self, account: DeviceAccount, outcome: Outcome) -> Comparison:
        """Returns how the replay agrees with the card; the end is compared with the file's segments."""
        end = account.end
        levels = self.allocator.active, self.allocator.level()[1]
        if levels != (end.active, end.reserved):
            self._differ(
                f"The end: {levels[0]:,} bytes in use, {levels[1]:,} reserved; not {end.active:,} and {end.reserved:,}."
            )
        pieces = account.pieces
        return Comparison(
            account.device,
            outcome.events,
            self.addresses,
            self.segments,
            self.releases,
            self.differences,
            tuple(self.described),
            int(np.count_nonzero(pieces.is_inexact)) + self._begins_within_request(),
            outcome,
        )

    def _begins_within_request(self) -> bool:
        """Returns whether the first event may be an allocation for which the segment before it was requested.

        With `max_split_size`, an allocation may use a new segment that it could not use if the segment was cached.
        """
        history = self.history
        if not len(history.trace) or history.settings.max_split_size == AllocatorSettings().max_split_size:
            return False
        idle = [each.address for each in history.beginning if [block.state for block in each.blocks] == ["inactive"]]
        return history.trace.action[0] == ALLOC and int(history.trace.address[0]) in idle

    def _do(
        self, event: int, action: int, address: int, size: int, stream: int, is_prompt: bool, is_release: bool
    ) -> bool:
        if action in (SEGMENT_ALLOC, SEGMENT_MAP):
            self._recorded_ranges.append(AddressRange(address, size))
        elif action in (SEGMENT_FREE, SEGMENT_UNMAP):
            self._map_recorded(event)  # the request did not fit at first
            if self.allocator.release_range(AddressRange(address, size)):
                self.releases += 1
            else:
                self._differ(f"Event {event + self.history.first}: the released memory at {address:#x} is not idle.")
        elif action == OOM:
            self._map_recorded(event)
        else:
            super()._do(event, action, address, size, stream, is_prompt, False)
            allocation = self._live.get(address) if action == ALLOC else None
            if allocation is not None:
                self._compare_address(event, allocation.address, address)
        return True

    def _map_recorded(self, event: int) -> None:
        """Maps pages that the card mapped for a request that then did not fit."""
        for mapped in self._recorded_ranges:
            if self.allocator.map_range(mapped):
                self.segments += 1
            else:
                self._differ(f"Event {event + self.history.first}: {mapped.size:,} bytes were not mapped.")
        self._recorded_ranges.clear()

    def _request(self, event: int, size: int, stream: int, stack: int) -> Allocation | None:
        allocator, recorded_ranges = self.allocator, self._recorded_ranges
        allocator.requested_ranges.clear()
        allocator.driver_addresses.clear()
        allocator.driver_addresses.extend(each.address for each in recorded_ranges)
        allocation = super()._request(event, size, stream, stack)
        requested = allocator.requested_ranges
        if recorded_ranges or requested:
            if requested == recorded_ranges:
                self.segments += len(recorded_ranges)
            else:
                number = event + self.history.first
                sizes, recorded_sizes = _sizes(requested), _sizes(recorded_ranges)
                self._differ(f"Event {number}: {sizes} was requested from the card, not {recorded_sizes}.")
            recorded_ranges.clear()
        return allocation

    def _compare_address(self, event: int, address: int, recorded: int) -> None:
        if address == recorded:
            self.addresses += 1
        else:
            self._differ(f"Event {event + self.history.first}: address {address:#x}, not {recorded:#x}.")

    def _refuse(self, event: int, size: int, stack: int) -> None:
        self._differ(f"Event {event + self.history.first}: {size:,} bytes do not fit on any card.")

    def _differ(self, sentence: str) -> None:
        self.differences += 1
        if len(self.described) < _MOST_DIFFERENCES:
            self.described.append(sentence)


def compared_with_card(account: DeviceAccount, card: int | None = None) -> Comparison:
    """Replays the history of a device with its own settings, and compares the replay with the recording.

    Args:
      account: the account of the device.
      card: bytes of the card, which decide how many addresses an expandable segment has; None if they are unknown.

    Raises:
      ContradictoryHistoryError: if the file places blocks at the same addresses, or has more memory than any card.
    """
    history = History.of(account)
    replay, outcome = RecordedReplay.replayed(history if card is None else history._replace(card=card))
    return replay.comparison(account, outcome)


def _sizes(ranges: Sequence[AddressRange]) -> str:
    return " + ".join(f"{each.size:,} bytes" for each in ranges) or "nothing"
