"""Tests that all allocators of one card together never take more than it has."""

import random

import pytest

from nbtf._devices.bfc.allocator import BFCAllocator
from nbtf._devices.bfc.pool import Driver
from nbtf._devices.caching.allocator import CachingAllocator
from nbtf._devices.caching.report import OutOfDeviceMemory
from nbtf._devices.caching.settings import AllocatorSettings

MIB = 1 << 20
SETTINGS = ["", "expandable_segments:True", "max_split_size_mb:40", "garbage_collection_threshold:0.6"]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("growth", [True, False], ids=["growth", "at-once"])
@pytest.mark.parametrize("seed", range(10))
def test_pytorch_and_nbtf_never_have_more_than_the_card(settings: str, growth: bool, seed: int) -> None:
    draw, card = random.Random(seed), Driver(256 * MIB)
    ours = BFCAllocator(draw.choice([96, 400]) * MIB, growth=growth, driver=card)
    pytorchs = CachingAllocator(card, AllocatorSettings.parse(settings))
    held: list[object] = []
    refused, figures = {"PyTorch": 0, "nbtf": 0}, []

    for _ in range(300):
        match draw.choice(["nbtf", "PyTorch", "PyTorch", "free", "empty"]):
            case "nbtf":
                chunk = ours.allocate(draw.randrange(1, 60 * MIB))
                refused["nbtf"] += chunk is None
                held.append(chunk)
            case "PyTorch":
                try:
                    held.append(pytorchs.allocate(draw.randrange(1, 60 * MIB)))
                except OutOfDeviceMemory as error:
                    refused["PyTorch"] += 1
                    together = ours.stats().pool_bytes + pytorchs.reserved
                    figures.append((error.figures.in_process == together, error.figures.free == 256 * MIB - together))
            case "free" if held:
                del held[draw.randrange(len(held))]
            case _:
                pytorchs.empty_cache()
                ours.trim()
        assert ours.stats().pool_bytes + pytorchs.reserved <= 256 * MIB
        assert pytorchs.mapped_by_others == ours.stats().pool_bytes

    assert min(refused.values()) > 0
    assert {(True, True)} == {*figures}


def test_what_one_gives_back_the_other_can_take() -> None:
    card = Driver(100 * MIB)
    ours, pytorchs = BFCAllocator(100 * MIB, growth=True, driver=card), CachingAllocator(card)
    tensor = pytorchs.allocate(90 * MIB)
    assert ours.allocate(20 * MIB) is None

    del tensor
    pytorchs.empty_cache()

    assert ours.allocate(20 * MIB) is not None
