"""Short histories, in which one thing is missing or contradicts another."""

from __future__ import annotations

from typing import Any

from nbtf import runtime
from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.beginning import beginning_of, state_of
from nbtf._snapshots.events import history_of
from nbtf._snapshots.holders import holders_at
from nbtf._snapshots.lines import Origins
from nbtf._snapshots.snapshot import MemorySnapshot
from tests.snapshots.histories import snapshot_of

MIB = 1 << 20
BASE = 1 << 40
LINE = [{"filename": "/home/ann/train.py", "line": 9, "name": "step"}]


def _event(action: str, at: int, size: int, stream: int = 0) -> dict[str, Any]:
    name = "device_free" if action == "oom" else "addr"
    return {"action": action, name: at, "size": size, "stream": stream, "time_us": 1, "frames": []}


def _block(at: int, size: int, state: str = "active_allocated", requested: int | None = None) -> dict[str, Any]:
    return {"address": at, "size": size, "requested_size": requested or size, "state": state, "frames": []}


def _snapshot(events: list[dict[str, Any]], *blocks: dict[str, Any]) -> MemorySnapshot:
    segment = {"device": 0, "address": BASE, "total_size": 40 * MIB, "stream": 0, "segment_type": "large"}
    segment |= {"is_expandable": False, "blocks": [*blocks]}
    return snapshot_of({"segments": [segment], "device_traces": [events], "allocator_settings": {}})


def test_memory_whose_free_was_requested_before_the_history_was_no_longer_allocated() -> None:
    events = [
        _event("free_completed", BASE, 2 * MIB),
        _event("alloc", BASE, 2 * MIB),
        _event("free_requested", BASE, 2 * MIB),
    ]
    account = DeviceAccount(_snapshot(events, _block(BASE, 2 * MIB, "active_awaiting_free")), 0)
    assert (account.allocated // MIB).tolist() == [0, 0, 2, 0]
    assert (account.active // MIB).tolist() == [2, 0, 2, 2]
    assert [block.state for block in beginning_of(account)[0].blocks] == ["active_pending_free", "inactive"]


def test_a_block_that_the_history_does_not_allocate_appears_with_its_last_event() -> None:
    events = [
        _event("alloc", BASE, 2 * MIB),
        _event("free_requested", BASE, 2 * MIB),
        _event("free_completed", BASE, 2 * MIB),
        _event("alloc", BASE + 8 * MIB, 2 * MIB),
    ]
    account = DeviceAccount(_snapshot(events, _block(BASE, 2 * MIB), _block(BASE + 8 * MIB, 2 * MIB)), 0)
    assert (account.allocated // MIB).tolist() == [0, 2, 0, 0, 4]
    assert account.contradictions.appeared == 1


def test_a_block_from_before_the_history_has_the_stack_of_the_file() -> None:
    block = _block(BASE, 2 * MIB) | {"frames": LINE}
    snapshot = _snapshot([_event("alloc", BASE + 8 * MIB, 2 * MIB)], block, _block(BASE + 8 * MIB, 2 * MIB))
    holders = holders_at(DeviceAccount(snapshot, 0), Origins(snapshot), 1)
    assert [(each.name, each.nbytes) for each in holders] == [
        ("no stack recorded", 2 * MIB),
        ("train.py:9 in step", 2 * MIB),
    ]


def test_an_allocation_without_a_stack_has_that_of_its_block() -> None:
    snapshot = _snapshot([_event("alloc", BASE, 2 * MIB)], _block(BASE, 2 * MIB) | {"frames": LINE})
    holders = holders_at(DeviceAccount(snapshot, 0), Origins(snapshot), 1)
    assert [each.name for each in holders] == ["train.py:9 in step"]


def test_a_later_neighbour_shows_where_an_older_piece_ended() -> None:
    events = [
        _event("alloc", BASE + 3 * MIB, 2 * MIB),
        _event("free_requested", BASE, 2 * MIB + 100),
        _event("free_completed", BASE, 2 * MIB + 100),
    ]
    account = DeviceAccount(_snapshot(events, _block(BASE + 3 * MIB, 2 * MIB)), 0)
    assert (account.allocated // MIB).tolist() == [3, 5, 2, 2]
    assert not account.pieces.is_inexact.any()


def test_the_end_of_an_older_piece_may_be_unknown() -> None:
    events = [_event("free_requested", BASE, 2 * MIB), _event("free_completed", BASE, 2 * MIB)]
    account = DeviceAccount(_snapshot(events), 0)
    assert (account.allocated // MIB).tolist() == [2, 0, 0]
    assert account.pieces.is_inexact.tolist() == [True]


def test_a_rest_of_a_megabyte_belongs_to_its_piece() -> None:
    events = [
        _event("alloc", BASE + 3 * MIB, 37 * MIB),
        _event("alloc", BASE, 2 * MIB),
        _event("free_requested", BASE, 2 * MIB),
        _event("free_completed", BASE, 2 * MIB),
        _event("alloc", BASE, 2 * MIB - 512),
        _event("free_requested", BASE, 2 * MIB - 512),
        _event("free_completed", BASE, 2 * MIB - 512),
    ]
    account = DeviceAccount(_snapshot(events, _block(BASE + 3 * MIB, 37 * MIB)), 0)
    levels = ((account.allocated - 37 * MIB) / MIB).tolist()
    assert levels[1:4] == [0, 3, 0]
    assert levels[5] == 2 - 512 / MIB  # the rest is larger than 1 MiB, so it was split off


def test_memory_that_is_allocated_again_was_freed_before() -> None:
    events = [_event("alloc", BASE, 2 * MIB), _event("alloc", BASE, 3 * MIB)]
    snapshot = _snapshot(events, _block(BASE, 3 * MIB))
    account = DeviceAccount(snapshot, 0)
    assert account.contradictions.unfreed == 1
    assert (account.allocated // MIB).tolist() == [0, 2, 3]
    changes = [(type(event).__name__, event.nbytes // MIB, event.seq) for event in history_of(snapshot, 0).events]  # pyright: ignore[reportAttributeAccessIssue]
    assert changes == [("Allocated", 2, 0), ("Freed", 2, 1), ("Allocated", 3, 1)]


def test_pieces_that_overlap_do_not_overlap_in_a_state() -> None:
    events = [_event("alloc", BASE, 4 * MIB), _event("alloc", BASE + 2 * MIB, 4 * MIB)]
    account = DeviceAccount(_snapshot(events, _block(BASE + 2 * MIB, 4 * MIB)), 0)
    assert account.contradictions.vanished == 1
    assert [(block.size // MIB, block.state) for block in state_of(account, 1)[0].blocks] == [
        (4, "active_allocated"),
        (36, "inactive"),
    ]
    events.append(_event("alloc", BASE + 20 * MIB, 4 * MIB))
    account = DeviceAccount(_snapshot(events, _block(BASE + 2 * MIB, 4 * MIB), _block(BASE + 20 * MIB, 4 * MIB)), 0)
    blocks = state_of(account, 2)[0].blocks
    assert sum(block.size for block in blocks) == 40 * MIB
    assert [block.address for block in blocks] == sorted({block.address for block in blocks})


def test_an_expandable_segment_is_one_region_that_grows() -> None:
    events = [
        _event("segment_map", BASE, 20 * MIB),
        _event("alloc", BASE, 15 * MIB),
        _event("segment_map", BASE + 20 * MIB, 20 * MIB),
        _event("alloc", BASE + 15 * MIB, 25 * MIB),
    ]
    contents: dict[str, Any] = {"device_traces": [events], "allocator_settings": {"expandable_segments": True}}
    segment = {"device": 0, "address": BASE, "total_size": 40 * MIB, "stream": 0, "segment_type": "large"}
    blocks = [_block(BASE, 15 * MIB), _block(BASE + 15 * MIB, 25 * MIB)]
    snapshot = snapshot_of(contents | {"segments": [segment | {"is_expandable": True, "blocks": blocks}]})
    account = DeviceAccount(snapshot, 0)
    assert (account.reserved // MIB).tolist() == [0, 20, 20, 40, 40]
    assert [len(account.ranges(state)) for state in range(5)] == [0, 1, 1, 1, 1]
    allocated = [event for event in history_of(snapshot, 0).events if isinstance(event, runtime.Allocated)]
    assert [(event.region, event.offset // MIB, event.region_size // MIB) for event in allocated] == [
        (0, 0, 20),
        (0, 15, 40),
    ]
