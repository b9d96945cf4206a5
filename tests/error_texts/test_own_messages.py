"""Are nbtf's own out-of-memory errors explained with the causes for which nbtf wrote them?"""

from __future__ import annotations

from random import Random

import pytest

from nbtf._devices.base import MemoryStats
from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.exhausted import Request, card_is_full, computer_is_too_small, real_card_is_full, shortage
from nbtf._error_texts.recognition import explain
from tests.rings import seeds

MIB, GIB = 1 << 20, 1 << 30
CAUSES = {"sum": "bfcFull", "too large": "bfcRequestExceedsLimit", "in pieces": "bfcFragmentation"}


def cause(text: str) -> str:
    (finding,) = explain(text).findings
    assert "nbtf" == finding.library
    (statement,) = finding.causes
    return statement.name


def request(nbytes: int, copied: bool = False) -> Request:
    return Request(nbytes, (nbytes // 4,), "float", "/job:localhost/replica:0/task:0/device:GPU:0", copied)


@pytest.mark.parametrize("seed", seeds(200))
def test_refusals_of_simulated_gpus(seed: int) -> None:
    random = Random(seed)
    limit = random.randrange(4, 9000) * MIB
    allocator = BFCAllocator(limit)
    chunks = [allocator.allocate(random.randrange(1, limit // 10)) for _ in range(40)]
    for chunk in random.sample([chunk for chunk in chunks if chunk is not None], 8):
        allocator.free(chunk)
    stats = allocator.stats()
    nbytes = random.choice([limit + MIB, random.randrange(1, limit), limit - stats.bytes_in_use - 512])
    reason = shortage(nbytes, limit, stats.bytes_in_use, stats.pool_bytes, stats.largest_free_chunk).reason
    if nbytes <= stats.largest_free_chunk:
        return  # it would fit
    text = card_is_full(request(nbytes, random.random() < 0.5), "simulated GPU:0 (Tesla K20m)", allocator, 2 * limit)

    assert CAUSES[reason] == cause(f"ResourceExhaustedError: {text}")


def test_refusals_of_real_gpus() -> None:
    def refused(nbytes: int, in_use: int, pool: int, free: int | None) -> str:
        stats = MemoryStats(in_use, in_use, in_use, pool, 24 * GIB, 3, GIB, 0)
        return cause(real_card_is_full(request(nbytes), "GPU:0 (NVIDIA A30)", "GPU_0_bfc", stats, free, []))

    assert "bfcRequestExceedsLimit" == refused(30 * GIB, GIB, GIB, 20 * GIB)
    assert "bfcUnmappedHere" == refused(4 * GIB, GIB, 2 * GIB, GIB)
    assert "bfcFragmentationNoList" == refused(4 * GIB, 10 * GIB, 23 * GIB, GIB)
    assert "bfcFull" == refused(4 * GIB, 23 * GIB, 23 * GIB, GIB)


@pytest.mark.parametrize("computer", [None, 3 * GIB, 700 * MIB])
def test_a_computer_that_is_too_small(computer: int | None) -> None:
    text = computer_is_too_small(request(5 * GIB), "simulated GPU:0", 14 * GIB, computer, "GPU_0_bfc")

    assert "simulatedComputer" == cause(text)
