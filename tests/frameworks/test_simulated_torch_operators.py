"""Tests a share of PyTorch's samples on simulated GPUs against the CPU; `.ci/nightly operators` runs all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbtf._devices.discovery import gpus, simulated_machine

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

SHARE = 60
"""One op of so many is tried."""


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    from nbtf._frameworks.torch.simulation.switch import SWITCH
    from tests.frameworks.operators import database

    database()  # PyTorch's descriptions of ops are made without GPUs
    SWITCH.on(gpus(simulated_machine(2, "A100 80"), {}))
    yield
    SWITCH.off()


@pytest.mark.filterwarnings("ignore")
def test_ops_differ_nowhere_silently_from_the_cpu() -> None:
    from tests.frameworks.operators import database, search

    report = search(database()[::SHARE], (torch.float32, torch.int64), samples=1)

    assert {} == report.differences
    assert report.counts.total() > 100
