"""Is each card called by all its names, and by no wrong one?"""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import nullcontext

import pytest

import nbtf as tf
from nbtf.runtime import DeviceInfo
from tests.machines import machine

REAL = DeviceInfo("GPU:1", "GPU", model="NVIDIA L4", card=5, bus_id="0000:8a:00.0", cuda=1)


def test_real_card_has_its_names_on_one_line() -> None:
    assert "cuda:1 = GPU:1 here = card 5 (0000:8a:00.0)" == REAL.naming


def test_card_with_unknown_number_has_its_address() -> None:
    assert "cuda:1 = GPU:1 here (0000:8a:00.0)" == REAL._replace(card=None).naming


def test_second_gpu_of_a_card_is_not_called_by_the_cards_name() -> None:
    assert "GPU:1 here is on cuda:0 = card 5 (0000:8a:00.0)" == REAL._replace(cuda=0).naming


def test_pieces_in_use_are_told_with_what_they_are_for() -> None:
    with machine(1):
        x = tf.ones([10])
        pieces = tf.runtime.memory_pieces("GPU:0")
        held = tf.runtime.holding(x)

        assert held is not None
        found = [label for piece, label in pieces if (piece.region, piece.offset) == (held.region, held.offset)]
        assert [((10,), "float32")] == [(label.shape, label.dtype) for label in found if label is not None]
        assert [] == tf.runtime.memory_pieces("CPU:0")


def test_simulated_gpu_and_cpu_have_no_cuda_name() -> None:
    with machine(2):
        assert {(None, None)} == {(device.cuda, device.naming) for device in tf.runtime.devices()}


@pytest.mark.parametrize("recorded", [False, True], ids=["unrecorded", "recorded"])
def test_a_map_says_what_variables_keep_memory_as(recorded: bool) -> None:
    with machine(1), tf.runtime.recording() if recorded else nullcontext():
        weight = tf.keras.Variable(tf.ones([10, 10]))
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build([weight])
        tensor = tf.ones([10, 10])
        weight.assign(tensor + 1.0)

        assert {"": 1, "weights": 1, "optimizer slots": 2} == holders_of_pieces(400)

        del weight, optimizer
        gc.collect()
        assert {"": 1} == holders_of_pieces(400)
        del tensor


def holders_of_pieces(nbytes: int) -> dict[str, int]:
    """How many pieces of so many bytes are kept, by what they are kept as."""
    chunks = [chunk for region in tf.runtime.memory_map("GPU:0") for chunk in region.chunks]
    return dict(Counter(chunk.holder for chunk in chunks if chunk.requested == nbytes))
