"""A device's memory step by step: bands of addresses, holes, failed requests, and the memory in use."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nbtf import runtime
from nbtf._record.queries import lines_of_events
from nbtf.notebook.stills.memory_bands import GROUPS, Band, group_of

Change = runtime.Allocated | runtime.Freed | runtime.Refused
"""An event that is a step of a history."""

CodeLine = Callable[[runtime.Site], str]
"""Formats a line of the program as text."""

Addresses = Mapping[tuple[int, int], str]
"""Names of the holders of pieces, by region and offset."""


class Refusal(NamedTuple):
    """A request that failed, and its step."""

    step: int
    event: runtime.Refused


class Span(NamedTuple):
    """Steps from `first` up to `end` that belong together: a phase of training, or a line of the program."""

    first: int
    end: int
    phase: str
    site: runtime.Site


class Extent(NamedTuple):
    """The address of a region, and the steps during which the device has the region."""

    region: int
    start: int
    size: int
    birth: int
    death: int


class MemoryHistory:
    """The memory history of one device in a recording; its steps are the events that change it, or fail to.

    A recording without such events has one step: the memory as it was before.
    """

    def __init__(
        self,
        device: str,
        limit: int,
        events: Iterable[runtime.Event],
        regions: Iterable[Any] = (),
        names: Addresses | None = None,
        scenes: Iterable[int] = (),
        lines: runtime.Lines | None = None,
    ) -> None:
        """Reads a recording.

        Args:
          device: a full name.
          limit: memory limit of the device, in bytes.
          events: events in order, at least those of the device.
          regions: what `tf.runtime.memory_map` returned before the first of them.
          names: names of what is still in use at the end.
          scenes: numbers of the events with which cells begin.
          lines: which line of the program ran when; None derives it from the events.
        """
        self.device: str = device
        self.limit: int = limit
        self._before = tuple(regions)
        self._names = names or {}
        events = list(events)
        self.changes: list[runtime.Allocated | runtime.Freed | runtime.Refused] = [
            event for event in events if isinstance(event, Change) and _is_placed(event, device)
        ]
        self.lines: runtime.Lines = lines_of_events(events) if lines is None else lines
        self._moves = sorted([*self.lines.changes.tolist(), *scenes])
        self.in_use, self.pool = _levels(self.changes, self._before)
        self.steps: int = len(self.in_use)
        self.refusals: list[Refusal] = [
            Refusal(at, each) for at, each in enumerate(self.changes) if isinstance(each, runtime.Refused)
        ]
        self.extents: list[Extent] = _extents(self.regions_by_step(), self.steps)
        self.bands: list[Band] = sorted(self._bands(), key=lambda band: (band.birth, band.start))
        self.spans: list[Span] = _spans(self.changes)

    @property
    def short_name(self) -> str:
        """The short name of the device."""
        return runtime.short_name(self.device)

    @property
    def top(self) -> int:
        """The highest address that a region reached."""
        return max((each.start + each.size for each in self.extents), default=0)

    @property
    def peak(self) -> int:
        """The first step with the most memory in use."""
        return max(range(self.steps), key=lambda step: (self.in_use[step], -step))

    def regions(self, step: int) -> tuple[Any, ...]:
        """Returns the regions and chunks after a step, as `tf.runtime.memory_map` returned them at that time."""
        replay = runtime.MemoryReplay(self.device, self._before)
        for event in self.changes[: step + 1]:
            replay.take(event)
        return replay.regions()

    def regions_by_step(self) -> Iterable[tuple[int, Mapping[int, int]]]:
        """Yields the sizes of the regions by number, before the first step and after each step that changed them."""
        replay = runtime.MemoryReplay(self.device, self._before)
        yield -1, (sizes := replay.region_sizes)
        for step, event in enumerate(self.changes):
            if replay.take(event) and (event.pool != sum(sizes.values()) or getattr(event, "region", -1) not in sizes):
                yield step, (sizes := replay.region_sizes)

    def holes(self, step: int) -> list[tuple[int, int]]:
        """Returns addresses and sizes of the free pieces after a step."""
        starts = self._starts(step)
        return [
            (starts[region.region] + chunk.offset, chunk.size)
            for region in self.regions(step)
            for chunk in region.chunks
            if not chunk.in_use
        ]

    def alive(self, step: int) -> list[Band]:
        """Returns the pieces in use after a step, by address."""
        return sorted((band for band in self.bands if band.birth <= step < band.death), key=lambda band: band.start)

    def group_levels(self) -> list[dict[str, int]]:
        """Returns the bytes allocated to each group, after each step."""
        changes: list[Counter[str]] = [Counter() for _ in range(self.steps + 1)]
        for band in self.bands:
            changes[band.birth][band.group] += band.size
            changes[band.death][band.group] -= band.size
        totals = dict.fromkeys(GROUPS, 0)
        levels: list[dict[str, int]] = []
        for change in changes[: self.steps]:
            totals = {group: totals[group] + change[group] for group in GROUPS}
            levels.append(totals)
        return levels

    def _starts(self, step: int) -> dict[int, int]:
        """Returns the addresses of the regions after a step, including regions that it added or removed."""
        return {
            each.region: each.start for each in self.extents if each.birth <= step < max(each.death, each.birth + 1)
        }

    def _bands(self) -> Iterable[Band]:
        """Yields all pieces; those from before the recording are born at its first step."""
        live: dict[tuple[int, int], tuple[int, runtime.Allocated | None, Any]] = {
            (region.region, chunk.offset): (0, None, chunk)
            for region in self._before
            for chunk in region.chunks
            if chunk.in_use
        }
        for step, event in enumerate(self.changes):
            if isinstance(event, runtime.Allocated):
                live[event.region, event.offset] = step, event, None
            elif isinstance(event, runtime.Freed):
                piece = live.pop((event.region, event.offset))
                yield self._band((event.region, event.offset), piece, step)
        for address, piece in live.items():
            yield self._band(address, piece, self.steps)

    def _band(
        self,
        address: tuple[int, int],
        piece: tuple[int, runtime.Allocated | None, Any],
        death: int,
    ) -> Band:
        birth, event, chunk = piece
        starts = self._starts(birth)
        label = chunk.label if event is None else event.label
        label = label if isinstance(label, runtime.Label) else None
        requested = chunk.requested if event is None else event.nbytes
        size = chunk.size if event is None else event.size
        holder = chunk.holder if event is None else event.holder
        group = group_of(event, label, event is None or self._outlives(event, death), holder)
        name = self._names.get(address, "") if death == self.steps else ""
        return Band(starts[address[0]] + address[1], size, requested, group, name, birth, death, *address, label, event)

    def _outlives(self, event: runtime.Allocated, death: int) -> bool:
        """Returns whether a piece outlived the line that created it."""
        if death == self.steps:
            return True
        moves = self._moves
        return bisect_right(moves, event.seq) < bisect_right(moves, self.changes[death].seq)


def _is_placed(event: Change, device: str) -> bool:
    """Returns whether an event belongs to a device and gives an address in its memory."""
    return event.device == device and (isinstance(event, runtime.Refused) or event.region >= 0)


def _levels(changes: Sequence[Change], levels_before: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Returns memory in use and pool after each step; these are exact, whatever is drawn."""
    if not changes:
        return [_used(levels_before)], [sum(region.size for region in levels_before)]
    used = _used(levels_before)
    in_use: list[int] = []
    for event in changes:
        used += event.size if isinstance(event, runtime.Allocated) else 0
        used -= event.size if isinstance(event, runtime.Freed) else 0
        in_use.append(used)
    return in_use, [event.pool for event in changes]


def _used(regions: Iterable[Any]) -> int:
    return sum(chunk.size for region in regions for chunk in region.chunks if chunk.in_use)


def _extents(sizes: Iterable[tuple[int, Mapping[int, int]]], steps: int) -> list[Extent]:
    """Returns the address of each region: the lowest at which it fits among the regions that exist at that time."""
    changes = [(step, dict(now)) for step, now in sizes]
    largest: Counter[int] = Counter()
    for _, now in changes:
        largest |= Counter(now)
    present: dict[int, Extent] = {}
    extents: list[Extent] = []
    for step, now in changes:
        for number in [number for number in present if number not in now]:
            extents.append(present.pop(number)._replace(death=max(step, 0)))
        for number in sorted(now.keys() - present.keys()):
            start = _gap(sorted((each.start, each.size) for each in present.values()), largest[number])
            present[number] = Extent(number, start, largest[number], max(step, 0), steps)
    return sorted([*extents, *present.values()], key=lambda each: (each.birth, each.start))


def _gap(ranges: Sequence[tuple[int, int]], size: int) -> int:
    end = 0
    for start, length in ranges:
        if start - end >= size:
            break
        end = start + length
    return end


def _spans(changes: Sequence[Change]) -> list[Span]:
    """Returns the phases or, if the program has none, its lines."""
    has_phases = any(event.phase for event in changes)
    spans: list[Span] = []
    for step, event in enumerate(changes):
        if isinstance(event, runtime.Freed):
            continue
        phase, site = (event.phase, None) if has_phases else ("", event.site)
        if not spans or (spans[-1].phase, spans[-1].site) != (phase, site):
            spans.append(Span(step, len(changes), phase, site))
    ends = [*(span.first for span in spans[1:]), len(changes)]
    return [span._replace(end=end) for span, end in zip(spans, ends, strict=False)]
