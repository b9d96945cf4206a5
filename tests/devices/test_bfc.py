"""The rules of the allocator, one by one; `recorded/test_bfc_traces.py` has TensorFlow's own traces."""

import gc
import logging
import sys
from contextlib import nullcontext
from types import FrameType
from typing import Any

import pytest

from nbtf._devices.bfc.allocator import BFCAllocator, Chunk, Driver
from tests.devices.slow_bfc import problems

MIB = 1 << 20


def _taken(allocator: BFCAllocator, nbytes: int, label: object = None) -> Chunk:
    chunk = allocator.allocate(nbytes, label)
    assert chunk is not None
    return chunk


def test_a_new_allocator_has_mapped_nothing() -> None:
    assert (0, 0, ()) == ((s := BFCAllocator(MIB)).stats().pool_bytes, s.stats().bytes_in_use, s.snapshot())


@pytest.mark.parametrize(("nbytes", "charged"), [(1, 256), (256, 256), (257, 512), (1028, 1280)])
def test_multiples_of_256_are_charged(nbytes: int, charged: int) -> None:
    chunk = _taken(BFCAllocator(16 * MIB), nbytes)

    assert (charged, nbytes) == (chunk.size, chunk.requested)


def test_nothing_is_granted_for_nothing() -> None:
    allocator = BFCAllocator(MIB)

    assert allocator.allocate(0) is None
    assert (0, 0) == (allocator.stats().pool_bytes, allocator.stats().num_allocs)


def test_without_growth_the_first_byte_maps_the_limit() -> None:
    allocator = BFCAllocator(16 * MIB + 100)
    _taken(allocator, 1)

    assert 16 * MIB == allocator.stats().pool_bytes


def test_growth_doubles_from_2_mib() -> None:
    allocator = BFCAllocator(64 * MIB, growth=True)
    pools: list[int] = []
    held: list[Chunk] = []
    for nbytes in (2, 4, 8, 16):
        held.append(_taken(allocator, nbytes * MIB))
        pools.append(allocator.stats().pool_bytes // MIB)

    assert [2, 6, 14, 30] == pools


@pytest.mark.parametrize(
    ("nbytes", "granted"),
    [
        (300 * MIB, 400 * MIB),  # 100 MiB left over: less than 128
        (272 * MIB, 272 * MIB),
        (272 * MIB + 1, 400 * MIB),
        (200 * MIB, 200 * MIB),  # exactly half
    ],
)
def test_a_chunk_is_split_when_much_would_be_left(nbytes: int, granted: int) -> None:
    allocator = BFCAllocator(400 * MIB)

    assert granted == _taken(allocator, nbytes).size


def test_a_fragmentation_fraction_splits_earlier() -> None:
    allocator = BFCAllocator(400 * MIB, fragmentation_fraction=0.1)

    assert 300 * MIB == _taken(allocator, 300 * MIB).size


def test_the_smallest_that_fits_is_taken_then_the_lowest() -> None:
    allocator = BFCAllocator(16 * MIB)
    chunks = [_taken(allocator, size) for size in (2048, 256, 1024, 256, 1024, 256)]
    for number in (4, 0, 2):
        allocator.free(chunks[number])

    assert chunks[2].offset == _taken(allocator, 1000).offset


def test_free_neighbours_become_one() -> None:
    allocator = BFCAllocator(MIB)
    chunks = [_taken(allocator, 256) for _ in range(4)]
    for number in (0, 2, 1):
        allocator.free(chunks[number])

    assert [(0, 768, False), (768, 256, True), (1024, MIB - 1024, False)] == [
        (chunk.offset, chunk.size, chunk.in_use) for chunk in allocator.snapshot()[0].chunks
    ]


def test_fragmented_memory_does_not_serve_a_large_request() -> None:
    allocator = BFCAllocator(4 * MIB)
    chunks = [_taken(allocator, MIB // 2) for _ in range(8)]
    for chunk in chunks[::2]:
        allocator.free(chunk)

    assert allocator.allocate(MIB) is None
    assert 0.75 == allocator.fragmentation()


def test_a_failure_is_not_counted() -> None:
    allocator = BFCAllocator(MIB)
    before = _taken(allocator, 256), allocator.stats()

    assert allocator.allocate(2 * MIB) is None
    assert before[1] == allocator.stats()


def test_idle_regions_are_given_back_for_a_larger_one(caplog: pytest.LogCaptureFixture) -> None:
    allocator = BFCAllocator(64 * MIB, growth=True)
    for nbytes in (2, 4, 8, 16):
        _taken(allocator, nbytes * MIB)
    chunk = _taken(allocator, 40 * MIB)

    assert (64 * MIB, 64 * MIB) == (chunk.size, allocator.stats().pool_bytes)
    (record,) = caplog.records
    assert ("tensorflow", logging.WARNING) == (record.name, record.levelno)
    assert record.getMessage().startswith("Garbage collection: deallocate free memory regions")


def test_without_collection_idle_regions_stay() -> None:
    allocator = BFCAllocator(64 * MIB, growth=True, garbage_collection=False)
    for nbytes in (2, 4, 8, 16):
        _taken(allocator, nbytes * MIB)

    assert allocator.allocate(40 * MIB) is None


def test_a_driver_with_less_is_asked_for_nine_tenths() -> None:
    allocator = BFCAllocator(1024 * MIB, driver=Driver(700 * MIB))
    _taken(allocator, 10 * MIB)

    assert 704482304 == allocator.stats().pool_bytes


def test_nine_tenths_that_are_just_enough_are_taken() -> None:
    allocator = BFCAllocator(2 * MIB, driver=Driver(1887488))  # nine tenths, rounded up to 256 bytes

    assert 1887488 == _taken(allocator, 1887488).size


def test_what_is_freed_while_room_is_looked_for_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = BFCAllocator(MIB, garbage_collection=False)
    chunk = _taken(allocator, MIB)
    make_room = allocator._make_room

    def after_a_free(need: int) -> bool:
        allocator.free(chunk)
        return make_room(need)

    monkeypatch.setattr(allocator, "_make_room", after_a_free)
    assert MIB == _taken(allocator, MIB).size


def test_nine_tenths_are_counted_in_single_precision() -> None:
    allocator = BFCAllocator(15334 * MIB, driver=Driver(14_500_000_000))
    _taken(allocator, 1)

    assert 14470977536 == allocator.stats().pool_bytes  # in double precision it is 14470978048


def test_idle_regions_stay_when_giving_them_back_would_not_help(caplog: pytest.LogCaptureFixture) -> None:
    allocator = BFCAllocator(32 * MIB, growth=True)
    kept = _taken(allocator, 2 * MIB)
    _taken(allocator, 4 * MIB)

    assert allocator.allocate(31 * MIB) is None
    assert (6 * MIB, 0) == (allocator.stats().pool_bytes, kept.region)
    assert not caplog.records


def test_idle_regions_are_given_back_where_that_is_just_enough() -> None:
    allocator = BFCAllocator(32 * MIB, growth=True)
    kept = _taken(allocator, 2 * MIB)
    _taken(allocator, 4 * MIB)
    large = _taken(allocator, 30 * MIB)

    assert (32 * MIB, 32 * MIB) == (allocator.stats().pool_bytes, kept.size + large.size)


def test_a_driver_with_almost_nothing_is_not_asked_for_ever() -> None:
    allocator = BFCAllocator(MIB, growth=True, driver=Driver(100))

    assert allocator.allocate(1) is None


def test_two_allocators_share_a_card() -> None:
    driver = Driver(4 * MIB)
    first, second = BFCAllocator(3 * MIB, driver=driver), BFCAllocator(3 * MIB, driver=driver)
    chunk = _taken(first, 1)

    assert MIB == driver.free
    assert second.allocate(2 * MIB) is None
    first.close()
    assert 4 * MIB == driver.free
    assert not chunk.in_use


def test_after_close_old_chunks_change_nothing() -> None:
    allocator = BFCAllocator(4 * MIB)
    old = _taken(allocator, MIB)
    allocator.close()
    new = _taken(allocator, 256)
    allocator.free(old)
    del old

    assert new.size == allocator.stats().bytes_in_use
    assert [] == problems(allocator)


def test_fresh_allocator_has_the_same_rules_and_its_own_limit() -> None:
    allocator = BFCAllocator(1 << 20, growth=True, name="GPU_3_bfc")

    assert [1 << 20, 1 << 10] == [allocator.fresh().limit, allocator.fresh(1 << 10).limit]
    assert (True, "GPU_3_bfc") == (allocator.fresh().growth, allocator.fresh().name)


def test_memory_of_a_card_is_counted_by_owner() -> None:
    card = Driver(64 << 20)
    allocators = [BFCAllocator(8 << 20, driver=card) for _ in range(3)]
    for allocator, owner in zip(allocators, ("PyTorch", "CuPy", "PyTorch"), strict=True):
        allocator.owner = owner
        assert allocator.allocate(1) is not None

    assert [16 << 20, 8 << 20, 0] == [card.mapped_by(owner) for owner in ("PyTorch", "CuPy", "JAX")]


def test_trim_gives_idle_regions_back() -> None:
    driver = Driver(64 * MIB)
    allocator = BFCAllocator(64 * MIB, growth=True, driver=driver)
    small = _taken(allocator, 256)
    large = _taken(allocator, 30 * MIB)
    del large

    assert 32 * MIB == allocator.trim()
    assert (2 * MIB, 62 * MIB, True) == (allocator.stats().pool_bytes, driver.free, small.in_use)


def test_a_chunk_is_freed_when_nobody_holds_it() -> None:
    allocator = BFCAllocator(MIB)
    chunk = _taken(allocator, 256)
    del chunk

    assert 0 == allocator.stats().bytes_in_use


def test_freeing_twice_is_freeing_once() -> None:
    allocator = BFCAllocator(MIB)
    chunk = _taken(allocator, 256)
    allocator.free(chunk)
    again = _taken(allocator, 256)
    allocator.free(chunk)

    assert again.in_use
    assert 256 == allocator.stats().bytes_in_use


def test_clear_stats_leaves_what_is_in_use() -> None:
    allocator = BFCAllocator(MIB)
    kept = _taken(allocator, 256)
    _taken(allocator, 1000)
    allocator.clear_stats()
    stats = allocator.stats()

    assert (0, 0, kept.size, MIB) == (
        stats.num_allocs,
        stats.largest_alloc_size,
        stats.peak_bytes_in_use,
        stats.peak_pool_bytes,
    )


@pytest.mark.parametrize("figure", ["level", "stats", "fragmentation", "bins", "snapshot", "occupancy", "report"])
def test_no_figure_misses_a_free_that_waits(figure: str) -> None:
    def asked(first: bool) -> object:
        allocator = BFCAllocator(MIB)
        chunks = [_taken(allocator, 300_000) for _ in range(2)]
        allocator.free(chunks[0])
        if first:
            allocator.stats()
        return getattr(allocator, figure)(*[512] * (figure == "report"))

    assert asked(first=True) == asked(first=False)


def test_the_level_is_what_is_in_use_and_what_is_mapped() -> None:
    allocator = BFCAllocator(MIB)
    chunk = _taken(allocator, 300)

    assert (chunk.size, MIB) == allocator.level()


def test_what_is_left_of_a_block_stands_where_its_size_belongs() -> None:
    allocator = BFCAllocator(8192, fragmentation_fraction=1 / 16)
    chunks = [_taken(allocator, nbytes) for nbytes in (256, 256, 1024, 256, 1792, 4608)]
    for chunk in chunks[:5:2]:
        allocator.free(chunk)
    chunks.append(_taken(allocator, 1280))

    assert [256, 512, 1024] == [size for sizes in allocator.bins().values() for size in sizes]
    assert not problems(allocator)


def test_nobody_asked_for_what_is_left_of_a_block() -> None:
    allocator = BFCAllocator(MIB)
    chunk = _taken(allocator, 256)

    assert chunk.in_use
    assert "Size: 1023.8KiB | Requested Size: 0B | in_use: 0" in allocator.report(600 << 10)


def test_requested_bytes_are_those_asked_for() -> None:
    allocator = BFCAllocator(MIB)
    held = [_taken(allocator, nbytes) for nbytes in (1, 300, 1000)]
    allocator.free(held[1])

    assert 1001 == allocator.stats().requested_bytes


def test_labels_are_in_the_snapshot() -> None:
    allocator = BFCAllocator(MIB)
    chunk = _taken(allocator, 100, label="weights")

    assert ["weights", None] == [chunk.label for chunk in allocator.snapshot()[0].chunks]
    assert "weights" == chunk.label


def test_free_memory_is_asked_for_by_nobody() -> None:
    allocator = BFCAllocator(MIB)
    _taken(allocator, 100, label="weights")

    assert [(MIB, 0, None)] == [(free.size, free.requested, free.label) for free in allocator.snapshot()[0].chunks]


def test_occupancy_shows_waste() -> None:
    allocator = BFCAllocator(25600)
    held = _taken(allocator, 10 * 256), _taken(allocator, 1), _taken(allocator, 2 * 256 + 1)

    assert [2560, 256, 768] == [chunk.size for chunk in held]
    assert "*" * 11 + "*" * 3 + "_" * 86 == allocator.occupancy()
    assert "<allocator contains no memory>" == BFCAllocator(MIB).occupancy()


def _cycle(held: object) -> None:
    """Leaves something to the collector."""
    cycle: list[Any] = [held]
    cycle.append(cycle)


def test_frees_by_the_collector_during_allocate_do_no_harm() -> None:
    allocator = BFCAllocator(16 * MIB)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for nbytes in range(1, 3000, 10):
            _cycle(allocator.allocate(nbytes))
    finally:
        gc.set_threshold(*before)
    gc.collect()

    assert 0 == allocator.stats().bytes_in_use
    assert [] == problems(allocator)


class _Interrupter:
    """Raises KeyboardInterrupt before the n-th instruction of the allocator's files."""

    def __init__(self, countdown: int) -> None:
        self.countdown = countdown

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if "bfc" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.countdown -= 1
            if self.countdown == 0:
                raise KeyboardInterrupt
        return self


def _use(allocator: BFCAllocator, held: list[Chunk]) -> None:
    """Grants a whole chunk, splits in place and past a smaller one; merges on both sides, on one and on none."""
    for number in (5, 1, 3, 0):
        del held[number]
    for nbytes in (1024, 256, 700, 1500):
        held.append(_taken(allocator, nbytes))
    allocator.free(held[0])
    allocator.stats()


def _interrupted_at(place: int) -> bool:
    """Says whether there was an n-th place; checks that the allocator is whole afterwards."""
    allocator = BFCAllocator(MIB, fragmentation_fraction=0.0002)
    allocator._lock = nullcontext()  # pyright: ignore[reportAttributeAccessIssue]  # whether `with` is safe is Python's affair
    held = [_taken(allocator, nbytes) for nbytes in (256, 1024, 256, 256, 256, 512, 256)]
    tracer, outer = _Interrupter(place), sys.gettrace()
    sys.settrace(tracer)
    try:
        _use(allocator, held)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(outer)

    assert [] == problems(allocator), place
    lost = allocator.stats().bytes_in_use - sum(chunk.size for chunk in held if chunk.in_use)
    assert 0 == lost, place
    return tracer.countdown <= 0


def test_an_interrupt_anywhere_leaves_the_allocator_whole() -> None:
    places = 1
    while _interrupted_at(places):
        places += 1

    assert places > 500
