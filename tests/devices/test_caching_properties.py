"""PyTorch's allocator, on whatever comes: against a plain copy of its rules, and what must hold under all settings."""

import random
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._locks import release_abandoned
from tests.devices.slow_caching import SlowCaching
from tests.rings import seeds

MIB = 1 << 20

sizes = st.one_of(
    st.integers(1, 3000),
    st.integers(1, 3 * MIB),
    st.integers(1, 60 * MIB),
    st.sampled_from([512, MIB, MIB + 1, 2 * MIB, 10 * MIB - 512, 10 * MIB, 19 * MIB, 20 * MIB, 40 * MIB]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), sizes),
        st.tuples(st.just("allocate"), sizes),
        st.tuples(st.just("free"), st.integers(0, 99)),
        st.tuples(st.just("use elsewhere"), st.integers(0, 99)),
        st.just(("empty", 0)),
    ),
    max_size=50,
)
texts = st.sampled_from(
    [
        "",
        "expandable_segments:True",
        "max_split_size_mb:20",
        "max_split_size_mb:40,max_non_split_rounding_mb:30",
        "roundup_power2_divisions:4",
        "roundup_power2_divisions:[1:8,16:2,>:1]",
        "garbage_collection_threshold:0.6,per_process_memory_fraction:0.5",
        "expandable_segments:True,garbage_collection_threshold:0.6,per_process_memory_fraction:0.5",
        "large_segment_size_mb:32,expandable_segments:True,max_split_size_mb:40",
    ]
)


def _run(
    allocator: CachingAllocator, script: list[tuple[str, int]], streams: int = 1
) -> dict[int, tuple[Allocation, int]]:
    held: dict[int, tuple[Allocation, int]] = {}
    for number, (step, value) in enumerate(script):
        if step == "allocate":
            try:
                allocation = allocator.allocate(value, stream=number % streams)
            except OutOfDeviceMemory:
                continue
            assert allocation is not None
            held[number] = allocation, value
        elif step == "empty":
            allocator.empty_cache()
        elif held:
            name = list(held)[value % len(held)]
            if step == "free":
                allocator.free(held.pop(name)[0])
            else:
                allocator.record_stream(held[name][0], 7)
    return held


@settings(deadline=None)
@given(st.integers(2, 200), steps)
def test_every_step_is_that_of_a_plain_copy(mebibytes: int, script: list[tuple[str, int]]) -> None:
    fast, slow = CachingAllocator(mebibytes * MIB), SlowCaching(mebibytes * MIB)
    held: dict[int, Allocation] = {}
    bases: dict[int, int] = {}
    for number, (step, value) in enumerate(script):
        if step == "allocate":
            expected = slow.allocate(value, number)
            try:
                allocation = fast.allocate(value)
            except OutOfDeviceMemory:
                assert expected is None
                continue
            assert allocation is not None
            assert expected is not None
            segment, offset, size = expected
            assert (bases.setdefault(segment, allocation.address) + offset, size) == (
                allocation.address,
                allocation.size,
            )
            held[number] = allocation
        elif step == "free" and held:
            name = list(held)[value % len(held)]
            slow.free(name)
            fast.free(held.pop(name))
        elif step == "empty":
            slow.empty_cache()
            fast.empty_cache()
        assert (slow.allocated, slow.reserved) == fast.level()


@settings(deadline=None)
@given(texts, st.integers(20, 400), st.integers(1, 3), steps)
def test_blocks_tile_their_segments_and_figures_agree_with_them(
    text: str, mebibytes: int, streams: int, script: list[tuple[str, int]]
) -> None:
    allocator = CachingAllocator(mebibytes * MIB, AllocatorSettings.parse(text))

    held = _run(allocator, script, streams)

    stats, snapshot = allocator.stats(), allocator.snapshot()
    blocks = [block for segment in snapshot for block in segment["blocks"]]
    for segment in snapshot:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]
        states = [block["state"] for block in segment["blocks"]]
        assert ("inactive", "inactive") not in pairwise(states)
    in_use = {block["address"]: block for block in blocks if block["state"] == "active_allocated"}
    assert {allocation.address: size for allocation, size in held.values()} == {
        address: block["requested_size"] for address, block in in_use.items()
    }
    assert all(size <= allocation.size for allocation, size in held.values())
    assert stats["allocated_bytes.all.current"] == sum(block["size"] for block in in_use.values())
    assert stats["allocation.all.current"] == len(held)
    assert stats["active_bytes.all.current"] == sum(segment["active_size"] for segment in snapshot)
    assert stats["requested_bytes.all.current"] == sum(segment["requested_size"] for segment in snapshot)
    assert stats["reserved_bytes.all.current"] == sum(segment["total_size"] for segment in snapshot)
    assert allocator.reserved <= (allocator.allowed or allocator.total) + (20 * MIB if "expandable" in text else 0)
    if "expandable" not in text:
        split = [
            block["size"]
            for segment in snapshot
            for block in segment["blocks"]
            if block["state"] == "inactive" and len(segment["blocks"]) > 1
        ]
        assert (len(split), sum(split)) == (
            stats["inactive_split.all.current"],
            stats["inactive_split_bytes.all.current"],
        )
        assert stats["segment.all.current"] == len(snapshot)


@settings(deadline=None)
@given(texts, st.integers(20, 400), steps)
def test_figures_of_both_pools_add_up_and_balance(text: str, mebibytes: int, script: list[tuple[str, int]]) -> None:
    allocator = CachingAllocator(mebibytes * MIB, AllocatorSettings.parse(text))

    held = _run(allocator, script)

    stats = allocator.nested_stats()
    for name, pools in stats.items():
        if isinstance(pools, dict) and "all" in pools:
            for way in ("current", "allocated", "freed"):
                assert pools["all"][way] == pools["small_pool"][way] + pools["large_pool"][way], name
            for ways in pools.values():
                assert ways["current"] == ways["allocated"] - ways["freed"]
                assert ways["current"] <= ways["peak"] <= ways["allocated"]
    del held


@settings(deadline=None)
@given(texts, st.integers(20, 400), st.integers(1, 3), steps)
def test_everything_returns(text: str, mebibytes: int, streams: int, script: list[tuple[str, int]]) -> None:
    allocator = CachingAllocator(mebibytes * MIB, AllocatorSettings.parse(text))

    _run(allocator, script, streams).clear()
    allocator.empty_cache()

    current = {name: value for name, value in allocator.stats().items() if name.endswith(".current")}
    assert set(current.values()) == {0}
    assert allocator.snapshot() == []


@given(st.integers(1, 1 << 38), st.sampled_from([2, 4, 8, 16]))
def test_sizes_are_rounded_up_to_a_part_of_a_power_of_2(nbytes: int, divisions: int) -> None:
    allocator = CachingAllocator(1 << 40, AllocatorSettings.parse(f"roundup_power2_divisions:{divisions}"))
    power = 1 << (nbytes - 1).bit_length()
    step = power // 2 // divisions
    plain = -(-nbytes // 512) * 512

    allocator.allocate(nbytes)

    expected = plain if nbytes <= 512 * divisions or power == nbytes else -(-nbytes // step) * step
    assert allocator.stats()["allocated_bytes.all.allocated"] - expected <= MIB  # the rest was too small to split
    assert allocator.stats()["allocated_bytes.all.allocated"] >= expected


@pytest.mark.parametrize("seed", seeds(60))
def test_an_interrupt_at_any_line_leaves_nothing_half_done(seed: int) -> None:
    chance = random.Random(seed)
    allocator = CachingAllocator(120 * MIB, AllocatorSettings.parse(chance.choice(["", "expandable_segments:True"])))
    held: list[Allocation | None] = [allocator.allocate(chance.choice([5000, 3 * MIB, 12 * MIB])) for _ in range(6)]
    del held[chance.randrange(6)]
    _interrupted_after(chance.randrange(1, 260), lambda: held.append(allocator.allocate(4 * MIB)))
    _interrupted_after(chance.randrange(1, 160), allocator.empty_cache)

    held = [allocation for allocation in held if allocation is not None]

    assert allocator.allocated == sum(allocation.size for allocation in held if allocation is not None)
    held.clear()
    allocator.empty_cache()
    assert allocator.reserved == 0


def _interrupted_after(lines: int, action: Any) -> None:
    """Runs something, interrupts it before its line of that number in the allocator's files, and ends the cell."""
    left = lines

    def watch(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "caching" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
        release_abandoned()
