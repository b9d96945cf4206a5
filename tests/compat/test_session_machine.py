from __future__ import annotations

from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf import errors
from nbtf._devices.base import MemoryStats
from nbtf._runtime.context import CURRENT
from tests.machines import LOCAL, MIB, SCRATCH, machine

GIB = 1 << 30


def names(session: Any) -> list[str]:
    return [device.name.removeprefix(LOCAL) for device in session.list_devices()]


def memory(gpu: int = 0) -> MemoryStats:
    account = CURRENT.context.devices.by_name[f"{LOCAL}GPU:{gpu}"].memory
    assert account is not None
    return account.stats()


def cards() -> list[int | None]:
    return [device.card for device in nbtf.runtime.devices() if device.device_type == "GPU"]


def session(**options: Any) -> Any:
    counts = options.pop("device_count", {})
    parts = options.pop("parts", [])
    config = tf.ConfigProto(device_count=counts, gpu_options=tf.GPUOptions(**options))
    for limits in parts:
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits)
    return tf.Session(config=config)


# CPUs


def test_a_session_has_as_many_cpus_as_it_counts() -> None:
    assert ["CPU:0", "CPU:1", "CPU:2"] == names(session(device_count={"CPU": 3}))


def test_cpus_of_a_session_are_its_own() -> None:
    session(device_count={"CPU": 3})

    assert ["CPU:0"] == names(tf.Session())
    assert 1 == len(nbtf.config.list_logical_devices("CPU"))


def test_nodes_run_on_every_cpu_and_values_go_between_them() -> None:
    with tf.device("/cpu:2"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/cpu:1"):
        b = tf.square(a)

    with nbtf.runtime.recording() as record:
        value = session(device_count={"CPU": 3}).run(b)

    assert [1.0, 4.0] == value.tolist()
    assert ("Square", "CPU:1") in record.ops
    assert ("CPU:2", "CPU:1", 8) in record.copies


def test_tables_show_the_cpus_of_sessions() -> None:
    with machine(1):
        session(device_count={"CPU": 3})

        assert ["CPU:0", "CPU:1", "CPU:2", "GPU:0"] == [device.name for device in nbtf.runtime.devices()]


@pytest.mark.parametrize("count", [0, -1])
def test_a_session_needs_a_cpu(count: int) -> None:
    with pytest.raises(errors.NotFoundError, match=r"^No CPU devices are available in this process"):
        session(device_count={"CPU": count})


def test_cpus_of_the_process_are_those_of_a_session_without_settings() -> None:
    cpu = nbtf.config.list_physical_devices("CPU")[0]
    nbtf.config.set_logical_device_configuration(cpu, [nbtf.config.LogicalDeviceConfiguration()] * 2)

    assert ["CPU:0", "CPU:1"] == names(tf.Session())
    assert ["CPU:0"] == names(tf.Session(config=tf.ConfigProto()))


# How many GPUs


@pytest.mark.parametrize(("count", "gpus"), [(0, 0), (1, 1), (3, 3), (9, 4), (-1, 4)])
def test_a_session_uses_as_many_gpus_as_it_counts(count: int, gpus: int) -> None:
    with machine(4, "K20m"):
        found = names(session(device_count={"GPU": count}))

        assert ["CPU:0", *[f"GPU:{number}" for number in range(gpus)]] == found


def test_gpus_that_no_session_uses_map_no_memory() -> None:
    with machine(2, "K20m"):
        session(device_count={"GPU": 1})

        assert memory(0).pool > 0
        assert 0 == memory(1).pool


def test_a_session_for_cpus_leaves_the_gpus_to_the_next_one() -> None:
    with machine(1, "K20m"):
        session(device_count={"GPU": 0})
        session(per_process_gpu_memory_fraction=0.5)

        assert 2560 * MIB == memory().limit


# Which GPUs


def test_the_visible_device_list_numbers_gpus() -> None:
    with machine(4, "K20m"):
        found = names(session(visible_device_list="3,1"))

        assert ["CPU:0", "GPU:0", "GPU:1"] == found
        assert [3, 1] == cards()


def test_the_visible_device_list_counts_what_cuda_shows() -> None:
    with machine(4, "K20m", CUDA_VISIBLE_DEVICES="2,3"):
        session(visible_device_list=" 1")

        assert [3] == cards()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,x", "Could not parse entry in 'visible_device_list': 'x'. visible_device_list = 0,x"),
        ("0,", "Could not parse entry in 'visible_device_list': ''. visible_device_list = 0,"),
        ("5", "'visible_device_list' listed an invalid Device id '5' but visible device count is 2"),
        ("-1", "'visible_device_list' listed an invalid Device id '-1' but visible device count is 2"),
        ("0,0", "visible_device_list contained a duplicate entry: 0,0"),
    ],
)
def test_a_visible_device_list_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with machine(2, "K20m"):
        with pytest.raises(errors.InvalidArgumentError) as caught:
            session(visible_device_list=text)

        assert message == caught.value.message


def test_without_gpus_nothing_is_said_of_the_visible_device_list() -> None:
    assert ["CPU:0"] == names(session(visible_device_list="7"))


def test_gpus_cannot_be_numbered_in_another_way_later() -> None:
    text = r"^TensorFlow device \(GPU:0\) is being mapped to multiple devices \(0 now, and 1 previously\), which is not"
    with machine(2, "K20m"):
        session(visible_device_list="1")

        with pytest.raises(errors.AlreadyExistsError, match=text):
            session(visible_device_list="0")


def test_gpus_may_be_added_behind_those_of_the_first_session() -> None:
    with machine(2, "K20m"):
        session(visible_device_list="1")
        found = names(session(visible_device_list="1,0"))

        assert ["CPU:0", "GPU:0", "GPU:1"] == found
        assert [1, 0] == cards()


def test_a_restart_lets_gpus_be_numbered_anew() -> None:
    with machine(2, "K20m"):
        session(visible_device_list="1")
        nbtf.runtime.restart()
        session(visible_device_list="0,1")

        assert [0, 1] == cards()


def test_gpus_that_a_session_hides_are_not_visible_in_tables() -> None:
    with machine(2, "K20m"):
        session(visible_device_list="1")

        visible = {one.name: one.visible for one in nbtf.runtime.physical_devices()}

        assert {"CPU:0": True, "GPU:0": False, "GPU:1": True} == visible


# How memory is taken


def test_by_default_nearly_all_memory_of_all_gpus_is_mapped() -> None:
    with machine(2, "K20m"):
        tf.Session()

        # Less the 500 MiB that TensorFlow leaves to the driver on cards of capability 6 and below.
        assert [4620 * MIB] * 2 == [memory(gpu).pool for gpu in (0, 1)]
        assert [SCRATCH] * 2 == [memory(gpu).in_use for gpu in (0, 1)]


@pytest.mark.parametrize("fraction", [0.4, 0.7])
def test_a_fraction_is_of_the_whole_memory_of_each_gpu(fraction: float) -> None:
    with machine(2, "K40c"):
        session(per_process_gpu_memory_fraction=fraction)

        assert [int(fraction * 12 * GIB)] * 2 == [memory(gpu).limit for gpu in (0, 1)]


def test_a_fraction_bounds_the_memory_of_a_process() -> None:
    with machine(1, "K40c", "100MiB"):
        fits, does_not = tf.fill([4 * MIB], 0.0), tf.fill([16 * MIB], 0.0)
        sess = session(per_process_gpu_memory_fraction=0.4)

        sess.run(fits.op)
        with pytest.raises(errors.ResourceExhaustedError, match="by allocator GPU_0_bfc"):
            sess.run(does_not.op)


def test_growing_memory_is_taken_in_regions_twice_as_large_each_time() -> None:
    with machine(1, "K40c"):
        variables = [tf.Variable(tf.zeros([MIB // 4])) for _ in range(20)]
        sess = session(allow_growth=True)
        pools = [memory().pool]
        for variable in variables:
            sess.run(variable.initializer)
            pools.append(memory().pool)
        sess.close()

        assert [2, 6, 14, 30] == [pool // MIB for pool in dict.fromkeys(pools)]
        assert 30 * MIB == memory().pool  # it is never given back


def test_options_of_a_session_without_gpus_are_not_looked_at() -> None:
    with machine(1, "K40c"):
        session(device_count={"GPU": 0}, per_process_gpu_memory_fraction=-1.0)
        nbtf.constant(1.0)

        assert 11788 * MIB == memory().pool


@pytest.mark.parametrize("limit", [-1.0, float("nan"), float("inf")])
def test_a_virtual_device_needs_a_size(limit: float) -> None:
    with machine(1), pytest.raises(errors.InvalidArgumentError, match=r"^memory_limit_mb of virtual_devices is"):
        session(parts=[[limit]])


def test_a_negative_fraction_is_refused() -> None:
    with machine(1), pytest.raises(ValueError, match=r"^per_process_gpu_memory_fraction is -0\.1"):
        session(per_process_gpu_memory_fraction=-0.1)


def test_what_a_session_could_not_have_does_not_hinder_the_next() -> None:
    with machine(1, "K40c"):
        with pytest.raises(errors.InternalError, match=r"^Unified memory on GPUs"):
            session(per_process_gpu_memory_fraction=2.0)
        session(per_process_gpu_memory_fraction=0.5)

        assert 6 * GIB == memory().limit


def test_unified_memory_is_more_than_the_card_has() -> None:
    with machine(1, "V100"):
        config = tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=2.0))
        config.gpu_options.experimental.use_unified_memory = True
        tf.Session(config=config)

        assert 32 * GIB == memory().pool


def test_the_options_of_the_first_session_hold() -> None:
    with machine(1, "K40c"):
        session(per_process_gpu_memory_fraction=0.4)
        session(per_process_gpu_memory_fraction=0.9, allow_growth=True)

        assert (int(0.4 * 12 * GIB), True) == (memory().limit, memory().pool > GIB)


def test_options_come_too_late_after_the_first_op() -> None:
    with machine(1, "K40c"):
        nbtf.constant(1.0)
        session(per_process_gpu_memory_fraction=0.4)

        assert 11788 * MIB == memory().limit


def test_what_a_session_leaves_open_is_as_tf_config_says() -> None:
    with machine(1, "K40c"):
        nbtf.config.experimental.set_memory_growth(nbtf.config.list_physical_devices("GPU")[0], True)
        tf.Session(config=tf.ConfigProto(allow_soft_placement=True))

        assert 2 * MIB == memory().pool


def test_the_environment_decides_over_growth() -> None:
    with machine(1, "K40c", TF_FORCE_GPU_ALLOW_GROWTH="true"):
        session(allow_growth=False)

        assert 2 * MIB == memory().pool


def test_another_allocator_is_refused() -> None:
    with machine(1), pytest.raises(errors.InternalError, match=r"^Invalid allocator type: best"):
        session(allocator_type="best")


# Logical GPUs


def test_virtual_devices_divide_gpus() -> None:
    with machine(2, "K20m"):
        found = names(session(parts=[[1024, 2048.9], []], visible_device_list="1,0"))

        assert ["CPU:0", "GPU:0", "GPU:1", "GPU:2"] == found
        assert [1, 1, 0] == cards()
        assert [1024 * MIB, 2048 * MIB, 4620 * MIB] == [memory(gpu).limit for gpu in range(3)]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"per_process_gpu_memory_fraction": 0.5, "parts": [[1024], [1024]]},
            errors.InvalidArgumentError,
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.",
        ),
        (
            {"device_count": {"GPU": 1}, "parts": [[1024], [1024]]},
            errors.UnknownError,
            "Not enough GPUs to create virtual devices. num_gpus_to_use: 1 #virtual_devices: 2",
        ),
        (
            {"visible_device_list": "1,0", "parts": [[1024]]},
            errors.InvalidArgumentError,
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            "list. #GPUs in visible_device_list: 2 virtual_devices.size(): 1",
        ),
        (
            {"parts": [[1024]]},
            errors.UnknownError,
            "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. "
            "#valid GPUs: 2 virtual_devices.size(): 1",
        ),
    ],
)
def test_virtual_devices_must_fit_the_gpus(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with machine(2, "K20m"):
        with pytest.raises(kind) as caught:
            session(**options)

        assert message == str(caught.value)


# Settings that are not given


def test_soft_placement_is_off_in_graphs_unless_the_process_has_it_on() -> None:
    assert not tf.Session()._config.allow_soft_placement

    nbtf.config.set_soft_device_placement(True)

    assert tf.Session()._config.allow_soft_placement


def test_a_session_without_settings_logs_what_tf_debugging_logs(capsys: pytest.CaptureFixture[str]) -> None:
    a = tf.constant(1.0, name="a")
    nbtf.debugging.set_log_device_placement(True)

    tf.Session().run(a)

    assert f"a: (Const): {LOCAL}CPU:0\n" == capsys.readouterr().out
