"""PyTorch's allocator: what its settings, figures, snapshot and errors say."""

import gc

import pytest

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings

MIB = 1 << 20


class Neighbour:
    """Somebody else who has a part of a card."""

    owner = "CUDA"

    def __init__(self, mapped: int) -> None:
        self.mapped = mapped


def test_memory_belongs_to_whoever_holds_the_allocation() -> None:
    allocator = CachingAllocator(1 << 30)
    allocation = allocator.allocate(1000)

    assert allocator.allocated == 1024
    del allocation
    assert allocator.allocated == 0


def test_freeing_twice_and_dying_later_count_once() -> None:
    allocator = CachingAllocator(1 << 30)
    first = allocator.allocate(1000)
    allocator.free(first)
    allocator.free(first)
    second = allocator.allocate(1000)
    del first
    gc.collect()

    assert second is not None
    assert allocator.allocated == 1024
    assert allocator.stats()["allocation.all.freed"] == 1


def test_nothing_is_charged_for_nothing() -> None:
    allocator = CachingAllocator(1 << 30)

    assert allocator.allocate(0) is None
    assert allocator.reserved == 0


def test_the_error_is_written_as_pytorch_writes_it() -> None:
    allocator = CachingAllocator(16 << 30)
    neighbour = Neighbour(500 * MIB)
    allocator.card.pools.add(neighbour)
    weights = allocator.allocate(10 << 30)
    small = allocator.allocate(3 * MIB)

    with pytest.raises(OutOfDeviceMemory) as caught:
        allocator.allocate(8 << 30)

    assert str(caught.value) == (
        "CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 16.00 GiB of which 5.49 GiB "
        "is free. Including non-PyTorch memory, this process has 10.51 GiB memory in use. Of the allocated memory "
        "10.00 GiB is allocated by PyTorch, and 17.00 MiB is reserved by PyTorch but unallocated. If reserved but "
        "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
        "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
    )
    assert caught.value.figures.tried == 8 << 30
    del weights, small


def test_more_than_any_card_has_is_refused_in_other_words() -> None:
    with pytest.raises(OutOfDeviceMemory, match=r"^CUDA out of memory\. Tried to allocate more than 1EB memory\.$"):
        CachingAllocator(16 << 30).allocate(2 << 60)


def test_an_error_says_what_a_fraction_allows() -> None:
    allocator = CachingAllocator(16 << 30, device=2)
    allocator.set_memory_fraction(0.5)

    with pytest.raises(OutOfDeviceMemory, match=r"GPU 2 has .* memory in use\. 8\.00 GiB allowed; Of the allocated"):
        allocator.allocate(9 << 30)


def test_after_an_error_what_was_cached_has_been_given_back() -> None:
    allocator = CachingAllocator(100 * MIB)
    del (cached := [allocator.allocate(50 * MIB)])[:]

    with pytest.raises(OutOfDeviceMemory):
        allocator.allocate(200 * MIB)

    assert (allocator.reserved, cached) == (0, [])


def test_peaks_and_sums_begin_anew() -> None:
    allocator = CachingAllocator(1 << 30)
    kept = allocator.allocate(2 * MIB)
    allocator.free(allocator.allocate(3 * MIB))

    allocator.reset_peak_stats()
    allocator.reset_accumulated_stats()

    stats = allocator.stats()
    assert stats["allocated_bytes.all.peak"] == 2 * MIB
    assert (stats["allocated_bytes.all.allocated"], stats["num_device_alloc"]) == (0, 0)
    del kept


def test_a_snapshot_has_the_form_of_pytorchs() -> None:
    allocator = CachingAllocator(1 << 30, device=1)
    held = allocator.allocate(1000, stream=3)

    (segment,) = allocator.snapshot()

    assert held is not None
    assert segment == {
        "device": 1,
        "address": held.address,
        "total_size": 2 * MIB,
        "allocated_size": 1024,
        "active_size": 1024,
        "requested_size": 1000,
        "stream": 3,
        "segment_type": "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [
            {
                "address": held.address,
                "size": 1024,
                "requested_size": 1000,
                "state": "active_allocated",
                "frames": [],
            },
            {
                "address": held.address + 1024,
                "size": 2 * MIB - 1024,
                "requested_size": 0,
                "state": "inactive",
                "frames": [],
            },
        ],
    }


def test_memory_used_on_another_stream_waits_for_the_next_request() -> None:
    allocator = CachingAllocator(1 << 30)
    held = allocator.allocate(2 * MIB)
    assert held is not None
    allocator.record_stream(held, 9)
    del held

    states = [block["state"] for segment in allocator.snapshot() for block in segment["blocks"]]

    assert states == ["active_pending_free", "inactive"]
    assert (allocator.stats()["allocation.all.current"], allocator.stats()["active.all.current"]) == (0, 1)


def test_the_older_variable_wins_as_in_pytorch() -> None:
    both = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "PYTORCH_ALLOC_CONF": "max_split_size_mb:32"}

    assert AllocatorSettings.from_environment(both).max_split_size == 64 * MIB
    assert AllocatorSettings.from_environment({}) == AllocatorSettings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_split_size_mb:10", "CachingAllocator option max_split_size_mb too small, must be >= 20"),
        ("large_segment_size_mb:40,max_split_size_mb:30", "max_split_size_mb too small, must be >= 40"),
        ("max_split_size_mb:many", "needs a whole number, not 'many'"),
        ("max_split_size_mb=64", "'max_split_size_mb=64' in PYTORCH_ALLOC_CONF has no value"),
        ("expandable_segments", "'expandable_segments' in PYTORCH_ALLOC_CONF has no value"),
        ("large_segment_size_mb:10", "large_segment_size_mb must be > 10 MB"),
        ("garbage_collection_threshold:1.5", r"set it in \(0.0, 1.0\)"),
        ("garbage_collection_threshold:x", "needs a number, not 'x'"),
        ("roundup_power2_divisions:3", "the divisions has to be power of 2"),
        ("roundup_power2_divisions:[100:1]", "the intervals have to be power of 2"),
        ("roundup_power2_divisions:[256:3]", "power of 2 or 0 to disable"),
        ("roundup_power2_divisions:[256:1", "Expected closing bracket"),
        ("expandable_segments:true", "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'"),
        ("per_process_memory_fraction:2", "per_process_memory_fraction"),
        ("split:1", "Unrecognized key 'split' in CUDA allocator config"),
    ],
)
def test_a_wrong_setting_is_refused_in_pytorchs_words(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AllocatorSettings.parse(text)


def test_what_only_a_card_can_do_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match=r"backend:cudaMallocAsync .* works on a real card only"):
        AllocatorSettings.parse("backend:cudaMallocAsync")


def test_settings_of_memory_of_the_host_change_nothing() -> None:
    text = "backend:native,pinned_use_background_threads:True,release_lock_on_cudamalloc:True"

    assert AllocatorSettings.parse(text) == AllocatorSettings()


def test_divisions_are_given_for_ranges_of_sizes() -> None:
    # The example of PyTorch's AllocatorConfig_test.
    settings = AllocatorSettings.parse("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]")

    sizes = (32, 64, 128, 256, 512, 1024, 2048, 4096)

    assert [settings.divisions_for(size * MIB) for size in sizes] == [8, 8, 2, 4, 2, 4, 1, 1]


@pytest.mark.parametrize("fraction", [-0.1, 1.1])
def test_a_fraction_lies_between_0_and_1(fraction: float) -> None:
    with pytest.raises(ValueError, match="invalid fraction"):
        CachingAllocator(1 << 30).set_memory_fraction(fraction)
