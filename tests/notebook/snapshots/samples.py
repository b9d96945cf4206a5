"""Snapshots of memory that never was, with everything that a page shows: several lines, a lost beginning, a failure."""

from __future__ import annotations

import random

import numpy as np

from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    FREE_REQUESTED,
    OOM,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    Block,
    Frame,
    MemorySnapshot,
    Segment,
    Trace,
)

MIB = 1 << 20
SEGMENT_SIZE = 64 * MIB
BASE = 0x7F0000000000
LIBRARY = Frame("/opt/site-packages/torch/nn/functional.py", 30, "linear")
STACKS = [
    (LIBRARY, Frame(f"/home/ann/model_{number}.py", 10 + number, "forward"), Frame("/home/ann/train.py", 5, "step"))
    for number in range(9)
]

Events = list[tuple[int, int, int, int]]


def sample(seed: int = 0, steps: int = 300, lost: int = 20, failure: bool = True) -> MemorySnapshot:
    """Returns a snapshot of random pieces on one device; the first `lost` events are missing in its history."""
    draw = random.Random(seed)
    held: dict[int, tuple[int, int]] = {}
    reserved: set[int] = set()
    events: Events = []
    while len(events) < steps + lost:
        address = BASE + draw.randrange(12 * SEGMENT_SIZE // (4 * MIB)) * 4 * MIB
        base = address - (address - BASE) % SEGMENT_SIZE
        if address in held:
            size, _ = held.pop(address)
            events += [(FREE_REQUESTED, address, size, -1), (FREE_COMPLETED, address, size, -1)]
        elif base in reserved:
            held[address] = size, stack = draw.randrange(1, 4 * MIB), draw.randrange(len(STACKS))
            events.append((ALLOC, address, size, stack))
        elif draw.random() < 0.3:
            reserved.add(base)
            events.append((SEGMENT_ALLOC, base, SEGMENT_SIZE, -1))
        empty = [each for each in reserved if not any(each <= at < each + SEGMENT_SIZE for at in held)]
        if empty and draw.random() < 0.05:
            reserved.remove(empty[0])
            events.append((SEGMENT_FREE, empty[0], SEGMENT_SIZE, -1))
    if failure:
        events.append((OOM, 3 * MIB, 5 * MIB, 1))
    columns = np.array(events[lost:], np.int64).T
    segments = [
        Segment(0, base, SEGMENT_SIZE, 0, False, False, tuple(_blocks(base, held))) for base in sorted(reserved)
    ]
    numbers = np.arange(len(columns[0]))
    trace = Trace(
        0,
        columns[0].astype(np.uint8),
        columns[1],
        columns[2],
        numbers * 0,
        numbers,
        columns[3].astype(np.int32),
        {"segment_magic": 3},
    )
    return MemorySnapshot("run.pickle", "pickle", segments, [trace], STACKS, {"expandable_segments": False})


def _blocks(base: int, held: dict[int, tuple[int, int]]) -> list[Block]:
    blocks: list[Block] = []
    for address in range(base, base + SEGMENT_SIZE, 4 * MIB):
        size, stack = held.get(address, (0, -1))
        rounded = -(-size // 512) * 512
        blocks += [Block(address, rounded, size, "active_allocated", stack)] if size else []
        if rounded < 4 * MIB:
            blocks.append(Block(address + rounded, 4 * MIB - rounded, 0, "inactive"))
    return blocks
