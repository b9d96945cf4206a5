"""How do gradients meet that arrive for the same tensor?"""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.autodiff import backward


def test_many_large_gradients_are_added_before_all_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward, "_NBYTES", 0)
    arrived: dict[int, Any] = {}

    for _ in range(3):
        backward.put(arrived, 0, tf.constant([1.0]))
    assert 3 == len(arrived[0])
    backward.put(arrived, 0, tf.constant([1.0]))

    assert [4.0] == arrived[0].numpy().tolist()


def test_small_gradients_wait_for_each_other() -> None:
    arrived: dict[int, Any] = {}
    for _ in range(8):
        backward.put(arrived, 0, tf.constant([1.0]))

    assert 8 == len(arrived[0])
