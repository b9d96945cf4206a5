"""PyTorch's allocator under every setting, step by step against a plain copy of the rules of its source."""

import random
from collections import Counter

import pytest

from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.blocks import Allocation
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings
from tests.devices.slow_settings import MIB, RULES, SlowAllocator
from tests.rings import with_nightly


@pytest.mark.parametrize("text", RULES)
@pytest.mark.parametrize("programs", with_nightly([12], [300]))
def test_every_step_is_that_of_a_plain_copy(text: str, programs: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(programs):
        _compare(text, seed, seen)

    assert seen["refused"] > 20
    assert seen["retries"] > 20


def _compare(text: str, seed: int, seen: Counter[str]) -> None:
    draw = random.Random(seed)
    total = draw.choice([30, 60, 120, 200, 400]) * MIB
    fast, slow = CachingAllocator(total, AllocatorSettings.parse(text)), SlowAllocator(total, RULES[text])
    held: dict[int, Allocation] = {}
    bases: dict[int, int] = {}
    for number in range(120):
        chance = draw.random()
        if chance < 0.55:
            sizes = [draw.randrange(1, most) for most in (3000, 3 * MIB, 60 * MIB)]
            size = draw.choice([*sizes, 512, MIB, 2 * MIB, 10 * MIB, 20 * MIB, 40 * MIB])
            stream = draw.choice([0, 0, 0, 1])
            expected = slow.allocate(size, number, stream)
            try:
                allocation = fast.allocate(size, stream)
            except OutOfDeviceMemory:
                assert expected is None
                seen["refused"] += 1
                continue
            assert allocation is not None
            assert expected is not None
            segment, offset, charged = expected
            base = bases.setdefault(segment, allocation.address - offset)
            assert (base + offset, charged) == (allocation.address, allocation.size)
            held[number] = allocation
        elif chance < 0.95 and held:
            name = draw.choice(list(held))
            slow.free(name)
            fast.free(held.pop(name))
        else:
            slow.empty_cache()
            fast.empty_cache()
        stats = fast.stats()
        assert (slow.allocated, slow.reserved) == fast.level()
        assert slow.peak_allocated == stats["allocated_bytes.all.peak"]
        assert slow.peak_reserved == stats["reserved_bytes.all.peak"]
        assert slow.retries == stats["num_alloc_retries"]
    seen["retries"] += slow.retries
