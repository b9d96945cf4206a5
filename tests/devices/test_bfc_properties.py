"""The fast allocator against a plain one, on whatever comes."""

import itertools
import logging
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtf._devices.bfc.allocator import BFCAllocator, Chunk, Driver
from nbtf._devices.bfc.chunks import Region
from nbtf._devices.journal import Entries, Journal
from tests.devices.slow_bfc import SlowBFC, problems

MIB = 1 << 20

sizes = st.one_of(
    st.integers(1, 2000),
    st.integers(1, 40).map(lambda number: number * 256),
    st.integers(1, 6 * MIB),
    st.sampled_from([MIB, 2 * MIB, 3 * MIB, 5 * MIB - 1, 8 * MIB]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("alloc"), sizes), st.tuples(st.just("free"), st.integers(0, 99)), st.just(("clear_stats", 0))
    ),
    max_size=60,
)
configurations = st.fixed_dictionaries(
    {
        "limit": st.one_of(st.integers(256, 20 * MIB), st.sampled_from([16 * MIB, 64 * MIB])),
        "growth": st.booleans(),
        "garbage_collection": st.booleans(),
        "fraction": st.sampled_from([0.0, 0.0, 0.01, 0.25]),
        "card": st.one_of(st.just(1 << 40), st.integers(4096, 30 * MIB)),
    }
)


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Any:
    """Collecting regions is warned of, and here it is what happens all the time."""
    logger = logging.getLogger("tensorflow")
    before = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(before)


def _pair(how: dict[str, Any]) -> tuple[BFCAllocator, SlowBFC]:
    fast = BFCAllocator(
        how["limit"],
        growth=how["growth"],
        garbage_collection=how["garbage_collection"],
        fragmentation_fraction=how["fraction"],
        driver=Driver(how["card"]),
    )
    return fast, SlowBFC(**how)


@settings(deadline=None)
@given(configurations, steps)
def test_every_step_is_that_of_a_plain_allocator(how: dict[str, Any], script: list[tuple[str, int]]) -> None:
    fast, slow = _pair(how)
    held: dict[int, Chunk] = {}
    for number, (step, value) in enumerate(script):
        if step == "alloc":
            chunk = fast.allocate(value, number)
            got = None if chunk is None else (chunk.region, chunk.offset, chunk.size)
            assert slow.allocate(value, number) == got
            if chunk is not None:
                held[number] = chunk
        elif step == "free" and held:
            name = list(held)[value % len(held)]
            slow.free(name)
            fast.free(held.pop(name))
        elif step == "clear_stats":
            fast.clear_stats()
            slow.allocs, slow.largest, slow.peak = 0, 0, slow.in_use
        stats = fast.stats()
        expected = (slow.in_use, slow.pool, slow.peak, slow.peak_pool, slow.allocs, slow.largest, slow.next_region)
        assert expected == (
            stats.bytes_in_use,
            stats.pool_bytes,
            stats.peak_bytes_in_use,
            stats.peak_pool_bytes,
            stats.num_allocs,
            stats.largest_alloc_size,
            fast.next_region,
        )

    assert [] == problems(fast)
    assert [(number, piece.offset, piece.size, piece.name) for number, piece in slow.pieces] == [
        (region.region, chunk.offset, chunk.size, chunk.label) for region in fast.snapshot() for chunk in region.chunks
    ]


@settings(deadline=None)
@given(configurations, steps)
def test_what_is_dropped_comes_back_to_the_last_byte(how: dict[str, Any], script: list[tuple[str, int]]) -> None:
    fast, _ = _pair(how)
    held = [chunk for step, value in script if step == "alloc" and (chunk := fast.allocate(value)) is not None]
    in_use = sum(chunk.size for chunk in held)

    assert in_use == fast.stats().bytes_in_use
    held.clear()
    chunk = None  # the last one
    assert 0 == fast.stats().bytes_in_use
    assert [] == problems(fast)


def _with_journal(growth: bool, fraction: float) -> BFCAllocator:
    allocator = BFCAllocator(16 * MIB, growth=growth, fragmentation_fraction=fraction)
    allocator.keep_journal(Journal("granted", "freed", "refused", itertools.count().__next__))
    return allocator


def _entries(allocator: BFCAllocator) -> list[Any]:
    boxes: Entries = []
    allocator.hand_over([boxes])
    return [item.number if isinstance(item, Region) else item for box in boxes for item in box]


@pytest.mark.parametrize("seed", range(40))
def test_late_frees_give_the_same_as_early_ones(seed: int) -> None:
    numbers = random.Random(seed)
    growth, fraction = numbers.random() < 0.5, numbers.choice([0.0, 0.0, 1e-9, 0.25])
    late, early = _with_journal(growth, fraction), _with_journal(growth, fraction)
    held: list[tuple[Chunk, Chunk]] = []

    def allocate(nbytes: int) -> None:
        one, other = late.allocate(nbytes, nbytes), early.allocate(nbytes, nbytes)
        assert (one is None) is (other is None)
        if one is not None and other is not None:
            held.append((one, other))

    for _ in range(200):
        if len(held) < numbers.choice([3, 12]):
            allocate(numbers.choice([100, 256, 256, 500, 700, numbers.randrange(1, 4 * MIB)]))
        else:
            nbytes = 0
            for _ in range(numbers.choice([1, 1, 2, 3])):
                one, other = held.pop(numbers.randrange(len(held)))
                nbytes = other.requested
                late.free(one)
                early.free(other)
                early.stats()  # does the waiting free now
            if numbers.random() < 0.5:
                allocate(nbytes + numbers.choice([0, 0, -1, 1]))
        if numbers.random() < 0.2:
            assert early.stats() == late.stats()
            assert early.snapshot() == late.snapshot()
            assert early.report(1) == late.report(1)  # with the numbers of TensorFlow's records

    assert _entries(early) == _entries(late)
    assert [] == problems(late)


def _work(allocator: BFCAllocator, seed: int, for_others: list[Chunk]) -> None:
    numbers, mine = random.Random(seed), list[Chunk]()
    for _ in range(500):
        chunk = allocator.allocate(numbers.randrange(1, 200_000), seed)
        if chunk is not None:
            (mine if numbers.random() < 0.5 else for_others).append(chunk)
        del chunk
        if len(mine) > 5:
            allocator.free(mine.pop(numbers.randrange(len(mine))))
        if len(for_others) > 20:
            for_others[:9] = []  # chunks of other threads die here


def test_eight_threads_lose_no_byte() -> None:
    allocator = BFCAllocator(64 * MIB, growth=True, driver=Driver(64 * MIB))
    for_others: list[Chunk] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            ends = [pool.submit(_work, allocator, seed, for_others) for seed in range(8)]
    finally:
        sys.setswitchinterval(before)

    assert [None] * 8 == [end.exception() for end in ends]
    assert [] == problems(allocator)
    for_others.clear()
    assert 0 == allocator.stats().bytes_in_use
