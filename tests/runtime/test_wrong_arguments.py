"""Does what is asked of devices, clusters and settings by somebody's mistake say what came and what was expected?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf

NO_NAME = [3, 1.5, None, ["GPU:0"], b"GPU:0"]
NO_LIST = [3, 1.5, "GPU:0"]


@pytest.mark.parametrize("name", NO_NAME)
@pytest.mark.parametrize(
    "function", [tf.runtime.memory_map, tf.runtime.memory_pieces, tf.runtime.without_cuda, tf.runtime.cell_device]
)
def test_a_name_that_is_no_text_is_refused(function: Callable[[Any], object], name: object) -> None:
    with pytest.raises(TypeError, match=r'such as "GPU:\d"'):
        function(name)


@pytest.mark.parametrize("name", NO_NAME[:2])
@pytest.mark.parametrize("function", [tf.runtime.warmup, tf.runtime.set_default_device])
def test_a_default_device_that_is_no_text_is_refused(function: Callable[[Any], object], name: object) -> None:
    with pytest.raises(TypeError, match=r'such as "GPU:0". Got '):
        function(name)


@pytest.mark.parametrize("function", [tf.runtime.memory_map, tf.runtime.memory_pieces, tf.runtime.warmup])
def test_a_device_that_is_not_here_is_refused_with_those_that_are(function: Callable[[str], object]) -> None:
    tf.runtime.simulate_gpus(2)
    tf.add(1.0, 1.0)

    with pytest.raises(ValueError, match=r"found for 'GPU:2'. Available devices: GPU:0, GPU:1, CPU:0."):
        function("GPU:2")


def test_of_many_devices_the_first_ones_are_named_and_their_number_is_told() -> None:
    tf.runtime.simulate_gpus(40)
    tf.add(1.0, 1.0)

    with pytest.raises(ValueError, match=r"GPU:15 and 25 more\."):
        tf.runtime.memory_map("GPU:99")


@pytest.mark.parametrize("number", ["x", "1x", "", "1.5"])
@pytest.mark.parametrize("piece", ["task:{}", "replica:{}", "GPU:{}", "device:GPU:{}"])
def test_a_number_in_a_device_string_that_is_none_is_refused_with_the_string(piece: str, number: str) -> None:
    name = f"/job:worker/{piece.format(number)}"

    with pytest.raises(ValueError, match=r"invalid literal for int") as refusal:
        tf.DeviceSpec.from_string(name)
    assert [f"Expected a number in the device spec '{name}'."] == refusal.value.__notes__


@pytest.mark.parametrize("task", ["/job:worker/task:2", "/job:ps/task:0"])
def test_a_constant_on_a_task_that_is_not_here_is_refused_with_the_tasks_that_are(task: str) -> None:
    tf.runtime.simulate_cluster(2, 1)

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unknown device") as refusal, tf.device(task):
        tf.constant(1.0)
    assert ["Available tasks: /job:localhost/task:0, /job:worker/task:0 to task:1."] == refusal.value.__notes__


@pytest.mark.parametrize("nbytes", ["x", 1.5, None])
def test_bytes_of_an_all_reduce_that_are_no_integer_are_refused(nbytes: Any) -> None:
    tf.runtime.simulate_cluster(2, 2)

    with pytest.raises(TypeError, match=r"`nbytes` must be an integer. Got "):
        tf.runtime.all_reduce_times(nbytes)


def test_fewer_bytes_than_none_are_refused() -> None:
    tf.runtime.simulate_cluster(2, 2)

    with pytest.raises(ValueError, match=r"`nbytes` must be 0 or more. Got -1"):
        tf.runtime.all_reduce_times(-1)


@pytest.mark.parametrize("devices", [1.5, "GPU:0", [3]])
def test_cards_of_an_all_reduce_that_are_neither_a_number_nor_names_are_refused(devices: Any) -> None:
    tf.runtime.simulate_cluster(2, 2)

    with pytest.raises(TypeError, match=r"`devices` must be .* Got "):
        tf.runtime.all_reduce_times(1024, devices)


@pytest.mark.parametrize("ops", [3, None, np.array([1, 2]), [3], [[]]])
def test_groups_of_ops_to_warm_up_that_are_no_names_are_refused(ops: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"Got|expected 'core'"):
        tf.runtime.warmup("CPU:0", ops)


@pytest.mark.parametrize("frameworks", [3, [3], object()])
def test_libraries_to_simulate_for_that_are_no_names_are_refused(frameworks: Any) -> None:
    with pytest.raises(TypeError, match=r"`frameworks` must be .* Got "):
        tf.runtime.simulate_gpus(1, frameworks=frameworks)


@pytest.mark.parametrize("style", [[], {}, set()])
def test_a_log_style_that_has_no_hash_is_another_style(style: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown placement log style"):
        tf.runtime.placement_log_style(style)


@pytest.mark.parametrize("configurations", [*NO_LIST, ["GPU:0"], [None], [512]])
def test_logical_devices_that_are_no_configurations_are_refused(configurations: Any) -> None:
    tf.runtime.simulate_gpus(1)
    [card] = tf.config.list_physical_devices("GPU")

    with pytest.raises(TypeError, match=r"`logical_devices` must be a list of tf.config.LogicalDeviceConfiguration"):
        tf.config.set_logical_device_configuration(card, configurations)
    assert tf.config.get_logical_device_configuration(card) is None


@pytest.mark.parametrize("devices", NO_LIST)
def test_devices_of_a_strategy_that_are_no_list_are_refused(devices: Any) -> None:
    with pytest.raises(TypeError, match=r"`devices` must be a list of device names. Got "):
        tf.distribute.MirroredStrategy(devices)


@pytest.mark.parametrize("ops", [3, "nccl", tf.distribute.NcclAllReduce])
def test_cross_device_ops_of_another_class_are_refused(ops: Any) -> None:
    with pytest.raises(
        TypeError, match=r"`cross_device_ops` must be an object such as tf.distribute.NcclAllReduce\(\). Got "
    ):
        tf.distribute.MirroredStrategy(cross_device_ops=ops)


@pytest.mark.parametrize("cluster", [3, None, "localhost", [], object()])
def test_what_is_no_cluster_is_not_connected_to(cluster: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a cluster such as tf.distribute.LocalCluster"):
        tf.config.experimental_connect_to_cluster(cluster)


def test_an_address_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`remote_host` must be a string. Got 3"):
        tf.config.experimental_connect_to_host(3)  # pyright: ignore[reportArgumentType]


def test_an_error_about_arguments_names_the_class_that_the_user_has() -> None:
    """Python names the class in which a method was defined, which may be an internal base class."""
    names = [name for name in dir(tf.runtime) if name[0] != "_"]
    classes = [each for each in (getattr(tf.runtime, name) for name in names) if inspect.isclass(each)]
    methods = [
        (owner.__qualname__, name, method)
        for owner in classes
        for name, method in inspect.getmembers(owner, inspect.isfunction)
        if owner.__module__.startswith("nbtf") and not name.startswith("_")
    ]

    assert {("Recording", "expect_memory"), ("OpenedRecording", "expect")} <= {each[:2] for each in methods}
    assert [] == [each[:2] for each in methods if each[2].__qualname__ != f"{each[0]}.{each[1]}"]
    for owner in (tf.runtime.Recording, tf.runtime.OpenedRecording):
        with pytest.raises(TypeError, match=rf"^{owner.__name__}\.expect_memory\(\) got an unexpected keyword"):
            getattr(owner, "expect_memory")(object(), peak=1)  # noqa: B009  # a type checker would reject it
