"""How is the memory of the cards taken, in every mode, through the public API?"""

from __future__ import annotations

import logging
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import InternalError, ResourceExhaustedError
from tests.machines import MIB, SCRATCH, machine

V100, K20M = "Tesla V100-SXM2-16GB", "Tesla K20m"


def physical() -> list[Any]:
    return tf.config.list_physical_devices("GPU")


def split(gpu: Any, *limits: float) -> None:
    pieces = [tf.config.LogicalDeviceConfiguration(memory_limit=limit) for limit in limits]
    tf.config.set_logical_device_configuration(gpu, pieces)


def grow(*gpus: Any) -> None:
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)


def in_mib(field: str) -> list[float]:
    """What the logical GPUs have, in use for the first time."""
    tf.config.list_logical_devices()
    return [getattr(device, field) / MIB for device in tf.runtime.devices() if device.device_type == "GPU"]


def in_use(device: str = "GPU:0") -> int:
    return tf.config.experimental.get_memory_info(device)["current"]


# All at once


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("Tesla K20m", 5120 - 500),
        ("Tesla P100", 16280 - 500),
        ("V100", 16384 - 1050),
        ("T4", 15360 - 1050),
        ("A100 40", 40960 - 1536),
        ("NVIDIA L4", 23034 - 1536),
        ("H100", 81559 - 1800),
    ],
)
def test_all_but_a_reserve_is_mapped_at_first_use(model: str, limit: int) -> None:
    with machine(2, model):
        assert [limit, limit] == in_mib("pool")
        assert [limit, limit] == in_mib("memory_limit")


def test_small_card_keeps_a_smaller_reserve() -> None:
    with machine(1, memory="2047MiB"):
        assert [2047 - 225] == in_mib("pool")


def test_card_smaller_than_the_reserve_is_used_whole() -> None:
    with machine(1, memory="128MiB"):
        assert [128] == in_mib("memory_limit")


def test_memory_in_use_starts_with_tensorflows_own_buffer() -> None:
    with machine(2):
        assert {"current": SCRATCH, "peak": SCRATCH} == tf.config.experimental.get_memory_info("GPU:0")
        assert SCRATCH == in_use("GPU:1")


def test_hidden_cards_map_nothing() -> None:
    with machine(4, K20M):
        tf.config.set_visible_devices(physical()[2:], "GPU")
        tf.constant(1.0)
        gpus = [device for device in tf.runtime.devices() if device.simulated]

    assert [("GPU:0", 2, 4620 * MIB), ("GPU:1", 3, 4620 * MIB)] == [(d.name, d.card, d.pool) for d in gpus]


def test_visible_cards_are_numbered_in_the_order_of_the_machine_each_once() -> None:
    with machine(3, K20M):
        last, first = physical()[2], physical()[0]
        tf.config.set_visible_devices([last, first, last], "GPU")
        planned = [(device.name, device.card) for device in tf.runtime.devices() if device.simulated]
        tf.constant(1.0)
        gpus = [(device.name, device.card) for device in tf.runtime.devices() if device.simulated]

    assert [("GPU:0", 0), ("GPU:1", 2)] == planned == gpus


# Growth


def test_memory_grows_by_doubling_regions() -> None:
    with machine(1):
        grow(*physical())
        pools, kept = in_mib("pool"), list[Any]()
        for _ in range(29):
            kept.append(tf.ones([256, 1024]))  # 1 MiB
            pools.extend(pool for pool in in_mib("pool") if pool != pools[-1])

    assert [2, 6, 14, 30] == pools


def test_memory_that_has_grown_is_kept() -> None:
    with machine(1):
        grow(*physical())
        kept = [tf.ones([256, 1024]) for _ in range(5)]
        high = in_mib("pool")
        kept.clear()

        assert (high, SCRATCH) == (in_mib("pool"), in_use())


def test_growth_ends_at_the_limit() -> None:
    with machine(1, memory="300MiB"):
        grow(*physical())
        kept = [tf.ones([256, 1024 * 16]) for _ in range(4)]
        with pytest.raises(ResourceExhaustedError):
            tf.ones([256, 1024 * 16])

        assert [75] == in_mib("memory_limit")
        assert 4 == len(kept)


def test_growth_must_be_the_same_on_all_visible_gpus() -> None:
    with machine(2):
        grow(physical()[0])
        with pytest.raises(ValueError, match=r"^Memory growth cannot differ between GPU devices$"):
            tf.constant(1.0)

        grow(physical()[1])
        assert [2, 2] == in_mib("pool")


def test_growth_of_hidden_gpus_does_not_count() -> None:
    with machine(2):
        grow(physical()[0])
        tf.config.set_visible_devices(physical()[0], "GPU")

        assert [2] == in_mib("pool")


def test_growth_is_forgotten_when_a_gpu_is_split() -> None:
    with machine(2, K20M):
        grow(physical()[0])
        split(physical()[0], 64)

        assert [64, 4620] == in_mib("pool")


@pytest.mark.parametrize(("said", "pool"), [("true", 2), ("false", 4620), ("True", 4620), ("1", 4620)])
def test_environment_can_force_growth(said: str, pool: int) -> None:
    with machine(1, K20M, TF_FORCE_GPU_ALLOW_GROWTH=said):
        assert [pool] == in_mib("pool")


def test_environment_can_forbid_growth_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with machine(1, K20M, TF_FORCE_GPU_ALLOW_GROWTH="false"), caplog.at_level(logging.WARNING, "tensorflow"):
        grow(*physical())

        assert [4620] == in_mib("pool")
    assert ["Overriding allow_growth setting because"] == [record.message[:39] for record in caplog.records]


def test_environment_is_read_at_first_use() -> None:
    environ: dict[str, str] = {}
    with machine(1, K20M) as context:
        context.configuration.environ = environ
        physical()
        environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

        assert [2] == in_mib("pool")


# The settings of the 2.0 alpha


def test_alpha_fraction_is_of_the_whole_card() -> None:
    with machine(2, K20M):
        tf.config.gpu.set_per_process_memory_fraction(0.4)

        assert [int(0.4 * 5120 * MIB) / MIB] * 2 == in_mib("memory_limit")
        assert 0.4 == tf.config.gpu.get_per_process_memory_fraction()


def test_alpha_fraction_bounds_the_memory() -> None:
    with machine(1, K20M):
        tf.config.gpu.set_per_process_memory_fraction(0.01)
        with pytest.raises(ResourceExhaustedError, match="by allocator GPU_0_bfc"):
            tf.ones([52 * MIB // 4])


@pytest.mark.parametrize("fraction", [-0.1, float("nan"), float("inf")])
def test_alpha_fraction_that_is_none_is_refused_at_once(fraction: float) -> None:
    message = f"^fraction must be a number that is not negative, got {fraction}$"
    with machine(1), pytest.raises(ValueError, match=message):
        tf.config.gpu.set_per_process_memory_fraction(fraction)


@pytest.mark.parametrize("limit", [-1, -0.5, float("nan"), float("inf"), "1GiB"])
def test_memory_limit_that_is_none_is_refused_at_once(limit: Any) -> None:
    message = f"^Setting memory limit {limit!r} on GPU virtual devices is not supported; it must be a number of MiB"
    with machine(1):
        with pytest.raises(ValueError, match=message):
            tf.config.set_logical_device_configuration(physical()[0], [tf.config.LogicalDeviceConfiguration(limit)])

        assert tf.config.get_logical_device_configuration(physical()[0]) is None


@pytest.mark.parametrize("arguments", [(), (True,)])
def test_alpha_growth_is_for_all_gpus(arguments: Any) -> None:
    with machine(2):
        tf.config.gpu.set_per_process_memory_growth(*arguments)

        assert [2, 2] == in_mib("pool")
        assert tf.config.gpu.get_per_process_memory_growth()


def test_alpha_growth_can_be_switched_off() -> None:
    with machine(1, K20M):
        tf.config.gpu.set_per_process_memory_growth()
        tf.config.gpu.set_per_process_memory_growth(False)

        assert [4620] == in_mib("pool")


def test_growth_of_one_card_goes_before_that_of_the_process() -> None:
    with machine(1, K20M):
        tf.config.gpu.set_per_process_memory_growth()
        tf.config.experimental.set_memory_growth(physical()[0], False)

        assert [4620] == in_mib("pool")


def test_alpha_fraction_above_one_needs_a_newer_card() -> None:
    with machine(1, K20M):
        tf.config.gpu.set_per_process_memory_fraction(1.5)
        with pytest.raises(InternalError, match=r"compute capability lower than 6.0"):
            tf.constant(1.0)
    with machine(1, V100):
        tf.config.gpu.set_per_process_memory_fraction(1.5)

        assert [1.5 * 16384] == in_mib("pool")


# A limit, and several logical GPUs on one card


def test_limit_is_mapped_at_once() -> None:
    with machine(2, K20M):
        split(physical()[0], 1024)

        assert [1024, 4620] == in_mib("pool")


def test_limit_drops_its_fraction() -> None:
    with machine(1):
        split(physical()[0], 64.9)

        assert [64] == in_mib("memory_limit")


def test_what_is_above_the_limit_does_not_fit() -> None:
    with machine(1):
        split(physical()[0], 64)
        kept = tf.ones([7 * MIB])

        with pytest.raises(ResourceExhaustedError, match=r"type float on .*GPU:0 by allocator GPU_0_bfc"):
            tf.ones([9 * MIB])
        assert 7 * MIB == tf.reduce_sum(kept).numpy()


def test_logical_gpus_have_accounts_and_names_of_their_own() -> None:
    with machine(1):
        split(physical()[0], 64, 32)
        with tf.device("GPU:1"):
            kept = tf.ones([MIB])
            with pytest.raises(ResourceExhaustedError, match="by allocator GPU_1_bfc"):
                tf.ones([8 * MIB])

        assert [64, 32] == in_mib("pool")
        assert (SCRATCH, 4 * MIB + SCRATCH) == (in_use("GPU:0"), in_use("GPU:1"))
        assert {0} == {device.card for device in tf.runtime.devices() if device.simulated}
        assert MIB == kept.shape[0]


def test_logical_gpus_share_what_the_card_has() -> None:
    with machine(1, memory="100MiB"):
        split(physical()[0], 64, 64)
        first, second = in_mib("pool")

    assert 64 == first
    assert 32 <= second <= 36  # TensorFlow asks for a tenth less until it is granted


def test_card_that_is_taken_leaves_nothing_for_the_last() -> None:
    with machine(1, memory="64MiB"):
        split(physical()[0], 64, 64)
        with tf.device("GPU:1"), pytest.raises(ResourceExhaustedError, match="other programs use the rest of the card"):
            tf.ones([10])

        assert 10 == tf.reduce_sum(tf.ones([10])).numpy()


def test_logical_gpus_are_numbered_through_all_cards() -> None:
    with machine(3, K20M):
        split(physical()[1], 64, 64)
        tf.constant(1.0)
        gpus = [device for device in tf.runtime.devices() if device.simulated]

    assert [("GPU:0", 0), ("GPU:1", 1), ("GPU:2", 1), ("GPU:3", 2)] == [(d.name, d.card) for d in gpus]


# Other variables of the environment


@pytest.mark.parametrize(("reserve", "limit"), [("100", 5020), ("0", 5120), ("9999", 4620), ("much", 4620)])
def test_environment_can_set_the_reserve(reserve: str, limit: int) -> None:
    with machine(1, K20M, TF_DEVICE_MIN_SYS_MEMORY_IN_MB=reserve):
        assert [limit] == in_mib("memory_limit")


@pytest.mark.parametrize(("said", "fits"), [("true", True), ("false", False), ("no", True)])
def test_environment_can_forbid_garbage_collection(said: str, fits: bool) -> None:
    with machine(1, TF_ENABLE_GPU_GARBAGE_COLLECTION=said):
        split(physical()[0], 64)
        tf.config.gpu.set_per_process_memory_growth()
        kept = [tf.ones([256, 1024]) for _ in range(29)]  # regions of 2, 4, 8 and 16 MiB
        kept.clear()

        assert fits == _fits(40)


def _fits(mib: int) -> bool:
    try:
        tf.ones([mib * MIB // 4])
    except ResourceExhaustedError:
        return False
    return True


@pytest.mark.parametrize(
    ("visible", "cards"),
    [
        ("1", [1]),
        ("0,2,3", [0, 2, 3]),
        ("2,1", [2, 1]),
        ("0,2,-1,1", [0, 2]),
        ("0,7,1", [0]),
        ("1,1", []),
        ("", []),
        ("-1", []),
        ("abc", []),
        (" 1 , 2 ", [1, 2]),
        ("GPU-3c6ef362", [1]),
    ],
)
def test_environment_chooses_and_orders_the_cards(visible: str, cards: list[int]) -> None:
    with machine(4, CUDA_VISIBLE_DEVICES=visible):
        found = [device.card for device in tf.runtime.devices() if device.simulated]

        assert cards == found
        assert len(cards) == len(physical()) == len(tf.config.list_logical_devices("GPU"))


def test_cards_are_numbered_anew_inside_the_process() -> None:
    with machine(4, CUDA_VISIBLE_DEVICES="2,3"):
        tf.config.set_visible_devices(physical()[1], "GPU")
        tf.constant(1.0)
        (gpu,) = [device for device in tf.runtime.devices() if device.simulated]

    assert ("GPU:0", 3) == (gpu.name, gpu.card)


# Checks that come before first use


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"memory_limit": 1024}, "Setting memory limit on CPU virtual devices is currently not supported"),
        ({"memory_limit": 0}, "Setting memory limit on CPU virtual devices is currently not supported"),
        (
            {"experimental_priority": 1},
            "Setting experimental_priority on CPU virtual  devices is currently not supported",
        ),
        (
            {"experimental_device_ordinal": 1},
            "Setting experimental_device_ordinal on CPU virtual  devices is currently not supported",
        ),
    ],
)
def test_cpu_can_only_be_multiplied(wish: dict[str, Any], message: str) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]

    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the text is compared below
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration(**wish)])

    assert message == str(caught.value)


def test_priorities_of_gpus_are_accepted() -> None:
    with machine(1):
        wish = tf.config.LogicalDeviceConfiguration(64, experimental_priority=1, experimental_device_ordinal=0)
        tf.config.set_logical_device_configuration(physical()[0], [wish])

        assert [64] == in_mib("pool")


def test_last_configuration_before_first_use_wins() -> None:
    with machine(1):
        split(physical()[0], 64, 64)
        split(physical()[0], 32)

        assert [32] == in_mib("pool")


def test_split_gpu_cannot_be_given_growth() -> None:
    with machine(1):
        split(physical()[0], 64)
        with pytest.raises(ValueError, match=r"^Cannot set memory growth on device when virtual devices configured$"):
            grow(*physical())
