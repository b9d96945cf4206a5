"""Tests that nbtf's own ops and PyTorch's share the memory of a simulated card, and that who is refused is told why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch")

MIB = 1 << 20
OF_A_FILL = 1280 + 256 + 4096
"""Bytes for 1000 numbers, the one that they are filled with, and TensorFlow's own buffer."""


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(1, memory="1GiB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def bytes_on_card(mib: int) -> Any:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def test_nbtf_takes_what_pytorch_has_left_and_says_who_has_the_rest() -> None:
    kept = bytes_on_card(600)

    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"PyTorch uses 600 MiB of the card\."):
        tf.zeros([500 * MIB], tf.uint8)

    assert tf.runtime.devices()[1].memory_limit == 1024 * MIB - kept.numel() - 225 * MIB


def test_pytorch_is_refused_what_nbtf_has_mapped_and_the_error_says_so() -> None:
    x = tf.zeros([1000])

    with pytest.raises(
        torch.OutOfMemoryError, match=r"Including non-PyTorch memory, this process has 799\.00 MiB"
    ) as e:
        bytes_on_card(300)

    assert x.device.endswith("GPU:0")
    assert "nbtf's own ops have reserved 799.00 MiB of this GPU" in e.value.__notes__[0]


def test_pytorch_joins_a_card_that_nbtf_has_in_use() -> None:
    tf.runtime.restart()
    x = tf.zeros([1000])
    tf.runtime.simulate_gpus(1, memory="1GiB", frameworks="torch")

    assert (225 * MIB, 1024 * MIB) == torch.cuda.mem_get_info()
    assert x.device.endswith("GPU:0")


def test_a_restart_gives_pytorch_the_memory_of_nbtfs_ops() -> None:
    tf.zeros([1000])
    kept = bytes_on_card(100)

    tf.runtime.restart()

    assert (1024 * MIB - kept.numel(), 1024 * MIB) == torch.cuda.mem_get_info()


def test_the_map_of_a_card_has_the_memory_of_both() -> None:
    kept = bytes_on_card(30)
    before = tf.runtime.memory_map("GPU:0")
    x = tf.fill([1000], 1.0)

    after = tf.runtime.memory_map("GPU:0")

    labels = {chunk.label.op for region in after for chunk in region.chunks if chunk.label is not None}
    assert {"scratch", "Fill", "aten::empty"} == labels
    assert [30 * MIB] == [region.size for region in before]
    assert (1 << 30, after.limit >= sum([region.size for region in after])) == (after.limit, True)
    assert (kept.numel(), x.shape) == (30 * MIB, (1000,))


def test_a_map_tells_lines_of_what_pytorch_took_while_it_was_watched() -> None:
    with tf.runtime.watch("torch"):
        kept = bytes_on_card(30)

    [chunk] = [chunk for region in tf.runtime.memory_map("GPU:0") for chunk in region.chunks if chunk.in_use]

    assert kept.numel() == chunk.size
    assert (__file__, bytes_on_card.__code__.co_firstlineno + 1) == chunk.label.site


def test_peaks_of_pytorch_are_not_those_of_nbtfs_own_tensors() -> None:
    with tf.runtime.recording() as record:
        kept = bytes_on_card(30)
        x = tf.fill([1000], 1.0)

    snapshot = record.snapshot()
    assert {x.device: OF_A_FILL} == snapshot.peaks
    assert {("PyTorch", x.device): kept.numel()} == snapshot.library_peaks


def test_a_budget_counts_memory_of_pytorch_once() -> None:
    with tf.runtime.recording() as record:
        x = tf.fill([1000], 1.0)
        bytes_on_card(30)

    record.expect_memory(at_most=30 * MIB + OF_A_FILL)
    with pytest.raises(tf.runtime.ExpectationError):
        record.expect_memory(at_most=30 * MIB + OF_A_FILL - 1)
    assert x.device.endswith("GPU:0")
