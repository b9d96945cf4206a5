"""Is a new kind of GPU one file and one row?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import nbtf as tf
from nbtf._devices import discovery
from nbtf._devices.backends import BACKENDS, Row, backend_of
from nbtf._devices.cards import PhysicalGPU
from nbtf._runtime.context import Context, use_context
from tests.devices import toy_backend

FIND_CARDS = discovery.real_cards  # tests see no cards of this computer otherwise
CARDS = toy_backend.find_cards({})


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(BACKENDS, "toy", Row(toy_backend.__name__, toy_backend.__name__))
    monkeypatch.setattr(discovery, "real_cards", FIND_CARDS)
    with use_context(Context(environ={"NBTF_GPU": "off"})):
        yield


def test_ops_go_there_and_say_why() -> None:
    with tf.runtime.recording() as record:
        product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])

    assert (tf.runtime.short_name(product.device), [[11.0]]) == ("GPU:0", product.numpy().tolist())
    placed = [event for event in record.snapshot().events if isinstance(event, tf.runtime.OpPlaced)]
    assert "lowest-numbered GPU" == placed[-1].reason.kind


def test_values_go_between_two_of_them_and_the_host() -> None:
    with tf.device("GPU:1"):
        there = tf.constant([1.0, 2.0])
    with tf.device("GPU:0"):
        total = there + 1.0
    with tf.device("CPU:0"):
        back = tf.identity(total)

    assert ["GPU:1", "GPU:0", "CPU:0"] == [tf.runtime.short_name(value.device) for value in (there, total, back)]
    assert [2.0, 3.0] == back.numpy().tolist()


def test_devices_and_their_memory_are_listed() -> None:
    kept = tf.zeros([1000])

    gpu = next(device for device in tf.runtime.devices() if device.name == "GPU:0")

    assert (False, "Tesla K20m", 4096) == (gpu.simulated, gpu.model, (gpu.in_use or 0) // 4096 * 4096)
    assert 2 == len(tf.config.list_physical_devices("GPU"))
    assert (1000,) == kept.shape


def test_a_part_of_a_card_has_its_own_limit() -> None:
    first = tf.config.list_physical_devices("GPU")[0]
    tf.config.set_logical_device_configuration(first, [tf.config.LogicalDeviceConfiguration(memory_limit=1)])

    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor"):
        tf.zeros([1 << 20])
    assert 0.0 == np.sum(tf.zeros([1000]).numpy())


def test_tapes_and_strategies_run_on_it() -> None:
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(2.0)

    def slope() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = weight * weight
        return tape.gradient(loss, weight)

    slopes = strategy.experimental_local_results(strategy.run(slope))

    assert [("GPU:0", 4.0), ("GPU:1", 4.0)] == [(tf.runtime.short_name(slope.device), float(slope)) for slope in slopes]


@pytest.mark.parametrize("backend", ["simulated", "cuda"])
def test_each_row_names_a_file_with_what_is_asked_of_it(backend: str) -> None:
    card: PhysicalGPU = CARDS[0]._replace(backend=backend)

    for function in ("open_card", "plan_memory", "build_gpu"):
        assert callable(getattr(backend_of(card), function))


def test_a_row_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        backend_of(CARDS[0]._replace(backend="nonsense"))
