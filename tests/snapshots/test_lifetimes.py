"""Do lifetimes agree with the events one by one, and with the segments at the end?"""

from __future__ import annotations

import numpy as np
import pytest

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.lifetimes import Lifetimes, lifetimes_of, segments_of, step_numbers
from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    SEGMENT_ALLOC,
    SEGMENT_FREE,
    SEGMENT_MAP,
    SEGMENT_UNMAP,
    MemorySnapshot,
    Segment,
    Trace,
)
from tests.notebook.snapshots.samples import BASE, MIB, sample
from tests.rings import seeds


def undone(end: dict[int, int], trace: Trace, begin: int, finish: int) -> list[dict[int, int]]:
    """The sizes by address after each event, by undoing the events from the end."""
    states = [dict(end)]
    columns = (column.tolist() for column in (trace.action, trace.address, trace.size))
    for action, address, size in reversed(list(zip(*columns, strict=True))):
        state = dict(states[-1])
        if action == begin:
            state.pop(address)
        elif action == finish:
            state[address] = size
        states.append(state)
    return states[-2::-1]


def pieces_in(snapshot: MemorySnapshot) -> Lifetimes:
    account = DeviceAccount(snapshot, 0)
    return lifetimes_of(account.pieces, account.trace)


def after(ranges: Lifetimes, step: int) -> dict[int, int]:
    rows = (ranges.birth <= step) & (step < ranges.death)
    return dict(zip(ranges.address[rows].tolist(), ranges.requested[rows].tolist(), strict=True))


@pytest.mark.parametrize("seed", seeds(80))
def test_every_state_is_what_undoing_the_events_gives(seed: int) -> None:
    snapshot = sample(seed, steps=80)
    trace, steps = snapshot.traces[0], step_numbers(snapshot.traces[0])
    blocks = {block.address: block.requested for each in snapshot.segments for block in each.blocks if block.requested}
    pieces = undone(blocks, trace, ALLOC, FREE_COMPLETED)
    segments = undone({each.address: each.size for each in snapshot.segments}, trace, SEGMENT_ALLOC, SEGMENT_FREE)
    lifetimes = pieces_in(snapshot), segments_of(trace, snapshot.segments)

    for event in range(len(trace)):
        step = int(steps[event + 1]) - 1
        if step >= 0:
            assert (pieces[event], segments[event]) == tuple(after(ranges, step) for ranges in lifetimes), event


def test_levels_at_the_end_are_those_of_the_blocks() -> None:
    snapshot = sample()
    steps = int(step_numbers(snapshot.traces[0])[-1])

    in_use = pieces_in(snapshot).levels(steps)
    reserved = segments_of(snapshot.traces[0], snapshot.segments).levels(steps)

    active = sum(block.size for each in snapshot.segments for block in each.blocks if block.state != "inactive")
    assert (active, sum(each.size for each in snapshot.segments)) == (in_use[-1], reserved[-1])
    assert (in_use <= reserved).all()


def test_expandable_segments_grow_and_shrink() -> None:
    actions = [SEGMENT_MAP, SEGMENT_MAP, SEGMENT_UNMAP]
    addresses = [BASE + 2 * MIB, BASE + 4 * MIB, BASE]
    columns = np.array(addresses), np.array([2 * MIB, 2 * MIB, 4 * MIB])
    nothing = np.zeros(3, np.int64)
    trace = Trace(0, np.array(actions, np.uint8), *columns, nothing, nothing, nothing.astype(np.int32))
    end = [Segment(0, BASE + 4 * MIB, 2 * MIB, 7, False, True, ())]

    ranges = segments_of(trace, end)

    assert [4 * MIB, 6 * MIB, 2 * MIB] == ranges.levels(3).tolist()


def test_snapshot_without_a_history_has_its_blocks() -> None:
    snapshot = sample(failure=False)
    empty = np.zeros(0, np.int64)
    trace = Trace(0, empty.astype(np.uint8), empty, empty, empty, empty, empty.astype(np.int32))

    pieces = pieces_in(MemorySnapshot("", "", snapshot.segments, [trace], snapshot.stacks, {}))

    blocks = [block for each in snapshot.segments for block in each.blocks if block.requested]
    assert sorted(block.address for block in blocks) == pieces.address.tolist()
