"""Does the guide of TensorFlow 2.0 alpha do here what it says? Scenarios S33 to S47."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError, ResourceExhaustedError
from tests.machines import LOCAL, MIB, SCRATCH, machine

K20M_MIB = 5120
PRODUCT = "tf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)\n"


@pytest.fixture
def cpu_only() -> Iterator[None]:
    with machine(0):
        yield


@pytest.fixture
def one_gpu() -> Iterator[None]:
    with machine(1, "Tesla K40c"):
        yield


@pytest.fixture
def four_gpus() -> Iterator[None]:
    with machine(4, "Tesla K20m"):
        yield


def product() -> tf.Tensor:
    """The guide's matrices, multiplied."""
    a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return tf.matmul(a, b)


def lines(captured: str) -> list[tuple[str, str]]:
    """The placement log as pairs of op and device."""
    words = [line.split() for line in captured.splitlines() if line.startswith("Executing op ")]
    return [(op, device.removeprefix(LOCAL)) for _, _, op, _, _, device in words]


def gpus(field: str) -> list[Any]:
    return [getattr(device, field) for device in tf.runtime.devices() if device.device_type == "GPU"]


# Supported devices


@pytest.mark.usefixtures("four_gpus")
@pytest.mark.parametrize(
    ("text", "device"), [("/cpu:0", "CPU:0"), ("/device:GPU:0", "GPU:0"), ("/device:GPU:1", "GPU:1")]
)
def test_s33_devices_are_named_by_texts(text: str, device: str) -> None:
    with tf.device(text):
        assert f"{LOCAL}{device}" == tf.constant([1.0]).device


@pytest.mark.usefixtures("one_gpu")
def test_s34_gpu_has_priority_unless_another_device_is_asked_for() -> None:
    chosen = product().device
    with tf.device("/cpu:0"):
        asked = product().device

    assert (f"{LOCAL}GPU:0", f"{LOCAL}CPU:0") == (chosen, asked)


# Logging device placement


@pytest.mark.parametrize(("machine_fixture", "device"), [("cpu_only", "CPU:0"), ("one_gpu", "GPU:0")])
def test_s35_log_shows_where_the_product_is_made(
    machine_fixture: str, device: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(machine_fixture)
    tf.debugging.set_log_device_placement(True)

    print(product())

    printed = capsys.readouterr()
    assert PRODUCT == printed.out
    assert f"Executing op MatMul in device {LOCAL}{device}\n" in printed.err
    assert [("_EagerConst", device), ("_EagerConst", device), ("MatMul", device)] == lines(printed.err)


@pytest.mark.usefixtures("one_gpu")
def test_s36_log_that_is_turned_on_later_shows_later_ops(capsys: pytest.CaptureFixture[str]) -> None:
    first = product()
    tf.debugging.set_log_device_placement(True)
    tf.matmul(first, first)

    assert [("MatMul", "GPU:0")] == lines(capsys.readouterr().err)


# Manual device placement


@pytest.mark.parametrize(("machine_fixture", "device"), [("cpu_only", "CPU:0"), ("one_gpu", "GPU:0")])
def test_s37_constants_are_put_on_the_cpu_and_the_product_is_not(
    machine_fixture: str, device: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(machine_fixture)
    tf.debugging.set_log_device_placement(True)

    with tf.device("/cpu:0"):
        a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    c = tf.matmul(a, b)
    print(c)

    printed = capsys.readouterr()
    assert (PRODUCT, [("MatMul", device)]) == (printed.out, lines(printed.err))
    assert [f"{LOCAL}CPU:0", f"{LOCAL}CPU:0", f"{LOCAL}{device}"] == [a.device, b.device, c.device]


@pytest.mark.usefixtures("one_gpu")
def test_s38_tensors_are_copied_between_devices_as_needed() -> None:
    with tf.runtime.recording() as record:
        with tf.device("/cpu:0"):
            a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        tf.matmul(a, b)

    assert [("CPU:0", "GPU:0", 24), ("CPU:0", "GPU:0", 24)] == record.copies


# Allowing GPU memory growth


@pytest.mark.usefixtures("four_gpus")
def test_s39_nearly_all_memory_of_all_gpus_is_mapped() -> None:
    before = gpus("pool")
    product()

    assert [None] * 4 == before
    assert [(K20M_MIB - 500) * MIB] * 4 == gpus("pool") == gpus("memory_limit")


@pytest.mark.usefixtures("four_gpus")
@pytest.mark.parametrize("arguments", [(), (True,)])
def test_s40_growth_maps_little(arguments: tuple[Any, ...]) -> None:
    tf.config.gpu.set_per_process_memory_growth(*arguments)
    product()

    assert tf.config.gpu.get_per_process_memory_growth()
    assert [2 * MIB] * 4 == gpus("pool")


@pytest.mark.usefixtures("four_gpus")
def test_s41_growth_must_be_asked_for_first_and_is_never_undone() -> None:
    tf.config.gpu.set_per_process_memory_growth()
    kept = [tf.ones([256, 1024]) for _ in range(10)]
    grown = gpus("pool")
    kept.clear()

    assert [14 * MIB, 2 * MIB, 2 * MIB, 2 * MIB] == grown == gpus("pool")
    assert SCRATCH == gpus("in_use")[0]
    with pytest.raises(RuntimeError, match=r"^GPU options must be set at program startup$"):
        tf.config.gpu.set_per_process_memory_growth(False)


@pytest.mark.usefixtures("four_gpus")
@pytest.mark.parametrize(
    "setter",
    [lambda: tf.config.gpu.set_per_process_memory_fraction(0.4), lambda: tf.gpu.set_per_process_memory_fraction(0.4)],
)
def test_s42_fraction_is_of_each_gpu(setter: Callable[[], None]) -> None:
    setter()
    product()

    assert 0.4 == tf.config.gpu.get_per_process_memory_fraction()
    assert [int(0.4 * K20M_MIB * MIB)] * 4 == gpus("memory_limit")


@pytest.mark.usefixtures("four_gpus")
def test_s43_fraction_truly_bounds_the_memory() -> None:
    tf.config.gpu.set_per_process_memory_fraction(0.01)
    kept = product()

    with pytest.raises(ResourceExhaustedError, match="by allocator GPU_0_bfc"):
        tf.ones([52 * MIB // 4])
    assert [[22.0, 28.0], [49.0, 64.0]] == kept.numpy().tolist()


# Using a single GPU on a multi-GPU system


@pytest.mark.usefixtures("four_gpus")
def test_s44_gpu_with_the_lowest_id_is_the_default() -> None:
    assert f"{LOCAL}GPU:0" == product().device


@pytest.mark.usefixtures("four_gpus")
def test_s45_another_gpu_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)

    with tf.device("/device:GPU:2"):
        print(product())

    printed = capsys.readouterr()
    assert PRODUCT == printed.out
    assert [("_EagerConst", "GPU:2"), ("_EagerConst", "GPU:2"), ("MatMul", "GPU:2")] == lines(printed.err)


@pytest.mark.parametrize(
    ("machine_fixture", "types", "devices"),
    [("cpu_only", "CPU", ["CPU:0"]), ("one_gpu", "GPU, CPU", ["GPU:0", "CPU:0"])],
)
def test_s46_gpu_that_does_not_exist_is_a_runtime_error(
    machine_fixture: str, types: str, devices: list[str], request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(machine_fixture)
    tf.config.set_soft_device_placement(False)

    with pytest.raises(RuntimeError) as caught, tf.device("/device:GPU:2"):
        product()

    there = ", ".join(f"{LOCAL}{device}" for device in devices)
    assert isinstance(caught.value, InvalidArgumentError)
    assert (
        f"Could not satisfy device specification '{LOCAL}GPU:2'. enable_soft_placement=0. Supported device types "
        f"[{types}]. All available devices [{there}]."
    ) == str(caught.value)


@pytest.mark.parametrize(("machine_fixture", "device"), [("cpu_only", "CPU:0"), ("one_gpu", "GPU:0")])
def test_s47_soft_placement_takes_a_device_that_exists(
    machine_fixture: str, device: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(machine_fixture)
    tf.config.set_soft_device_placement(True)

    with tf.device("/device:GPU:2"):
        c = product()

    assert (f"{LOCAL}{device}", [[22.0, 28.0], [49.0, 64.0]]) == (c.device, c.numpy().tolist())
