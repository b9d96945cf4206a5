"""Random histories of PyTorch's allocator, written down as PyTorch does, with the allocator's own figures beside them.

`CachingAllocator` runs a random program. What changed in its segments with each step becomes the events that PyTorch
would record.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.snapshot import ACTIONS, Block, Frame, MemorySnapshot, Segment, Stack, Trace

MIB = 1 << 20
TEXTS = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:20",
    "roundup_power2_divisions:4",
    "",
)
LIBRARY = "/opt/conda/lib/python3.12/site-packages/torch/nn/functional.py"
Frames = list[dict[str, Any]]


class Figures(NamedTuple):
    """What the allocator reported after an event, in bytes."""

    events: int
    allocated: int
    active: int
    requested: int
    reserved: int
    segments: list[dict[str, Any]]


class History(NamedTuple):
    """A device's history, and the figures after some events."""

    segments: list[dict[str, Any]]
    events: list[dict[str, Any]]
    figures: list[Figures]
    settings: str


def history(seed: int, steps: int = 120, device: int = 0, text: str | None = None, streams: int = 2) -> History:
    """Returns a random history.

    Args:
      seed: seed of the random program.
      steps: number of its steps.
      device: number of the card.
      text: the allocator's settings; None chooses some.
      streams: number of streams that allocate.
    """
    draw = random.Random(f"{seed} {device}")
    text = draw.choice(TEXTS) if text is None else text
    card = CachingAllocator(draw.choice([90, 200, 400]) * MIB, AllocatorSettings.parse(text), device=device)
    return _Program(draw, card, streams, text).run(steps)


class _Program:
    def __init__(self, draw: random.Random, card: CachingAllocator, streams: int, text: str) -> None:
        self.draw, self.card, self.streams, self.text = draw, card, streams, text
        self.events: list[dict[str, Any]] = []
        self.figures: list[Figures] = []
        self.held: list[Allocation] = []
        self.before: list[dict[str, Any]] = []
        self.pending: dict[int, tuple[int, int]] = {}
        self.frames: dict[int, Frames] = {}
        self.shift = 1 + card.device << 44

    def run(self, steps: int) -> History:
        for _ in range(steps):
            choice = self.draw.random()
            if choice < 0.55:
                self._allocate()
            elif choice < 0.9 and self.held:
                self._free(self.held.pop(self.draw.randrange(len(self.held))))
            elif choice < 0.97 and self.held:
                self.card.record_stream(self.draw.choice(self.held), 7)
            else:
                self.card.empty_cache()
                self._write_segments()
            self._check()
        for number, event in enumerate(self.events):
            event["time_us"] = 1_700_000_000_000_000 + number
        return History(self._segments(self.shift), self.events, self.figures, self.text)

    def _allocate(self) -> None:
        nbytes = int(self.draw.choice([3000, MIB, 3 * MIB, 12 * MIB, 30 * MIB]) * self.draw.random()) + 1
        stream = self.draw.randrange(self.streams)
        frames = _frames(self.draw)
        try:
            allocation = self.card.allocate(nbytes, stream)
        except OutOfDeviceMemory as error:
            self._write_segments()
            self._write("oom", 0, nbytes, stream, frames)
            self.events[-1]["device_free"] = error.figures.free
            del self.events[-1]["addr"]
            return
        assert allocation is not None
        self.frames[allocation.address] = frames
        self._write_segments()
        self._write("alloc", allocation.address, nbytes, stream, frames)
        self.held.append(allocation)

    def _free(self, allocation: Allocation) -> None:
        address, nbytes, stream = allocation.address, allocation.requested, allocation.stream
        self.card.free(allocation)
        states = {block["address"]: block["state"] for each in self._segments() for block in each["blocks"]}
        self._write("free_requested", address, nbytes, stream, self.frames[address])
        if states.get(address) == "active_pending_free":
            self.pending[address] = nbytes, stream
        else:
            self._write("free_completed", address, nbytes, stream, self.frames[address])

    def _write(self, action: str, address: int, size: int, stream: int, frames: Frames) -> None:
        entry = {"action": action, "addr": address + self.shift, "size": size, "stream": stream, "frames": frames}
        self.events.append(entry)

    def _write_segments(self) -> None:
        """Writes what happened before a request was served: completed frees, then segments released and reserved."""
        now = self._segments()
        waiting = {b["address"] for each in now for b in each["blocks"] if b["state"] == "active_pending_free"}
        for address in sorted(self.pending.keys() - waiting):
            self._write("free_completed", address, *self.pending.pop(address), self.frames[address])
        old, new = _cells(self.before), _cells(now)
        for cells, others, names in (
            (old, new, ("segment_free", "segment_unmap")),
            (new, old, ("segment_alloc", "segment_map")),
        ):
            for address, size in _difference(cells, others):
                stream, is_expandable = cells[_owner(cells, address)][1:]
                self._write(names[is_expandable], address, size, stream, [])

    def _check(self) -> None:
        """Stores the figures, if every change has been written."""
        stats = self.card.stats()
        self.before = self._segments()
        figures = (stats[f"{name}_bytes.all.current"] for name in ("allocated", "active", "requested", "reserved"))
        self.figures.append(Figures(len(self.events), *figures, self._segments(self.shift)))  # pyright: ignore[reportCallIssue]

    def _segments(self, shift: int | None = None) -> list[dict[str, Any]]:
        segments = self.card.snapshot()
        for segment in segments:
            for block in segment["blocks"]:
                if block["state"] != "inactive":
                    block["frames"] = self.frames.get(block["address"], [])
                block["address"] += shift or 0
            segment["address"] += shift or 0
        return segments


Cells = dict[tuple[int, int], tuple[int, int, bool]]


def _cells(segments: list[dict[str, Any]]) -> Cells:
    """Returns the ranges of segments: by start and end, with size, stream and whether they can grow."""
    return {
        (each["address"], each["address"] + each["total_size"]): (
            each["total_size"],
            each["stream"],
            each["is_expandable"],
        )
        for each in segments
    }


def _owner(cells: Cells, address: int) -> tuple[int, int]:
    return next(cell for cell in cells if cell[0] <= address < cell[1])


def _difference(cells: Cells, others: Cells) -> list[tuple[int, int]]:
    """Returns the parts of some ranges that others do not cover, as addresses and sizes."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(cells):
        at = start
        for first, last in sorted(others):
            if first < end and last > at:
                if first > at:
                    result.append((at, first - at))
                at = max(at, last)
        if at < end:
            result.append((at, end - at))
    return result


def _frames(draw: random.Random) -> Frames:
    if draw.random() < 0.2:
        return []
    line = draw.randrange(1, 5)
    frames = [
        (LIBRARY, 2000, "linear"),
        (f"/home/ann/model_{line}.py", line, "forward"),
        ("/home/ann/run.py", 9, "step"),
    ]
    return [{"filename": file, "line": number, "name": name} for file, number, name in frames]


def dictionary(histories: list[History], lost: int = 0) -> dict[str, Any]:
    """Returns PyTorch's dictionary for the histories of some devices, of which the first `lost` events are missing."""
    return {
        "segments": [segment for each in histories for segment in each.figures[-1].segments],
        "device_traces": [each.events[lost:] for each in histories],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": histories[0].settings},
    }


def snapshot_of(contents: dict[str, Any]) -> MemorySnapshot:
    """Returns the snapshot that PyTorch's dictionary describes."""
    stacks: dict[Stack, int] = {}

    def number(frames: Frames) -> int:
        stack = tuple(Frame(each["filename"], each["line"], each["name"]) for each in frames)
        return stacks.setdefault(stack, len(stacks)) if stack else -1

    segments = [
        Segment(
            each["device"],
            each["address"],
            each["total_size"],
            each["stream"],
            each["segment_type"] == "small",
            each["is_expandable"],
            tuple(
                Block(b["address"], b["size"], b["requested_size"], b["state"], number(b["frames"]))
                for b in each["blocks"]
            ),
        )
        for each in contents["segments"]
    ]
    traces = [_trace(device, events, number) for device, events in enumerate(contents["device_traces"])]
    return MemorySnapshot("run.pickle", "pickle", segments, traces, [*stacks], contents["allocator_settings"])


def _trace(device: int, events: list[dict[str, Any]], number: Any) -> Trace:
    rows = [
        (
            ACTIONS.index(each["action"]),
            each["addr"] if "addr" in each else each["device_free"],
            each["size"],
            each["stream"],
            each["time_us"],
            number(each["frames"]),
        )
        for each in events
    ]
    action, *columns, stack = np.array(rows, np.int64).reshape(-1, 6).T
    return Trace(device, action.astype(np.uint8), *columns, stack.astype(np.int32))  # pyright: ignore[reportCallIssue]
