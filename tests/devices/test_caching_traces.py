"""Programs of PyTorch's, replayed: where each tensor lies, worked out by hand from the rules that PyTorch documents.

A picture shows every segment as its blocks in MiB, in use with a name and free with `-`. Rules: the notes on memory
management in PyTorch's documentation, the comments at the head of its CUDACachingAllocator.cpp, and its test_cuda.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings

MIB = 1 << 20


class Trace(NamedTuple):
    """A program: `name=MiB` allocates (`name=MiB@stream` on a stream), `-name` frees, other words act."""

    program: str
    picture: Sequence[str]
    settings: str = ""
    total: int = 1 << 20
    retries: int = 0
    ooms: int = 0


TRACES = {
    # Small requests share segments of 2 MiB, one after the other.
    "small ones are packed": Trace("a=0.5 b=1 c=0.25 d=0.5", ["a0.5 b1 c0.25 -0.25", "d0.5 -1.5"]),
    # From 1 MiB to 10 MiB: a segment of 20 MiB, split.
    "medium ones share 20 MiB": Trace("a=2 b=9 c=7.5 d=3", ["a2 b9 c7.5 -1.5", "d3 -17"]),
    # From 10 MiB on: a segment of its own, in steps of 2 MiB; 1 MiB that is left over is not split off.
    "large ones have their own": Trace("a=10 b=11 c=14", ["a10", "b12", "c14"]),
    # But more than 1 MiB is.
    "more than 1 MiB left is split off": Trace("a=12.5 b=12.75", ["a12.5 -1.5", "b12.75 -1.25"]),
    "a rest above 1 MiB serves the next": Trace("a=14 -a b=12 c=2", ["b12 c2"]),
    # Best fit: 12 goes into the free 12, not into the 30 that came first.
    "the smallest that fits": Trace("a=30 b=12 -a -b c=11", ["-30", "c12"]),
    # A free block merges with both neighbours.
    "neighbours merge": Trace("a=4 b=4 c=4 d=4 -a -c -b e=12", ["e12 d4 -4"]),
    # A free block of the small pool serves no large request, and the other way round.
    "pools do not mix": Trace("a=1 -a b=2 -b c=0.5", ["c0.5 -1.5", "-20"]),
    # What is cached is given back when the card is full, then the request is tried again.
    "a retry after giving back": Trace("a=30 b=30 -a c=40", ["b30", "c40"], total=80, retries=1),
    # c goes into the first of two free 18; a segment of which a part is in use cannot be given back: fragmentation.
    "out of memory by fragmentation": Trace(
        "a=18 b=2 -a c=2 d=18 e=20 -d f=30", ["c2 -16", "b2 -18", "e20"], total=58, retries=1, ooms=1
    ),
    # empty_cache() keeps segments that are in use.
    "empty cache": Trace("a=2 b=12 c=0.5 -a -b empty", ["c0.5 -1.5"]),
    # Each stream has its own free blocks.
    "streams do not share": Trace("a=12@1 -a b=12@2 c=12@1", ["c12", "b12"]),
    # A block that another stream uses is free from the next request on, when that stream's work is done.
    "used on another stream": Trace("a=12 record_a -a b=12", ["b12"]),
    # max_split_size_mb: blocks from there on are not split, and serve no smaller request.
    "large blocks stay whole": Trace("a=60 -a b=30 c=50", ["c60", "b30"], settings="max_split_size_mb:40"),
    # ... and a request from there on takes no block that is 20 MiB larger or more.
    "nor do they serve much smaller ones": Trace("a=80 -a b=50", ["-80", "b50"], settings="max_split_size_mb:40"),
    # Oversize blocks are given back first, as many as needed, before everything that is cached.
    "oversize blocks go first": Trace(
        "a=50 b=60 c=20 -a -b -c d=100", ["-20", "d100"], settings="max_split_size_mb:40", total=140
    ),
    # roundup_power2_divisions:4 between 64 and 128 MiB: 64, 80, 96, 112.
    "sizes in quarters of powers of 2": Trace("a=84 -a b=81", ["b96"], settings="roundup_power2_divisions:4"),
    # An expandable segment grows by pages of 20 MiB; what is free at its end grows with it.
    "a segment that grows": Trace("a=12 b=30 -b c=50", ["a12 c50 -18"], settings="expandable_segments:True"),
    # Whole pages go back, and the rest of a page stays.
    "idle pages go back": Trace("a=12 b=50 c=2 -b empty", ["a12 -8", "-2 c2 -16"], settings="expandable_segments:True"),
    # large_segment_size_mb, from PyTorch 2.11 on.
    "larger segments": Trace("a=9 b=9 c=9 d=9", ["a9 b9 c9 -5", "d9 -23"], settings="large_segment_size_mb:32"),
    # Above half of the 100 MiB that are allowed, what is idle goes back before the card is asked: no retry.
    "garbage": Trace(
        "a=40 b=30 -a c=50",
        ["b30", "c50"],
        settings="garbage_collection_threshold:0.5,per_process_memory_fraction:0.5",
        total=200,
    ),
    # A fraction of the card is all there is.
    "a fraction of the card": Trace(
        "a=30 b=30", ["a30"], settings="per_process_memory_fraction:0.25", total=200, retries=1, ooms=1
    ),
}


def _play(trace: Trace) -> tuple[CachingAllocator, dict[int, str], list[Allocation]]:
    allocator = CachingAllocator(trace.total * MIB, AllocatorSettings.parse(trace.settings))
    held: dict[str, Allocation] = {}
    for word in trace.program.split():
        if word == "empty":
            allocator.empty_cache()
        elif word.startswith("record_"):
            allocator.record_stream(held[word.removeprefix("record_")], 5)
        elif word.startswith("-"):
            allocator.free(held.pop(word[1:]))
        else:
            name, _, size = word.partition("=")
            mebibytes, _, stream = size.partition("@")
            try:
                allocation = allocator.allocate(int(float(mebibytes) * MIB), int(stream or 0))
            except OutOfDeviceMemory:
                continue
            assert allocation is not None
            held[name] = allocation
    return allocator, {allocation.address: name for name, allocation in held.items()}, [*held.values()]


def _picture(allocator: CachingAllocator, names: dict[int, str]) -> list[str]:
    return [
        " ".join(
            f"{names[block['address']] if block['state'] == 'active_allocated' else '-'}{block['size'] / MIB:g}"
            for block in segment["blocks"]
        )
        for segment in allocator.snapshot()
    ]


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES.keys())
def test_every_tensor_lies_where_the_rules_put_it(trace: Trace) -> None:
    allocator, names, held = _play(trace)

    assert _picture(allocator, names) == [*trace.picture]
    assert (allocator.stats()["num_alloc_retries"], allocator.stats()["num_ooms"]) == (trace.retries, trace.ooms)
    del held


def test_one_program_gives_these_figures() -> None:
    allocator, _, held = _play(Trace("a=0.5 b=3 c=12.5 -b d=2", []))

    stats = allocator.stats()

    # a in 2 MiB; b and then c in 20 MiB, of which 4.5 are left; d takes all of b's place, of which 1 MiB would be left.
    expected = {
        "allocation.all.current": 3,
        "allocation.all.peak": 3,
        "allocation.all.allocated": 4,
        "allocation.all.freed": 1,
        "segment.all.current": 2,
        "segment.small_pool.current": 1,
        "segment.large_pool.current": 1,
        "active.all.current": 3,
        "inactive_split.all.current": 2,
        "inactive_split.all.peak": 3,
        "inactive_split.large_pool.current": 1,
        "allocated_bytes.all.current": 16 * MIB,
        "allocated_bytes.all.peak": 16 * MIB,
        "allocated_bytes.large_pool.freed": 3 * MIB,
        "reserved_bytes.all.current": 22 * MIB,
        "active_bytes.small_pool.current": MIB // 2,
        "inactive_split_bytes.all.current": 6 * MIB,
        "requested_bytes.all.current": 15 * MIB,
        "num_device_alloc": 2,
        "num_device_free": 0,
        "num_ooms": 0,
        "max_split_size": -1,
    }
    assert {name: stats[name] for name in expected} == expected
    del held


def test_expandable_segments_beside_others_are_released_when_the_card_is_full() -> None:
    # PyTorch's own test_max_split_expandable, with its figures.
    allocator = CachingAllocator(1000 * MIB, AllocatorSettings.parse("max_split_size_mb:40"))
    allocator.set_memory_fraction(0.12)
    a = allocator.allocate(40 * MIB)
    allocator.settings = AllocatorSettings.parse("expandable_segments:True,max_split_size_mb:40")
    b, c = allocator.allocate(40 * MIB), allocator.allocate(40 * MIB)

    assert allocator.reserved == 120 * MIB
    with pytest.raises(OutOfDeviceMemory):
        allocator.allocate(40 * MIB)
    del a, b, c
    d = allocator.allocate(120 * MIB)
    assert (allocator.allocated, allocator.reserved) == (120 * MIB, 120 * MIB)
    del d


def test_garbage_is_collected_beside_expandable_segments() -> None:
    # PyTorch's own test_garbage_collect_expandable, with its figures.
    allocator = CachingAllocator(1000 * MIB, AllocatorSettings.parse("garbage_collection_threshold:0.5"))
    allocator.set_memory_fraction(0.12)
    a = allocator.allocate(40 * MIB)
    allocator.settings = AllocatorSettings.parse("expandable_segments:True,garbage_collection_threshold:0.5")
    b = allocator.allocate(40 * MIB)
    del a, b

    c = allocator.allocate(80 * MIB)

    assert allocator.reserved == 80 * MIB
    del c
