"""Random programs whose allocations are written down in the order in which PyTorch writes them.

Every event comes from the place in the allocator at which PyTorch records it: a segment when the driver returns it, a
free when the program requests it and when no stream uses the memory any longer.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation, Block, Death
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots import snapshot as snapshots
from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    FREE_REQUESTED,
    OOM,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    Frame,
    MemorySnapshot,
    Segment,
    Trace,
)

MIB = 1 << 20
TEXTS = (
    "",
    "expandable_segments:True",
    "max_split_size_mb:20",
    "roundup_power2_divisions:4",
    "garbage_collection_threshold:0.6,per_process_memory_fraction:0.5",
    "expandable_segments:True,roundup_power2_divisions:4",
)
LINES = 5
STACKS = tuple((Frame("/home/user/train.py", 10 * number, "step"),) for number in range(1, LINES + 1))


class RecordingAllocator(CachingAllocator):
    """An allocator that writes its history down."""

    def __init__(self, total: int, settings: AllocatorSettings) -> None:
        super().__init__(total, settings)
        self.actions: list[tuple[int, int, int, int, int]] = []
        self.stack = 0
        self.stream = 0

    def record(self, action: int, address: int, size: int, stream: int) -> None:
        self.actions.append((action, address, size, stream, self.stack))

    def _new_addresses(self, nbytes: int) -> int:
        address = super()._new_addresses(nbytes)
        if not self.settings.expandable_segments:
            self.record(SEGMENT_ALLOC, address, nbytes, self.stream)
        return address

    def _map(self, block: Block, size: int) -> bool:
        address, reserved = block.address, self.reserved
        is_mapped = super()._map(block, size)
        if is_mapped:
            self.record(SEGMENT_MAP, address, self.reserved - reserved, block.stream)
        return is_mapped

    def _release(self, block: Block) -> None:
        self.record(SEGMENT_FREE, block.address, block.size, block.stream)
        super()._release(block)

    def _unmap(self, block: Block) -> None:
        assert block.segment is not None
        first, last = block.segment.inside(block.address, block.address + block.size)
        if first < last:
            self.record(SEGMENT_UNMAP, first, last - first, block.stream)
        super()._unmap(block)

    def _end_use(self, death: Death, block: Block) -> None:
        self.record(FREE_REQUESTED, block.address, block.requested, block.stream)
        super()._end_use(death, block)

    def _free_block(self, block: Block) -> None:
        self.record(FREE_COMPLETED, block.address, block.requested, block.stream)
        super()._free_block(block)


class Program(NamedTuple):
    """A recorded program: its snapshot, the allocator, and what the program did in steps.

    A step is `("allocate", name, bytes, stream)`, `("free", name)` or `("empty",)`, each with the number of events
    before it.
    """

    snapshot: MemorySnapshot
    allocator: RecordingAllocator
    total: int
    settings: str
    steps: list[tuple[int, tuple[Any, ...]]]


def run(
    seed: int, text: str = "", steps: int = 120, *, others: bool = True, empties: bool = True, total: int | None = None
) -> Program:
    """Runs a random program.

    Args:
      seed: seed of the program.
      text: settings of the allocator.
      steps: number of its steps.
      others: whether it uses memory on other streams.
      empties: whether it releases the cache.
      total: bytes of the card; None chooses.
    """
    draw = random.Random(seed)
    total = draw.choice([40, 80, 160, 400]) * MIB if total is None else total
    allocator = RecordingAllocator(total, AllocatorSettings.parse(text))
    held: dict[int, Allocation] = {}
    done: list[tuple[int, tuple[Any, ...]]] = []
    for number in range(steps):
        chance, before = draw.random(), len(allocator.actions)
        allocator.stack = draw.randrange(LINES)
        if chance < 0.55:
            size = draw.choice(
                [draw.randrange(1, 3000), draw.randrange(1, 3 * MIB), draw.randrange(1, 40 * MIB), 2 * MIB]
            )
            allocator.stream = stream = draw.choice([0, 0, 0, 7])
            done.append((before, ("allocate", number, size, stream)))
            try:
                allocation = allocator.allocate(size, stream)
            except OutOfDeviceMemory as error:
                allocator.record(OOM, error.figures.free, size, stream)
                continue
            assert allocation is not None
            allocator.record(ALLOC, allocation.address, size, stream)
            held[number] = allocation
        elif chance < 0.95 and held:
            name = draw.choice(list(held))
            if others and draw.random() < 0.2:
                allocator.record_stream(held[name], 99)
            allocator.free(held.pop(name))
            allocator.level()
            done.append((before, ("free", name)))
        elif chance >= 0.95 and empties:
            allocator.empty_cache()
            done.append((before, ("empty",)))
    return Program(_snapshot(allocator, text), allocator, total, text, done)


def _snapshot(allocator: RecordingAllocator, text: str) -> MemorySnapshot:
    columns = np.array(allocator.actions, np.int64).reshape(-1, 5).T
    action, address, size, stream, stack = columns
    trace = Trace(0, action.astype(np.uint8), address, size, stream, np.arange(len(action)), stack.astype(np.int32))
    segments = [
        Segment(
            0,
            segment["address"],
            segment["total_size"],
            segment["stream"],
            segment["segment_type"] == "small",
            segment["is_expandable"],
            tuple(
                snapshots.Block(block["address"], block["size"], block["requested_size"], block["state"])
                for block in segment["blocks"]
            ),
        )
        for segment in allocator.snapshot()
    ]
    return MemorySnapshot("random", "pickle", segments, [trace], STACKS, {"PYTORCH_ALLOC_CONF": text})


def without_beginning(snapshot: MemorySnapshot, events: int) -> MemorySnapshot:
    """Returns a snapshot whose first events were lost, as those of a full ring."""
    (trace,) = snapshot.traces
    names = ("action", "address", "size", "stream", "microseconds", "stack")
    columns: Any = [getattr(trace, name)[events:] for name in names]
    rest = Trace(0, *columns)
    form, segments = snapshot.form, snapshot.segments
    return MemorySnapshot(snapshot.source, form, segments, [rest], snapshot.stacks, snapshot.settings)
