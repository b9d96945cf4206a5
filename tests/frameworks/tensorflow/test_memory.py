"""What do TensorFlow's allocators report, and of which card? With a stand-in for `get_memory_info`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from nbtf._frameworks.base import Pool
from nbtf._frameworks.tensorflow import memory
from nbtf._frameworks.tensorflow.memory import StartedGPU
from tests.frameworks.tensorflow.conftest import Accounts


def test_pools_are_the_allocators_figures(real: Any, accounts: Accounts) -> None:
    accounts.use(4096)
    accounts.use(-1024)

    assert memory.pools(real) == [Pool("cuda:0", 3072, 3072, 4096, None), Pool("cuda:1", 0, 0, 0, None)]
    assert memory.peaks(real) == {"cuda:0": 4096, "cuda:1": 0}


def test_peaks_begin_anew(real: Any, accounts: Accounts) -> None:
    accounts.use(4096)
    accounts.use(-4096)

    memory.reset_peaks(real)

    assert accounts.reset == ["GPU:0", "GPU:1"]
    assert memory.peaks(real)["cuda:0"] == 0


def test_logical_gpus_of_one_card_share_a_pool(real: Any, accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts.use(1000, "GPU:0")
    accounts.use(2000, "GPU:1")
    monkeypatch.setattr(memory, "started_gpus", lambda tf: [StartedGPU(f"GPU:{n}", 5, None) for n in range(2)])

    assert memory.pools(real) == [Pool("cuda:5", 3000, 3000, 3000, None)]


def test_an_allocator_without_figures_is_named(real: Any, accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_figures(device: str) -> Any:
        raise ValueError(f"Allocator stats not available for device '{device}'")

    assert memory.unreported(real) == []
    monkeypatch.setattr(real.config.experimental, "get_memory_info", no_figures)

    assert memory.pools(real) == []
    assert memory.unreported(real) == ["GPU:0", "GPU:1"]


class Physical:
    """A physical GPU of TensorFlow."""

    def __init__(self, number: int) -> None:
        self.name = f"/physical_device:GPU:{number}"


def test_logical_gpus_are_numbered_without_hidden_cards(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = {1: [None, None, None], 3: None}
    monkeypatch.setattr(real.config, "get_visible_devices", lambda kind: [Physical(1), Physical(3)])
    monkeypatch.setattr(real.config, "get_logical_device_configuration", lambda device: pieces[int(device.name[-1])])
    real.ones([1])

    found = [(gpu.name, gpu.card) for gpu in memory.started_gpus(real)]

    assert found == [("GPU:0", 1), ("GPU:1", 1), ("GPU:2", 1), ("GPU:3", 3)]
    card_of = memory.card_finder(real)
    assert card_of("/job:localhost/replica:0/task:0/device:GPU:3") == 3
    assert card_of("/job:localhost/replica:0/task:0/device:CPU:0") is None
    assert card_of("/job:localhost/replica:0/task:0/device:GPU:9") is None


def test_a_look_starts_no_device(real: Any) -> None:
    program = (
        "import tensorflow as tf; from tensorflow.python.eager import context; "
        "from nbtf._frameworks.tensorflow import memory, tensors; "
        "looks = memory.started_gpus(tf), memory.pools(tf), memory.cards(tf), memory.peaks(tf), "
        "memory.reset_peaks(tf), tensors.tensors_of('TensorFlow', tf, memory.card_finder(tf)); "
        "looks[-1].holding(3), looks[-1].taped(()); "
        "print(looks[0], looks[1], looks[2], context.context()._context_handle)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "[] [] [] None", done.stderr


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("OOM when allocating tensor with shape[9] on /job:localhost/replica:0/task:0/device:GPU:1 by allocator X", 1),
        ("failed to allocate memory by allocator GPU_1_bfc", 1),
        ("OOM when allocating tensor with shape[9] on /job:localhost/replica:0/task:0/device:CPU:0 by cpu", None),
        ("Out of memory while trying to allocate 9 bytes.", None),
    ],
    ids=["device", "allocator", "host", "two possible cards"],
)
def test_an_error_names_the_card_that_is_full(real: Any, accounts: Accounts, text: str, card: int | None) -> None:
    error = real.errors.ResourceExhaustedError(None, None, text)

    assert memory.full_card(real, error) == (None if card is None else f"cuda:{card}")


def test_the_only_card_is_full(real: Any, accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "started_gpus", lambda tf: [StartedGPU("GPU:0", 0, None)])
    error = real.errors.ResourceExhaustedError(None, None, "Out of memory while trying to allocate 9 bytes.")

    assert memory.full_card(real, error) == "cuda:0"
    assert memory.full_card(real, MemoryError("full")) is None
