"""The sizes that PyTorch's allocator charges, and the settings that a snapshot contains."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from nbtf._devices.caching.blocks import rounded
from nbtf._devices.caching.settings import AllocatorSettings
from nbtf._snapshots.charges import rounded_sizes
from nbtf._snapshots.settings import settings_of
from nbtf._snapshots.snapshot import MemorySnapshot

DIVISIONS = ["", "roundup_power2_divisions:4", "roundup_power2_divisions:[1:8,16:2,>:1]", "roundup_power2_divisions:1"]


@pytest.mark.parametrize("text", DIVISIONS)
def test_sizes_are_rounded_as_the_allocator_rounds_one(text: str) -> None:
    settings = AllocatorSettings.parse(text)
    draw = random.Random(text)
    edges = [(1 << bits) + more for bits in range(41) for more in (-1, 0, 1)]
    requests = [max(each, 1) for each in edges] + [draw.randrange(1, 1 << draw.randrange(1, 38)) for _ in range(500)]
    sizes = rounded_sizes(np.array(requests, np.int64), settings)
    assert sizes.tolist() == [rounded(each, settings) for each in requests]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({}, ""),
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "a setting of the future:1"}, ""),
        ({"expandable_segments": True, "max_split_size": 64 << 20}, "expandable_segments:True,max_split_size_mb:64"),
        ({"max_split_size": -1, "garbage_collection_threshold": 0.0}, ""),
        ({"garbage_collection_threshold": 0.5}, "garbage_collection_threshold:0.5"),
        ({"roundup_power2_divisions": {str(1 << at): 4 for at in range(16)}}, "roundup_power2_divisions:4"),
        ({"roundup_power2_divisions": {str(1 << at): 0 for at in range(16)}}, ""),
        ({"roundup_power2_divisions": {"1": "x", "-3": 4, "3e9": 2}, "max_split_size": "big"}, ""),
    ],
)
def test_settings_of_a_file(entries: dict[str, Any], expected: str) -> None:
    snapshot = MemorySnapshot("run.pickle", "pickle", [], [], [], entries)
    assert settings_of(snapshot) == AllocatorSettings.parse(expected)
