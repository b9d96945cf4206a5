from __future__ import annotations

import pytest

import nbtf as tf
from nbtf._devices import discovery


def test_without_a_card_this_is_no_build_for_cuda() -> None:
    info = tf.sysconfig.get_build_info()

    assert ["is_cuda_build", "is_rocm_build", "is_tensorrt_build"] == list(info)
    assert not any(info.values())


def test_simulated_gpus_make_none_of_it() -> None:
    tf.runtime.simulate_gpus(2)

    assert tf.sysconfig.get_build_info()["is_cuda_build"] is tf.test.is_built_with_cuda() is False


def test_with_a_card_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "real_cards", lambda environ: ("a card",))

    assert tf.sysconfig.get_build_info()["is_cuda_build"] is True
