"""Accounts of memory snapshots, against the allocator's own figures and a plain replay of the events."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from nbtf._snapshots.account import DeviceAccount, devices_of
from nbtf._snapshots.beginning import beginning_of, state_of, unknowns_of
from nbtf._snapshots.opened import OpenedSnapshot
from nbtf._snapshots.snapshot import ACTIONS, MemorySnapshot
from tests.rings import seeds
from tests.snapshots.histories import TEXTS, History, dictionary, history, snapshot_of


def _account(record: History, lost: int = 0) -> DeviceAccount:
    return DeviceAccount(snapshot_of(dictionary([record], lost)), 0)


@pytest.mark.parametrize("seed", seeds(400))
def test_every_figure_is_that_of_the_allocator(seed: int) -> None:
    record = history(seed)
    account = _account(record)
    assert len(record.figures) == 120
    for events, *figures, _ in record.figures:
        assert list(account.level(events)[1:]) == figures, f"after {events} events"
    assert not any(account.contradictions)
    assert not account.pieces.is_inexact.any()
    assert account.level(0)[1:] == (0, 0, 0, 0)


@pytest.mark.parametrize("seed", seeds(400))
def test_blocks_are_those_of_the_allocator_at_any_event(seed: int) -> None:
    record = history(seed)
    account = _account(record)
    for figures in record.figures[::7]:
        plain = [
            (each["address"], each["total_size"], [(b["address"], b["size"], b["state"]) for b in each["blocks"]])
            for each in _merged(figures.segments)
        ]
        state = [
            (each.address, each.size, [(b.address, b.size, b.state) for b in each.blocks])
            for each in state_of(account, figures.events)
        ]
        assert state == plain
        holes = account.holes(figures.events)
        free = [(address, size) for _, _, blocks in plain for address, size, name in blocks if name == "inactive"]
        assert list(zip(holes.address.tolist(), holes.size.tolist(), strict=True)) == free


def _merged(segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(segments, key=lambda each: each["address"])


@pytest.mark.parametrize("seed", seeds(400))
def test_a_history_without_its_beginning_has_the_same_figures(seed: int) -> None:
    record = history(seed)
    lost = len(record.events) // 3
    account = _account(record, lost)
    inexact = account.pieces.at(account.pieces.is_inexact)
    for events, *figures, _ in record.figures:
        if events < lost:
            continue
        state = events - lost
        unknown = int(np.count_nonzero((inexact.birth <= state) & (state < inexact.death))) << 20
        level = account.level(state)
        assert (level.requested, level.reserved) == tuple(figures[2:])
        assert 0 <= figures[0] - level.allocated <= unknown
        assert 0 <= figures[1] - level.active <= unknown
    assert not any(account.contradictions)
    is_older = bool((account.pieces.birth == 0).any())
    assert any("history begins" in sentence for sentence in unknowns_of(account)) == is_older


@pytest.mark.parametrize("text", TEXTS)
def test_the_beginning_is_the_state_at_which_events_were_lost(text: str) -> None:
    record = history(5, text=text)
    half = record.figures[len(record.figures) // 2]
    account = _account(record, half.events)
    pieces = {
        (b["address"], b["requested_size"], b["state"])
        for each in half.segments
        for b in each["blocks"]
        if b["state"] != "inactive"
    }
    blocks = {
        (b.address, b.requested, b.state)
        for each in beginning_of(account)
        for b in each.blocks
        if b.state != "inactive"
    }
    assert blocks == pieces
    assert pieces


@pytest.mark.parametrize("seed", seeds(100))
def test_levels_are_those_of_a_plain_replay(seed: int) -> None:
    """A dictionary of live blocks, event by event, whose charged sizes are those that the pieces have."""
    record = history(seed, streams=3)
    account = _account(record)
    sizes = dict(zip(account.pieces.event.tolist(), account.pieces.size.tolist(), strict=True))
    held: dict[int, tuple[int, int]] = {}
    active: dict[int, tuple[int, int]] = {}
    reserved = {stream: 0 for stream in range(3)}
    levels = {stream: account.of_stream(stream) for stream in range(3)}
    for event, entry in enumerate(record.events):
        match entry["action"]:
            case "alloc":
                held[entry["addr"]] = active[entry["addr"]] = sizes[event], entry["stream"]
            case "free_requested":
                del held[entry["addr"]]
            case "free_completed":
                del active[entry["addr"]]
            case "segment_alloc" | "segment_map":
                reserved[entry["stream"]] += entry["size"]
            case "segment_free" | "segment_unmap":
                reserved[entry["stream"]] -= entry["size"]
            case _:
                pass
        for stream, (own_held, own_active, own_reserved) in levels.items():
            assert own_held[event + 1] == sum(size for size, owner in held.values() if owner == stream)
            assert own_active[event + 1] == sum(size for size, owner in active.values() if owner == stream)
            assert own_reserved[event + 1] == reserved[stream]
    assert {*account.streams} <= {0, 1, 2}


def test_failed_requests_have_what_was_free() -> None:
    failures = 0
    for seed in range(12):
        record = history(seed, text="")
        account = _account(record)
        entries = [(event, entry) for event, entry in enumerate(record.events) if entry["action"] == "oom"]
        assert [(each.event, each.requested, each.free_on_card) for each in account.failures] == [
            (event, entry["size"], entry["device_free"]) for event, entry in entries
        ]
        for failure in account.failures:
            assert failure.free_in_segments == failure.reserved - failure.active
            assert 0 <= failure.largest_hole <= failure.free_in_segments
            whole = failure.free_on_card + failure.free_in_segments
            assert failure.fits_if_contiguous == (failure.requested <= whole)
        failures += len(entries)
    assert failures > 10


def test_several_devices_have_accounts_of_their_own() -> None:
    records = [history(1, device=0, text=""), history(2, device=1, text="")]
    snapshot = snapshot_of(dictionary(records))
    assert devices_of(snapshot) == [0, 1]
    for device, record in enumerate(records):
        assert DeviceAccount(snapshot, device).end[1:] == record.figures[-1][1:5]


def test_a_file_without_history_has_one_state() -> None:
    record = history(3)
    contents = dictionary([record]) | {"device_traces": []}
    account = DeviceAccount(snapshot_of(contents), 0)
    assert account.states == 1
    assert account.peak == account.end
    assert account.end[1:] == record.figures[-1][1:5]
    assert unknowns_of(account) == ["The file has no history of this device, only its memory at one moment."]


def test_an_empty_file_has_no_devices() -> None:
    snapshot = MemorySnapshot("empty.pickle", "pickle", [], [], [], {})
    assert devices_of(snapshot) == []
    account = DeviceAccount(snapshot, 0)
    assert account.end[1:] == (0, 0, 0, 0)
    assert account.holes(0).largest == 0


@pytest.mark.parametrize(
    ("action", "name"),
    [("free_completed", "unfreed"), ("alloc", "unallocated")],
)
def test_missing_events_are_counted_and_the_end_stays_exact(action: str, name: str) -> None:
    """Events are lost in the middle; the blocks at the end are right in any case."""
    seen = 0
    for seed in range(8):
        record = history(seed, text="")
        middle = [at for at, entry in enumerate(record.events) if entry["action"] == action]
        lost = {*middle[len(middle) // 2 :: 5]}
        events = [entry for at, entry in enumerate(record.events) if at not in lost]
        contents = dictionary([record]) | {"device_traces": [events]}
        account = DeviceAccount(snapshot_of(contents), 0)
        assert account.end[1:] == record.figures[-1][1:5]
        seen += getattr(account.contradictions, name)
        if any(account.contradictions):
            assert any("contradict" in sentence for sentence in unknowns_of(account))
    assert seen > 0


def test_rounded_sizes_of_older_releases_change_only_what_was_requested() -> None:
    record = history(7, text="")
    plain = _account(record)
    sizes = dict(zip(plain.pieces.event.tolist(), plain.pieces.size.tolist(), strict=True))
    events = [
        entry | {"size": sizes[event]} if entry["action"] == "alloc" else entry
        for event, entry in enumerate(record.events)
    ]
    account = DeviceAccount(snapshot_of(dictionary([record]) | {"device_traces": [events]}), 0)
    assert account.contradictions.rounded > 0
    assert account.contradictions[:4] == (0, 0, 0, 0)
    assert any("rounded sizes" in sentence for sentence in unknowns_of(account))
    for events_before, *figures, _ in record.figures:
        level = account.level(events_before)
        assert [level.allocated, level.active, level.reserved] == [figures[0], figures[1], figures[3]]
    assert account.end.requested == record.figures[-1].requested


def test_a_history_without_requests_to_free_frees_at_completion() -> None:
    record = history(8, text="", steps=400)
    events = [entry for entry in record.events if entry["action"] != "free_requested"]
    account = DeviceAccount(snapshot_of(dictionary([record]) | {"device_traces": [events]}), 0)
    waiting = {b["address"] for s in record.figures[-1].segments for b in s["blocks"] if "pending" in b["state"]}
    assert any("only when it became free" in sentence for sentence in unknowns_of(account))
    assert account.end[1:] == record.figures[-1][1:5]
    assert int((account.active[:-1] != account.allocated[:-1]).sum()) == 0
    assert (account.end.active > account.end.allocated) == bool(waiting)


def test_only_the_last_of_many_failures_are_listed() -> None:
    failure = {"action": "oom", "device_free": 5, "size": 700, "stream": 0, "time_us": 1, "frames": []}
    record = history(3, text="")
    contents = dictionary([record]) | {"device_traces": [record.events + [failure] * 1500]}
    account = DeviceAccount(snapshot_of(contents), 0)
    assert len(account.failures) == 1000
    assert account.failures[-1].event == len(record.events) + 1499
    assert {each.largest_hole for each in account.failures} == {account.holes(account.states - 1).largest}
    assert any("Only the last 1,000" in sentence for sentence in unknowns_of(account))


@pytest.mark.parametrize("seed", seeds(2000))
def test_events_without_any_sense_leave_the_end_exact(seed: int) -> None:
    draw = random.Random(seed)
    record = history(seed % 7, steps=40)
    actions = [action for action in ACTIONS if action != "oom"]
    addresses = [entry["addr"] for entry in record.events if "addr" in entry] + [0, 1, 1 << 62]
    sizes = [0, 1, 512, 3 << 20, 1 << 40, 1 << 62]
    events = [*record.events]
    for _ in range(draw.randrange(1, 60)):
        entry = {"action": draw.choice(actions), "addr": draw.choice(addresses), "size": draw.choice(sizes)}
        events.insert(draw.randrange(len(events) + 1), {"stream": 0, "time_us": 1, "frames": [], **entry})
    draw.shuffle(events) if draw.random() < 0.3 else None
    snapshot = OpenedSnapshot.of(snapshot_of(dictionary([record]) | {"device_traces": [events]}))
    account = snapshot.account(0)
    assert account.end[1:] == record.figures[-1][1:5]
    for at in ("peak", "end", "beginning"):
        assert (
            sum(each.nbytes for each in snapshot.holders(0, at=at)) == account.allocated[snapshot._state(account, at)]
        )
    assert len(snapshot.events(0).events) > 0
    assert "GPU:0" in str(snapshot)
    assert snapshot.beginning(0) is not None
