from __future__ import annotations

import re

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf import errors
from nbtf.compat.v1 import device_lib
from tests.machines import LOCAL, MIB, machine


def test_the_cpu_is_told_as_tensorflow_tells_it() -> None:
    (cpu,) = device_lib.list_local_devices()

    text = re.sub(r"incarnation: \d+", "incarnation: N", str(cpu))

    assert (
        'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\nlocality {\n}\n'
        "incarnation: N\nxla_global_id: -1\n"
    ) == text


def test_a_gpu_is_told_with_its_card_and_that_it_is_simulated() -> None:
    with machine(2, "Tesla K20m"):
        gpu = device_lib.list_local_devices()[2]

    expected = "device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0, compute capability: 3.5 (simulated)"

    assert ("/device:GPU:1", "GPU", 4620 * MIB) == (gpu.name, gpu.device_type, gpu.memory_limit)
    assert expected == gpu.physical_device_desc
    assert "locality {\n  bus_id: 1\n  links {\n  }\n}\n" in str(gpu)


def test_the_common_way_to_find_gpus_works() -> None:
    with machine(2):
        gpus = [device.name for device in device_lib.list_local_devices() if device.device_type == "GPU"]

    assert ["/device:GPU:0", "/device:GPU:1"] == gpus


def test_looking_starts_the_gpus_and_settings_come_too_late() -> None:
    with machine(1, "Tesla K20m"):
        device_lib.list_local_devices()
        tf.Session(config=tf.ConfigProto(gpu_options={"per_process_gpu_memory_fraction": 0.5}))

        assert 4620 * MIB == device_lib.list_local_devices()[1].memory_limit


def test_settings_of_a_session_may_be_given() -> None:
    with machine(2, "Tesla K20m"):
        config = tf.ConfigProto(device_count={"GPU": 1}, gpu_options={"per_process_gpu_memory_fraction": 0.5})

        assert [2560 * MIB] == [device.memory_limit for device in device_lib.list_local_devices(config)[1:]]


def test_a_device_keeps_its_number_and_messages_survive_bytes() -> None:
    first, again = device_lib.list_local_devices(), device_lib.list_local_devices()

    assert first == again
    assert first[0] == device_lib.DeviceAttributes.FromString(first[0].SerializeToString())


def test_a_session_lists_its_devices() -> None:
    with machine(1, "Tesla K20m"):
        cpu, gpu = tf.Session().list_devices()

    assert (f"{LOCAL}CPU:0", "CPU", 268435456) == cpu[:3]
    assert f"_DeviceAttributes({LOCAL}GPU:0, GPU, {4620 * MIB}, {gpu.incarnation})" == repr(gpu)
    assert -(1 << 63) <= gpu.incarnation < 1 << 63


def test_a_closed_session_lists_no_devices() -> None:
    session = tf.Session()
    session.close()

    with pytest.raises(errors.CancelledError, match=r"^Session has been closed\."):
        session.list_devices()


def test_a_session_lists_the_devices_there_are_after_a_restart() -> None:
    session = tf.Session()
    nbtf.runtime.restart()

    assert [f"{LOCAL}CPU:0"] == [device.name for device in session.list_devices()]


def test_old_questions_after_a_gpu_are_answered() -> None:
    assert ("", False) == (tf.test.gpu_device_name(), tf.test.is_gpu_available())
    with machine(1):
        assert ("/device:GPU:0", True) == (tf.test.gpu_device_name(), tf.test.is_gpu_available())
