"""The history of the PyTorch allocator on real cards (allocations, releases and refusals) as entries of journals.

The history is read on request, and each entry gets the number of that moment. Order, addresses and sizes are exact; the
position of an entry between two ops is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from nbtf._devices.base import Label
from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._devices.journal import Box, Journal
from nbtf._devices.lent import FIRST_LENT_REGION, HISTORIES
from nbtf._frameworks.base import cautious
from nbtf._frameworks.torch.cards import CARDS
from nbtf._frameworks.torch.frames import GENERATED
from nbtf._record.memory import journal_of
from nbtf._runtime.context import CURRENT

INTERVAL = 0.2
"""Seconds between two reads while events are sent at once, because PyTorch copies its whole history each time."""

_MOST_ENTRIES = 100_000
_OWN_FOLDER = str(Path(__file__).parents[2])


class Segment(NamedTuple):
    """A range of memory that the allocator has reserved on the card."""

    number: int
    address: int
    size: int


class _CardHistory:
    """The known segments of a card, and the blocks in use within them."""

    def __init__(self, name: str, journal: Journal, segments: Sequence[Mapping[str, Any]]) -> None:
        self.name, self.journal = name, journal
        self.segments: dict[int, Segment] = {}
        self._segment_numbers = count(FIRST_LENT_REGION)
        self._pieces: dict[int, tuple[Segment, int]] = {}
        """Segment and size of each block in use, by address, as far as PyTorch has reported it."""
        for segment in segments:
            self.add(segment["address"], segment["total_size"])
            for address, size in _blocks_in_use(segment):
                self._pieces[address] = self.segments[segment["address"]], size
        self.in_use = sum([segment["allocated_size"] for segment in segments])
        self._is_begun = False

    def add(self, address: int, size: int) -> None:
        self.segments[address] = Segment(next(self._segment_numbers), address, size)

    def map(self) -> tuple[RegionView, ...]:
        """Returns the segments and their blocks in use, for a new observer."""
        chunks: dict[int, list[ChunkView]] = {segment.number: [] for segment in self.segments.values()}
        for address, (segment, size) in sorted([*self._pieces.items()]):
            view = ChunkView(address - segment.address, size, True, size, _from_before(size), None)
            chunks.setdefault(segment.number, []).append(view)
        return tuple([RegionView(number, size, tuple(chunks[number])) for number, _, size in [*self.segments.values()]])

    def beginning(self) -> Iterator[Any]:
        """Yields once the blocks in use at the start of the history, which earlier recordings do not know."""
        if self._is_begun:
            return
        self._is_begun = True
        granted, next_number = self.journal.granted, self.journal.next_number
        in_use = self.in_use - sum([size for _, size in self._pieces.values()])
        for address, (segment, size) in [*self._pieces.items()]:
            in_use += size
            yield from (granted, next_number(), in_use, self.pool, segment, address, size, size, _from_before(size))

    @property
    def pool(self) -> int:
        return sum([segment.size for segment in self.segments.values()])

    def segment_of(self, address: int) -> Segment:
        for segment in self.segments.values():
            if segment.address <= address < segment.address + segment.size:
                return segment
        return Segment(-1, address, 0)

    def entries(self, events: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
        """Yields the contents of journal entries in order."""
        granted, _, refused, next_number = self.journal
        for event in events:
            size, address = event["size"], event.get("addr", 0)
            match event["action"]:
                case "segment_alloc" | "segment_map":
                    self.add(address, size)
                case "segment_free" | "segment_unmap":
                    self.segments.pop(address, None)
                case "alloc":
                    yield from self._free_forgotten(address, size, event)
                    self.in_use += size
                    segment = self.segment_of(address)
                    self._pieces[address] = segment, size
                    yield from (granted, next_number(), self.in_use, self.pool, segment, address, size, size)
                    yield _label(event)
                case "free_completed":
                    yield from self._freed(address, size, event)
                case "oom":
                    free, limit = event.get("device_free", 0), self.pool + event.get("device_free", 0)
                    yield from (refused, next_number(), self.in_use, self.pool, None, free, limit, size, _label(event))
                case _:
                    pass

    def _freed(self, address: int, size: int, event: Mapping[str, Any]) -> Iterator[Any]:
        """Yields the entry of a freed block; a block from before the recording has no position."""
        self.in_use -= size
        segment, _ = self._pieces.pop(address, (Segment(-1, address, 0), size))
        freed, next_number = self.journal.freed, self.journal.next_number
        yield from (freed, next_number(), self.in_use, self.pool, segment, address, size, size, _label(event))

    def _free_forgotten(self, address: int, size: int, event: Mapping[str, Any]) -> Iterator[Any]:
        """Yields entries that free blocks at the place of a new one, whose release is missing from the history."""
        for start, (_, length) in [*self._pieces.items()]:
            if start < address + size and address < start + length:
                yield from self._freed(start, length, event)


def _blocks_in_use(segment: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yields address and size of the blocks of a segment in use, which PyTorch lists one after the other."""
    address = segment["address"]
    for block in segment.get("blocks", ()):
        if block["state"].startswith("active"):  # includes freed blocks that another stream still uses
            yield address, block["size"]
        address += block["size"]


def _from_before(size: int) -> Label:
    """Returns the label of a block from before PyTorch's history, whose purpose is unknown."""
    return Label("from before", "uint8", (size,))


def _label(event: Mapping[str, Any]) -> Label:
    """Returns the label of a block from the frames in the history: its function and the user's line."""
    frames = event.get("frames", ())
    name = frames[0]["name"] if frames else "PyTorch"
    user = next((frame for frame in frames if frame["line"] and not _is_between(frame["filename"])), None)
    return Label(name, "uint8", (event["size"],), None if user is None else (user["filename"], user["line"]))


def _is_between(file: str) -> bool:
    return GENERATED[file] or file.startswith(_OWN_FOLDER)


class CardMemory:
    """Makes PyTorch keep a history of its memory on cards, and delivers it to the observers' boxes."""

    def __init__(self, torch: Any) -> None:
        """Stores PyTorch's module."""
        self._torch: Any = torch
        self._memory: Any = torch.cuda.memory
        self._cards: dict[int, _CardHistory] = {}
        self._last: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self._due = 0.0

    def start(self) -> Callable[[], object]:
        """Starts, if PyTorch uses a card and no other tool keeps its history; returns a function that stops."""
        if not self._begin():
            return lambda: None
        sources = CURRENT.context.observers.sources
        sources.append(self.hand_over)

        def stop() -> None:
            self._due = 0.0
            CURRENT.context.observers.collect()
            sources.remove(self.hand_over)
            self._end()

        return stop

    @cautious(lambda: False)
    def _begin(self) -> bool:
        if not self._torch.cuda.is_initialized() or CARDS.of(self._torch.device("cuda", 0)).timing != "launch":
            return False  # PyTorch keeps no history of a simulated card
        if self._torch._C._cuda_isHistoryEnabled():
            return False
        self._memory._record_memory_history("all", stacks="python", max_entries=_MOST_ENTRIES)
        snapshot = self._memory._snapshot()
        for number in range(len(snapshot["device_traces"])):
            card: Any = CARDS.of(self._torch.device("cuda", number))
            segments = [segment for segment in snapshot["segments"] if segment["device"] == number]
            self._cards[number] = _CardHistory(card.name, journal_of(card, "PyTorch"), segments)
            self._last[number] = len(snapshot["device_traces"][number])
        HISTORIES[:] = self._cards.values()
        return True

    @cautious(lambda: None)
    def _end(self) -> None:
        HISTORIES.clear()
        self._memory._record_memory_history(None)

    @cautious(lambda: None)
    def hand_over(self, boxes: Sequence[Box]) -> None:
        """Puts the events since the last call into boxes."""
        if monotonic() < self._due and CURRENT.context.observers.functions:
            return
        self._due = monotonic() + INTERVAL
        for number, trace in enumerate(self._memory._snapshot()["device_traces"]):
            is_whole = len(trace) < _MOST_ENTRIES  # otherwise PyTorch has dropped entries
            last_time = self._times.get(number, 0)
            events = trace[self._last[number] :] if is_whole else [e for e in trace if e["time_us"] > last_time]
            history = self._cards[number]
            entries = [*history.beginning(), *history.entries(events)]
            self._last[number] = len(trace)
            self._times[number] = trace[-1]["time_us"] if trace else 0
            if entries:
                for box in boxes:
                    box.append(entries)
