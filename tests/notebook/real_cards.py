"""A machine with real cards, as far as people see them: nobody opens one, and NVML's module is a fake."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from nbtf import runtime
from nbtf._devices import nvml
from nbtf.notebook.session import SESSIONS
from nbtf.runtime import DeviceInfo
from tests.fake_nvml import GIB, MIB, FakeCard, FakeNVML
from tests.notebook.conftest import Shell

CPU = DeviceInfo("CPU:0", "CPU")


def gpu(number: int, card: FakeCard, **more: Any) -> DeviceInfo:
    """A logical GPU on a card; started where `more` tells its memory."""
    address = nvml.plain_bus_id(card.bus_id)
    told: dict[str, Any] = {
        "model": "NVIDIA L4",
        "bus_id": address,
        "uuid": card.uuid,
        "memory": card.total,
        "cuda": number,
    } | more
    return DeviceInfo(f"GPU:{number}", "GPU", **told)


def started(in_use: int, pool: int) -> dict[str, int]:
    """The account of a GPU in use."""
    return {"in_use": in_use, "requested": in_use, "peak": in_use, "pool": pool, "memory_limit": 20 * GIB}


def use_cards(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, gpus: Sequence[DeviceInfo], *cards: FakeCard, **more: Any
) -> FakeNVML:
    """Gives a shell's session real GPUs on some cards; returns NVML's module."""
    fake = FakeNVML(*cards, **more)
    monkeypatch.setattr(runtime, "devices", lambda: [CPU, *gpus])
    monkeypatch.setattr(runtime, "physical_devices", lambda: [CPU, *gpus])
    monkeypatch.setattr(nvml, "strange_pids", lambda: "")
    monkeypatch.setattr(SESSIONS[shell.ip].monitor, "_load", lambda: fake)
    return fake


def one_busy_card(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> tuple[DeviceInfo, FakeNVML]:
    """A card of which this process has 1,400 MiB, 1,024 of them nbtf's pool, and two others 600."""
    processes = [(os.getpid(), 1400 * MIB), (700_001, 500 * MIB), (700_002, 100 * MIB)]
    card = FakeCard(5, used=2010 * MIB, processes=processes)
    device = gpu(0, card, **started(256 * MIB, GIB))
    return device, use_cards(shell, monkeypatch, [device], FakeCard(0), card)
