"""What are the events of a snapshot's device as events of nbtf, which its views draw?"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbtf._devices.base import Label
from nbtf._devices.bfc.chunks import bin_of
from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._devices.names import LOCAL_TASK
from nbtf._record.events import Allocated, Event, Freed, Refused
from nbtf._snapshots.account import DeviceAccount, Failure
from nbtf._snapshots.beginning import state_of
from nbtf._snapshots.lines import Origin, Origins
from nbtf._snapshots.snapshot import OOM, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, MemorySnapshot

LIBRARY = "PyTorch"
_DEFAULT_WINDOW = 20_000
_NOWHERE = Origin(None, False, "", "", "")


class DeviceEvents(NamedTuple):
    """A window of a device's history as events of nbtf.

    Attributes:
      device: full name, such as `/job:localhost/replica:0/task:0/device:GPU:0`.
      limit: memory that the allocator could have had in bytes, if the file shows it; otherwise the most it had.
      first: the first event of the window, by its number in the history.
      last: the event after the window.
      events: `Allocated`, `Freed` and `Refused`, in order; `seq` is the number of the event in the history.
      regions: the memory before the window, in the form of `memory_map`.
    """

    device: str
    limit: int
    first: int
    last: int
    events: list[Event]
    regions: tuple[RegionView, ...]


def history_of(
    snapshot: MemorySnapshot, device: int, first: int | None = None, last: int | None = None
) -> DeviceEvents:
    """Returns a device's history as events of nbtf, with the memory before the first of them.

    A piece is freed when no stream uses it any more, so `in_use` is what PyTorch calls active. Time and memory grow
    with the number of events in the window: 20,000 events take about 0.2 s.

    Args:
      snapshot: the snapshot.
      device: number of the card.
      first: number of the first event; None means the first of the history.
      last: number of the event after the window; None means the end of the history.

    Raises:
      ValueError: if the history has no such events.
    """
    return events_of(DeviceAccount(snapshot, device), Origins(snapshot), first, last)


def window_around_peak(snapshot: MemorySnapshot, device: int, events: int = _DEFAULT_WINDOW) -> DeviceEvents:
    """Returns the events around the state with the most memory allocated, at most `events`; see `history_of`."""
    account = DeviceAccount(snapshot, device)
    count = len(account.trace)
    first = max(min(account.peak.state - events * 2 // 3, count - events), 0)
    return events_of(account, Origins(snapshot), first, min(first + events, count))


def events_of(
    account: DeviceAccount, origins: Origins, first: int | None = None, last: int | None = None
) -> DeviceEvents:
    """Returns a window of a device's events; see `history_of`."""
    count = len(account.trace)
    first, last = 0 if first is None else first, count if last is None else last
    if not 0 <= first <= last <= count:
        raise ValueError(f"Events {first} to {last} do not exist. The history has events 0 to {count}.")
    writer = _Writer(account, origins, first)
    regions = writer.regions()
    events = [*writer.events(last)]
    return DeviceEvents(writer.device, _limit(account), first, last, events, regions)


def _limit(account: DeviceAccount) -> int:
    """Returns the size of the memory that a failed request saw, or else the most that was reserved."""
    sizes = [failure.free_on_card + failure.reserved for failure in account.failures]
    return max([*sizes, int(account.reserved.max())])


@dataclass(slots=True)
class _Region:
    """A numbered segment."""

    number: int
    address: int
    size: int
    is_expandable: bool


class _Regions:
    """The numbered segments of a device, at the moment up to which events were read."""

    def __init__(self) -> None:
        """Begins without any."""
        self._starts: list[int] = []
        self._at: dict[int, _Region] = {}
        self._number = 0

    def add(self, address: int, size: int, is_expandable: bool) -> _Region:
        """Adds a segment; memory that is mapped behind an expandable segment belongs to it."""
        neighbour = self.of(address - 1) if is_expandable else None
        if neighbour is not None and neighbour.is_expandable:
            neighbour.size = max(neighbour.size, address + size - neighbour.address)
            return neighbour
        if address not in self._at:
            insort(self._starts, address)
        region = self._at[address] = _Region(self._number, address, size, is_expandable)
        self._number += 1
        return region

    def remove(self, address: int) -> None:
        """Removes a segment."""
        if self._at.pop(address, None) is not None:
            self._starts.remove(address)

    def of(self, address: int) -> _Region | None:
        """Returns the segment that contains an address."""
        at = bisect_right(self._starts, address) - 1
        region = self._at[self._starts[at]] if at >= 0 else None
        return region if region is not None and address < region.address + region.size else None


class _Writer:
    """Writes the events of one device."""

    def __init__(self, account: DeviceAccount, origins: Origins, first: int) -> None:
        """Prepares the events from number `first` on."""
        self._account, self._origins, self._first = account, origins, first
        self.device = f"{LOCAL_TASK}/device:GPU:{account.device}"
        self._regions = _Regions()
        self._homes: dict[int, tuple[_Region, int]] = {}
        """Region and size of the pieces in use, by row."""
        self._failures: dict[int, Failure] = {each.event: each for each in account.failures}

    def regions(self) -> tuple[RegionView, ...]:
        """Returns the memory before the window."""
        account, first = self._account, self._first
        views: list[RegionView] = []
        for segment in state_of(account, first):
            region = self._regions.add(segment.address, segment.size, segment.is_expandable)
            chunks: list[ChunkView] = []
            for block in segment.blocks:
                offset, is_used = block.address - segment.address, block.state != "inactive"
                label = self._label(block.stack, block.requested) if is_used else None
                requested, free_bin = (block.requested, None) if is_used else (0, bin_of(block.size))
                chunks.append(ChunkView(offset, block.size, is_used, requested, label, free_bin))
            views.append(RegionView(region.number, region.size, tuple(chunks)))
        for row in account.rows_at(first, is_active=True).tolist():
            region = self._regions.of(int(account.pieces.address[row]))
            if region is not None:
                self._homes[row] = region, int(account.pieces.size[row])
        return tuple(views)

    def events(self, last: int) -> Iterator[Event]:
        """Yields the events up to number `last`."""
        account, trace = self._account, self._account.trace
        pieces = account.pieces
        ends = np.flatnonzero((pieces.death > self._first) & (pieces.death <= last) & (pieces.birth < pieces.death))
        begins = np.flatnonzero((pieces.birth > self._first) & (pieces.birth <= last) & (pieces.birth < pieces.death))
        states = np.concatenate([pieces.death[ends], pieces.birth[begins]])
        rows, is_begin = np.concatenate([ends, begins]), np.arange(len(ends) + len(begins)) >= len(ends)
        order = np.lexsort((is_begin, states))
        changes = zip(states[order].tolist(), rows[order].tolist(), is_begin[order].tolist(), strict=True)
        segment_events = [event for event in range(self._first, last) if trace.action[event] >= SEGMENT_ALLOC]
        pending = iter([*segment_events, last])
        segment_event = next(pending)
        level = int(account.active[self._first])
        for state, row, begins_now in changes:
            while segment_event < state:
                yield from self._segment_change(segment_event, level)
                segment_event = next(pending)
            size = int(pieces.size[row])
            level += size if begins_now else -size
            yield self._piece(row, state - 1, level, Allocated if begins_now else Freed)
        while segment_event < last:
            yield from self._segment_change(segment_event, level)
            segment_event = next(pending)

    def _segment_change(self, event: int, level: int) -> Iterator[Event]:
        """Applies an event of a segment, or yields a failed request."""
        trace = self._account.trace
        action, address, size = (int(column[event]) for column in (trace.action, trace.address, trace.size))
        if action in (SEGMENT_ALLOC, SEGMENT_MAP):
            self._regions.add(address, size, action == SEGMENT_MAP)
        elif action == SEGMENT_FREE:
            self._regions.remove(address)
        elif action == OOM:
            origin = self._origin(int(trace.stack[event]))
            failure = self._failures.get(event)
            yield Refused(
                self.device,
                size,
                level,
                int(self._account.reserved[event + 1]),
                0 if failure is None else failure.largest_hole,
                int(self._account.reserved[event + 1]) + address,
                event,
                self._time(event),
                _site(origin),
                phase=origin.phase,
                layer=origin.module,
                label=self._label(int(trace.stack[event]), size),
                library=LIBRARY,
            )

    def _piece(self, row: int, event: int, level: int, event_class: type[Allocated | Freed]) -> Event:
        account = self._account
        pieces = account.pieces
        address, size, requested = (int(each[row]) for each in (pieces.address, pieces.size, pieces.requested))
        if event_class is Allocated:
            region = self._regions.of(address)
            if region is not None:
                self._homes[row] = region, size
        home = self._homes.get(row) if event_class is Allocated else self._homes.pop(row, None)
        region, size = home or (_Region(-1, address, 0, False), size)
        stack = int(pieces.stack[row])
        origin = self._origin(stack)
        return event_class(
            self.device,
            requested,
            level,
            int(account.reserved[event + 1]),
            event,
            self._time(event),
            _site(origin),
            phase=origin.phase,
            layer=origin.module,
            region=region.number,
            offset=address - region.address,
            size=size,
            region_size=region.size,
            label=self._label(stack, requested),
            library=LIBRARY,
        )

    def _origin(self, stack: int) -> Origin:
        return self._origins[stack] if stack >= 0 else _NOWHERE

    def _label(self, stack: int, nbytes: int) -> Label:
        """Returns the description of a piece: the innermost function of its stack, and the user's line."""
        origin = self._origin(stack)
        return Label(origin.function or LIBRARY, "uint8", (nbytes,), _site(origin))

    def _time(self, event: int) -> float:
        return int(self._account.trace.microseconds[event]) / 1e6


def _site(origin: Origin) -> tuple[str, int] | None:
    return None if origin.line is None or not origin.is_own else (origin.line.file, origin.line.line)
