"""Do the blocks of PyTorch's own history become events of memory? With a stub of its allocator."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from nbtf import runtime
from nbtf._frameworks.torch.card_memory import CardMemory
from nbtf.notebook.stills.memory_history import MemoryHistory
from nbtf.runtime import Allocated, Freed, Refused

MIB = 1 << 20


class Device(NamedTuple):
    type: str
    index: int


def stub() -> Any:
    """PyTorch with a card whose allocator has one segment of 20 MiB, 2 MiB of it in use."""
    segments = [{"device": 0, "address": 4096, "total_size": 20 * MIB, "allocated_size": 2 * MIB}]
    trace: list[dict[str, Any]] = [{"action": "alloc", "addr": 4096, "size": 2 * MIB, "frames": [], "time_us": 1}]
    torch: Any = SimpleNamespace(trace=trace, asked=[])
    torch._C = SimpleNamespace(_cuda_isHistoryEnabled=lambda: False)
    torch.device = Device
    memory = SimpleNamespace(
        _record_memory_history=lambda enabled, **options: torch.asked.append(enabled),
        _snapshot=lambda: {"device_traces": [list(trace)], "segments": segments},
    )
    torch.cuda = SimpleNamespace(is_initialized=lambda: True, memory=memory)
    return torch


def event(action: str, address: int, size: int) -> dict[str, Any]:
    frames = [
        {"name": "linear", "filename": "<eval_with_key>.1", "line": 3},
        {"name": "step", "filename": "train.py", "line": 7},
    ]
    return {"action": action, "addr": address, "size": size, "frames": frames, "time_us": 2, "device_free": MIB}


def test_blocks_are_told_with_their_segment_their_line_and_what_is_in_use() -> None:
    torch = stub()
    with runtime.recording() as record:
        stop = CardMemory(torch).start()
        torch.trace += [event("alloc", 4096 + 2 * MIB, MIB), event("free_requested", 4096 + 2 * MIB, MIB)]
        torch.trace += [event("segment_alloc", 99 * MIB, 4 * MIB), event("free_completed", 4096 + 2 * MIB, MIB)]
        torch.trace += [event("oom", 0, 64 * MIB)]
        stop()

    granted, freed, refused = [each for each in record.events if isinstance(each, Allocated | Freed | Refused)]
    assert isinstance(granted, Allocated)
    assert isinstance(freed, Freed)
    assert isinstance(refused, Refused)
    assert ("cuda:0", MIB, 3 * MIB, 20 * MIB) == (runtime.short_name(granted.device), *granted[1:4])
    assert (1000, 2 * MIB, MIB, 20 * MIB) == (granted.region, granted.offset, granted.size, granted.region_size)
    assert (("train.py", 7), "linear") == (granted.site, granted.label and granted.label.op)
    assert (2 * MIB, 24 * MIB) == (freed.in_use, freed.pool)
    assert (64 * MIB, MIB) == (refused.nbytes, refused.largest_free)
    assert ["all", None] == torch.asked


def blocks() -> list[dict[str, Any]]:
    """Those of the stub's segment: 1 MiB in use, 6 MiB free, and another MiB in use."""
    states = ("active_allocated", MIB), ("inactive", 6 * MIB), ("active_allocated", MIB), ("inactive", 12 * MIB)
    return [{"state": state, "size": size} for state, size in states]


def test_a_history_begins_with_what_was_there() -> None:
    torch = stub()
    torch.cuda.memory._snapshot()["segments"][0]["blocks"] = blocks()
    with runtime.recording() as record:
        stop = CardMemory(torch).start()
        torch.trace += [event("alloc", 4096 + 2 * MIB, MIB), event("free_completed", 4096 + 7 * MIB, MIB)]
        stop()

    events = [each for each in record.events if isinstance(each, Allocated | Freed)]
    history = MemoryHistory(events[0].device, 1 << 40, events)
    assert [MIB, 2 * MIB, 3 * MIB, 2 * MIB] == history.in_use
    assert [MIB, 2 * MIB, 3 * MIB, 2 * MIB] == [each.in_use for each in events]
    assert ["from before", "from before", "linear"] == [band.label and band.label.op for band in history.bands]


def test_a_recording_that_begins_later_begins_with_what_was_there() -> None:
    torch = stub()
    torch.cuda.memory._snapshot()["segments"][0]["blocks"] = blocks()
    with runtime.recording():
        stop = CardMemory(torch).start()
        with runtime.recording() as record:
            torch.trace += [event("free_completed", 4096 + 7 * MIB, MIB)]
        stop()

    before = record.regions_before("cuda:0")
    [freed] = [each for each in record.events if isinstance(each, Freed)]
    assert [(0, MIB), (7 * MIB, MIB)] == [(chunk.offset, chunk.size) for region in before for chunk in region.chunks]
    assert [MIB] == MemoryHistory(freed.device, 1 << 40, [freed], before).in_use


def test_history_that_somebody_else_keeps_is_left_alone() -> None:
    torch = stub()
    torch._C._cuda_isHistoryEnabled = lambda: True
    with runtime.recording():
        CardMemory(torch).start()()

    assert [] == torch.asked


class Card:
    """A made-up history: segments and blocks as an allocator would have them, in random order."""

    def __init__(self, random: Any) -> None:
        self.random, self.trace = random, list[dict[str, Any]]()
        self.segments: dict[int, int] = {}
        self.blocks: dict[int, int] = {}

    def snapshot(self) -> Any:
        segments = [
            {
                "device": 0,
                "address": start,
                "total_size": size,
                "allocated_size": sum(self.blocks[each] for each in self.blocks if start <= each < start + size),
            }
            for start, size in self.segments.items()
        ]
        return {"device_traces": [list(self.trace)], "segments": segments}

    def go_on(self) -> None:
        choice = self.random.random()
        if choice < 0.2 or not self.segments:
            address = next(start for start in count(0, 8 * MIB) if start not in self.segments)
            self.segments[address] = 8 * MIB
            self.trace.append(event("segment_alloc", address, 8 * MIB))
        elif choice < 0.6:
            segment, slot = self.random.choice([*self.segments]), self.random.randrange(8)
            if segment + slot * MIB not in self.blocks:
                self.blocks[segment + slot * MIB] = MIB
                self.trace.append(event("alloc", segment + slot * MIB, MIB))
        elif choice < 0.9 and self.blocks:
            address = self.random.choice([*self.blocks])
            self.trace.append(event("free_completed", address, self.blocks.pop(address)))
        else:
            idle = [start for start in self.segments if not any(start <= b < start + 8 * MIB for b in self.blocks)]
            for start in idle:
                del self.segments[start]
                self.trace.append(event("segment_free", start, 8 * MIB))


@settings(deadline=None, max_examples=60)
@given(random=st.randoms(use_true_random=False), before=st.integers(0, 60), forgotten=st.integers(0, 3))
def test_a_history_that_began_before_the_recording_is_replayed(random: Any, before: int, forgotten: int) -> None:
    card, torch = Card(random), stub()
    for _ in range(before):
        card.go_on()
    torch.cuda.memory._snapshot = card.snapshot
    blocks_before, told_before = {*card.blocks}, len(card.trace)
    with runtime.recording() as record:
        stop = CardMemory(torch).start()
        for _ in range(60):
            card.go_on()
        for _ in range(min(forgotten, len(card.trace) - told_before)):
            lost = [at for at in range(told_before, len(card.trace)) if card.trace[at]["action"] == "free_completed"]
            for at in lost[:1]:
                del card.trace[at]
        stop()

    events = [each for each in record.events if isinstance(each, Allocated | Freed)]
    replay = runtime.MemoryReplay(events[0].device if events else "")
    for each in events:
        _ = replay.take(each)
        for region in replay.regions():
            ends = [0, *[chunk.offset + chunk.size for chunk in region.chunks]]
            assert [chunk.offset for chunk in region.chunks] == ends[:-1]
            assert ends[-1] == region.size
    placed = [chunk for region in replay.regions() for chunk in region.chunks if chunk.in_use]
    assert len(placed) >= len({*card.blocks} - blocks_before)
    if not forgotten:
        assert [each.in_use for each in events[-1:]] in ([], [len(card.blocks) * MIB])
    bands = MemoryHistory(replay._device, 1 << 40, events).bands
    assert len([band for band in bands if band.death >= len(events)]) <= len(placed)
