"""A snapshot's history as events of nbtf: replayed, they are the same memory."""

from __future__ import annotations

import pytest

from nbtf import runtime
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.beginning import state_of
from nbtf._snapshots.events import history_of, window_around_peak
from nbtf._snapshots.snapshot import FREE_COMPLETED, OOM, MemorySnapshot
from nbtf.notebook.stills.memory_history import MemoryHistory
from tests.rings import seeds
from tests.snapshots.histories import dictionary, history, snapshot_of

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


def _in_use(snapshot: MemorySnapshot, state: int) -> set[tuple[int, int, int]]:
    """Returns offset, size and requested bytes of the blocks in use."""
    account = DeviceAccount(snapshot, 0)
    return {
        (block.address - segment.address, block.size, block.requested)
        for segment in state_of(account, state)
        for block in segment.blocks
        if block.state != "inactive"
    }


@pytest.mark.parametrize("seed", seeds(60))
@pytest.mark.parametrize("text", ["", "max_split_size_mb:20"])
def test_a_replay_ends_with_the_blocks_of_the_file(seed: int, text: str) -> None:
    record = history(seed, text=text)
    snapshot = snapshot_of(dictionary([record], len(record.events) // 3))
    account = DeviceAccount(snapshot, 0)
    middle = len(account.trace) // 2
    for first, last in ((None, None), (middle, None), (0, middle)):
        part = history_of(snapshot, 0, first, last)
        replay = runtime.MemoryReplay(part.device, part.regions)
        for event in part.events:
            replay.take(event)
            assert event.seq in range(part.first, part.last)
            if not isinstance(event, runtime.Refused):
                assert event.region >= 0  # pyright: ignore[reportAttributeAccessIssue]
        chunks = {
            (chunk.offset, chunk.size, chunk.requested)
            for region in replay.regions()
            for chunk in region.chunks
            if chunk.in_use
        }
        assert chunks == _in_use(snapshot, part.last)
        levels = [event for event in part.events if isinstance(event, runtime.Allocated | runtime.Freed)]
        assert levels[-1].in_use == account.active[levels[-1].seq + 1]
        for event in levels:
            assert event.pool == account.reserved[event.seq + 1]


@pytest.mark.parametrize("text", ["", "expandable_segments:True"])
def test_the_views_history_has_the_same_peak(text: str) -> None:
    for seed in range(6):
        snapshot = snapshot_of(dictionary([history(seed, text=text)]))
        part = history_of(snapshot, 0)
        drawn = MemoryHistory(part.device, part.limit, part.events, part.regions)
        account = DeviceAccount(snapshot, 0)
        assert max(drawn.in_use) == account.active.max()
        assert len(drawn.refusals) == int((account.trace.action == OOM).sum())
        assert len(drawn.bands) == account.allocations
        assert part.limit >= account.reserved.max()


def test_events_have_the_users_line_and_the_card() -> None:
    part = history_of(snapshot_of(dictionary([history(1, text="")])), 0)
    allocated = [event for event in part.events if isinstance(event, runtime.Allocated)]
    sites = {event.site for event in allocated}
    assert ("/home/ann/model_1.py", 1) in sites
    assert None in sites
    assert {event.device for event in part.events} == {DEVICE}  # pyright: ignore[reportAttributeAccessIssue]
    assert {getattr(event, "library", "") for event in part.events} == {"PyTorch"}
    assert {event.label.op for event in allocated if event.label} == {"linear", "PyTorch"}


def test_a_window_is_around_the_peak() -> None:
    snapshot = snapshot_of(dictionary([history(3, text="", steps=300)]))
    account = DeviceAccount(snapshot, 0)
    part = window_around_peak(snapshot, 0, events=50)
    assert part.last - part.first == 50
    assert part.first < account.peak.state <= part.last
    assert window_around_peak(snapshot, 0).last == len(account.trace)


def test_memory_that_another_stream_uses_is_freed_when_it_is_done() -> None:
    record = history(8, text="", steps=400)
    snapshot = snapshot_of(dictionary([record]))
    account = DeviceAccount(snapshot, 0)
    assert (account.active > account.allocated).any()
    freed = [event.seq for event in history_of(snapshot, 0).events if isinstance(event, runtime.Freed)]
    assert {int(account.trace.action[seq]) for seq in freed} == {FREE_COMPLETED}


def test_events_outside_of_the_history_are_refused() -> None:
    snapshot = snapshot_of(dictionary([history(1, text="")]))
    with pytest.raises(ValueError, match="do not exist"):
        history_of(snapshot, 0, 5, 10**6)
