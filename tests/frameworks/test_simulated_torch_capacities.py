"""Tests that simulated cards have as much memory for PyTorch as real cards report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf._devices.caching.fixed_parts import fixed_parts
from nbtf._devices.capacities import capacity_of
from nbtf._devices.catalog import CARDS, Card, find_card

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")

MIB = 1 << 20


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_card_has_the_reported_total_less_a_context_of_plausible_size(card: Card) -> None:
    tf.runtime.simulate_gpus(1, model=card.name, frameworks="torch")
    free, total = torch.cuda.mem_get_info()
    low, high = fixed_parts(card).context

    assert capacity_of(card) == total == torch.cuda.get_device_properties(0).total_memory
    assert low <= total - free <= high
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(total, dtype=torch.uint8, device="cuda")
    assert f"total capacity of {total / (1 << 30):.2f} GiB of which {free / (1 << 30):.2f} GiB is free" in str(
        caught.value
    )
    assert f"this process has {(total - free) / MIB:.2f} MiB memory in use" in str(caught.value)


def test_a_chosen_size_is_all_for_tensors() -> None:
    tf.runtime.simulate_gpus(1, model="T4", memory="64MiB", frameworks="torch")

    assert (64 * MIB, 64 * MIB) == torch.cuda.mem_get_info()
    assert (64 * MIB,) == torch.empty(64 * MIB, dtype=torch.uint8, device="cuda").shape


def test_tensorflow_has_its_own_limit_whichever_library_comes_first() -> None:
    tf.runtime.simulate_gpus(1, model="T4")
    tf.zeros([1])
    [alone] = [device.memory_limit for device in tf.runtime.devices() if device.name.endswith("GPU:0")]
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, model="T4", frameworks="torch")
    context = torch.cuda.device_memory_used(0)
    tf.zeros([1])
    [beside] = [device.memory_limit for device in tf.runtime.devices() if device.name.endswith("GPU:0")]
    free, total = torch.cuda.mem_get_info()

    assert 15360 * MIB - 1050 * MIB == alone
    assert capacity_of(find_card("T4")) - context - 1050 * MIB == beside
    assert total - context - beside <= free <= 1050 * MIB


def test_pytorch_joins_a_used_card_with_the_total_that_cuda_reports() -> None:
    tf.runtime.simulate_gpus(1, model="T4")
    x = tf.zeros([1])
    tf.runtime.simulate_gpus(1, model="T4", frameworks="torch")  # the same machine, now for PyTorch as well
    free, total = torch.cuda.mem_get_info()

    assert capacity_of(find_card("T4")) == total
    assert 0 <= free < 1050 * MIB
    assert x.device.endswith("GPU:0")
