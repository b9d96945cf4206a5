"""TensorFlow with four logical CPUs, which pass for cards where a test asks for it. Skips without TensorFlow."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from nbtf._frameworks.base import Card
from nbtf._frameworks.tensorflow import memory
from tests.notebook.conftest import bare as bare
from tests.notebook.conftest import shell as shell

collect_ignore_glob = [] if find_spec("tensorflow") else ["*.py"]


def _load() -> None:
    """Imports TensorFlow with four logical CPUs, which must be set before its first op."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # the log of placements has the lowest level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensorflow: Any = import_module("tensorflow")
    four = [tensorflow.config.LogicalDeviceConfiguration()] * 4
    tensorflow.config.set_logical_device_configuration(tensorflow.config.list_physical_devices("CPU")[0], four)


if find_spec("tensorflow"):
    _load()


@pytest.fixture(scope="session")
def real() -> Any:
    """TensorFlow itself, with four logical CPUs."""
    return pytest.importorskip("tensorflow", reason="needs TensorFlow; one step of .ci/run has it")


class Accounts:
    """What `get_memory_info` reports of two GPUs that do not exist, in bytes."""

    def __init__(self) -> None:
        self.figures = {"GPU:0": {"current": 0, "peak": 0}, "GPU:1": {"current": 0, "peak": 0}}
        self.reset: list[str] = []

    def use(self, nbytes: int, device: str = "GPU:0") -> None:
        figures = self.figures[device]
        figures["current"] += nbytes
        figures["peak"] = max(figures["peak"], figures["current"])

    def reset_memory_stats(self, device: str) -> None:
        self.reset.append(device)
        self.figures[device]["peak"] = self.figures[device]["current"]


@pytest.fixture
def accounts(real: Any, monkeypatch: pytest.MonkeyPatch) -> Accounts:
    """Two GPUs whose memory a test sets."""
    result = Accounts()
    gpus = [memory.StartedGPU(f"GPU:{number}", number, None) for number in range(2)]
    monkeypatch.setattr(memory, "started_gpus", lambda tf: gpus)
    monkeypatch.setattr(real.config.experimental, "get_memory_info", lambda device: dict(result.figures[device]))
    monkeypatch.setattr(real.config.experimental, "reset_memory_stats", result.reset_memory_stats)
    return result


@pytest.fixture
def cards(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the logical CPUs pass for four cards, without a pool."""
    monkeypatch.setattr(memory, "card_finder", lambda tf: lambda device: int(device.rpartition(":")[2]))
    monkeypatch.setattr(memory, "cards", lambda tf: [Card(number, "stand-in", None, 1 << 30) for number in range(4)])
    monkeypatch.setattr("nbtf.notebook.holders.table.SECONDS", 60.0)
