"""Are the figures of a message those that were written into it, and does its cause follow from them?"""

from __future__ import annotations

from random import Random

import pytest

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.report import MemoryFigures, OutOfDeviceMemory, format_size, out_of_memory
from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.recognition import explain
from nbtf._error_texts.sizes import size_of
from nbtf._error_texts.torch_memory import TorchMemory, torch_messages
from tests.rings import seeds

GIB, MIB = 1 << 30, 1 << 20


def read(text: str) -> TorchMemory:
    ((_, memory),) = torch_messages(Text(text))
    assert memory is not None
    return memory


def causes(text: str) -> list[str]:
    (finding,) = explain(text).findings
    return [cause.name for cause in finding.causes]


@pytest.mark.parametrize("seed", seeds(400))
def test_sizes_are_read_as_precisely_as_they_were_written(seed: int) -> None:
    random = Random(seed)
    for _ in range(200):
        nbytes = random.randrange(1 << random.randrange(1, 45))
        size = size_of(format_size(nbytes).replace(" ", ""))

        assert abs(size.nbytes - nbytes) <= size.margin
        assert size.margin <= max(nbytes // 200, 6)
        assert format_size(nbytes) == size.written


@pytest.mark.parametrize("seed", seeds(400))
def test_figures_that_were_put_in_come_out(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        total = random.randrange(4 * GIB, 200 * GIB)
        allocated = random.randrange(total)
        reserved = random.randrange(allocated, total)
        in_process = random.randrange(reserved, total)
        figures = MemoryFigures(
            tried=random.randrange(512, 2 * total),
            device=random.randrange(16),
            total=total,
            free=random.randrange(total - in_process),
            in_process=in_process,
            allowed=random.choice([None, random.randrange(1, total)]),
            allocated=allocated,
            reserved=reserved,
        )
        memory = read(out_of_memory(figures))

        written = [
            (figures.tried, memory.request),
            (total, memory.total),
            (figures.free, memory.free),
            (in_process, memory.process),
            (figures.allowed, memory.allowed),
            (allocated, memory.allocated),
            (reserved - allocated, memory.unallocated),
        ]
        assert figures.device == memory.device
        for nbytes, size in written:
            assert (nbytes is None) == (size is None)
            assert nbytes is None or (size is not None and abs(nbytes - size.nbytes) <= size.margin)


def full(allocator: CachingAllocator, size: int) -> OutOfDeviceMemory:
    """Allocates until the card is full, and returns the error with which that ends."""
    with pytest.raises(OutOfDeviceMemory) as error:
        _ = [allocator.allocate(size) for _ in range(10_000)]
    return error.value


def test_a_simulated_card_that_is_full_of_tensors_is_called_full() -> None:
    error = full(CachingAllocator(8 * GIB), 300 * MIB)

    memory = read(str(error))
    assert error.figures.tried == memory.request.nbytes
    assert abs(error.figures.allocated - memory.allocated.nbytes) <= memory.allocated.margin
    assert ["cardFull"] == causes(str(error))


def test_a_simulated_card_with_holes_is_called_fragmented() -> None:
    allocator = CachingAllocator(8 * GIB)
    held = [allocator.allocate(9 * MIB) for _ in range(780)]  # two in each segment of 20 MiB
    del held[::2]
    with pytest.raises(OutOfDeviceMemory) as error:
        allocator.allocate(1500 * MIB)

    assert ["fragmentation"] == causes(str(error.value))


def test_a_limited_process_on_a_simulated_card_is_called_limited() -> None:
    allocator = CachingAllocator(8 * GIB)
    allocator.set_memory_fraction(0.25)

    assert ["fractionLimit"] == causes(str(full(allocator, 200 * MIB)))


def test_a_request_larger_than_a_simulated_card_is_called_so() -> None:
    with pytest.raises(OutOfDeviceMemory) as error:
        CachingAllocator(8 * GIB).allocate(9 * GIB)

    assert ["requestExceedsCard"] == causes(str(error.value))


def test_in_a_container_the_own_process_is_not_ended() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 14.74 GiB of which 90.00 MiB "
        "is "
        "free. Process 771 has 9.00 GiB memory in use. Process 772 has 5.60 GiB memory in use. Of the allocated memory "
        "5.10 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."
    )
    (finding,) = explain(text).findings

    assert ["otherProcess"] == [cause.name for cause in finding.causes]
    assert ["kill 771"] == [action.line for action in finding.actions if action.line.startswith("kill")]


@pytest.mark.parametrize("absurd", ["17179869184.00 GiB", "17592186044416.00 MiB"])
def test_a_figure_that_no_card_can_have_is_ignored(absurd: str) -> None:
    text = (
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.80 GiB of which 0 bytes is "
        "free. "
        f"Including non-PyTorch memory, this process has {absurd} memory in use. Of the allocated memory 6.90 GiB is "
        "allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated."
    )

    assert None is read(text).process
    assert ["cardFull"] == causes(text)


def test_free_memory_that_fits_the_request_within_the_precision_does_not_hide_that_the_card_is_full() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 7.80 GiB of which 21.00 MiB is "
        "free. Including non-PyTorch memory, this process has 7.77 GiB memory in use. Of the allocated memory 7.20 GiB "
        "is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated."
    )

    assert ["cardFull"] == causes(text)


def test_two_causes_of_the_same_size_are_both_named() -> None:
    text = (
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 10.00 MiB is "
        "free. Process 5 has 5.00 GiB memory in use. Including non-PyTorch memory, this process has 18.99 GiB memory "
        "in "
        "use. Of the allocated memory 13.40 GiB is allocated by PyTorch, and 5.10 GiB is reserved by PyTorch but "
        "unallocated."
    )

    assert {"fragmentation", "otherProcess"} == set(causes(text))
