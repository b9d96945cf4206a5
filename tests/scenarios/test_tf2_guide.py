"""Does the current GPU guide of TensorFlow 2 do here what it says? Scenarios S67 to S88, and S92."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf.errors import InvalidArgumentError, ResourceExhaustedError
from tests.machines import LOCAL, MIB, SCRATCH, machine

V100_MIB = 16384
PRODUCT = "tf.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)\n"


@pytest.fixture
def four_gpus() -> Iterator[None]:
    """The machine of the guide: four current cards of 16 GiB."""
    with machine(4):
        yield


@pytest.fixture
def one_gpu() -> Iterator[None]:
    with machine(1):
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


# Setup


def test_s67_cell_of_comments_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec("#@title A form cell\n# with comments and nothing else\n", {})

    assert ("", "") == capsys.readouterr()


@pytest.mark.parametrize(("count", "device"), [(0, "CPU:0"), (1, "GPU:0"), (4, "GPU:0")])
def test_s68_code_runs_unchanged_with_and_without_gpus(count: int, device: str) -> None:
    with machine(count):
        c = product()

        assert count == len(tf.config.list_physical_devices("GPU"))
    assert (f"{LOCAL}{device}", [[22.0, 28.0], [49.0, 64.0]]) == (c.device, c.numpy().tolist())


@pytest.mark.usefixtures("four_gpus")
def test_s69_gpus_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    print("Num GPUs Available: ", len(tf.config.list_physical_devices("GPU")))

    assert ("Num GPUs Available:  4\n", "") == capsys.readouterr()


# Overview


@pytest.mark.usefixtures("four_gpus")
@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("/device:CPU:0", "CPU:0"),
        ("/GPU:0", "GPU:0"),
        ("/job:localhost/replica:0/task:0/device:GPU:1", "GPU:1"),
        ("GPU:1", "GPU:1"),
        ("/gpu:1", "GPU:1"),
    ],
)
def test_s70_every_spelling_has_one_full_name(text: str, device: str) -> None:
    with tf.device(text):
        assert f"{LOCAL}{device}" == product().device


@pytest.mark.usefixtures("four_gpus")
def test_s71_gpu_has_priority_for_matmul() -> None:
    assert f"{LOCAL}GPU:0" == product().device


@pytest.mark.usefixtures("four_gpus")
def test_s72_op_without_gpu_kernel_falls_back_to_the_cpu() -> None:
    with tf.device("/GPU:0"), tf.runtime.recording():
        text = tf.strings.join(["a", "b"])
        number = tf.cast([1.5], tf.float64)

        assert "no GPU kernel for StringJoin" == tf.runtime.explain_placement(text).why
    assert [f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"] == [text.device, number.device]  # the guide's example, cast, has one


# Logging device placement


@pytest.mark.usefixtures("four_gpus")
def test_s73_log_shows_constants_and_the_product(capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)

    print(product())

    printed = capsys.readouterr()
    assert PRODUCT == printed.out
    assert [("_EagerConst", "GPU:0"), ("_EagerConst", "GPU:0"), ("MatMul", "GPU:0")] == lines(printed.err)


# Manual device placement


@pytest.mark.usefixtures("four_gpus")
def test_s74_constants_on_the_cpu_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)

    with tf.device("/CPU:0"):
        a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    c = tf.matmul(a, b)
    print(c)

    printed = capsys.readouterr()
    assert (PRODUCT, [("MatMul", "GPU:0")]) == (printed.out, lines(printed.err))
    assert [f"{LOCAL}CPU:0", f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"] == [a.device, b.device, c.device]


# Limiting GPU memory growth: each cell as it is in the guide, in a fresh runtime and after use


def show_one_visible_gpu() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        try:
            tf.config.set_visible_devices(gpus[0], "GPU")
            logical_gpus = tf.config.list_logical_devices("GPU")
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPU")
        except RuntimeError as e:
            print(e)


def let_memory_grow() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        try:
            for gpu in gpus:
                tf.config.experimental.set_memory_growth(gpu, True)
            logical_gpus = tf.config.list_logical_devices("GPU")
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
        except RuntimeError as e:
            print(e)


def limit_memory() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        try:
            tf.config.set_logical_device_configuration(
                gpus[0], [tf.config.LogicalDeviceConfiguration(memory_limit=1024)]
            )
            logical_gpus = tf.config.list_logical_devices("GPU")
            print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
        except RuntimeError as e:
            print(e)


def make_two_of_one() -> None:
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        try:
            tf.config.set_logical_device_configuration(
                gpus[0],
                [
                    tf.config.LogicalDeviceConfiguration(memory_limit=1024),
                    tf.config.LogicalDeviceConfiguration(memory_limit=1024),
                ],
            )
            logical_gpus = tf.config.list_logical_devices("GPU")
            print(len(gpus), "Physical GPU,", len(logical_gpus), "Logical GPUs")
        except RuntimeError as e:
            print(e)


CELLS = {
    "s76": (show_one_visible_gpu, 4, "4 Physical GPUs, 1 Logical GPU", "Visible devices"),
    "s78": (let_memory_grow, 4, "4 Physical GPUs, 4 Logical GPUs", "Physical devices"),
    "s81": (limit_memory, 4, "4 Physical GPUs, 4 Logical GPUs", "Virtual devices"),
    "s87": (make_two_of_one, 1, "1 Physical GPU, 2 Logical GPUs", "Virtual devices"),
}


@pytest.mark.parametrize("scenario", CELLS)
def test_s76_s78_s81_s87_configuration_works_in_a_fresh_runtime(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, count, printed, _ = CELLS[scenario]
    with machine(count):
        cell()

    assert (f"{printed}\n", "") == capsys.readouterr()


@pytest.mark.parametrize("scenario", CELLS)
def test_s76_s78_s81_s87_configuration_is_refused_after_use(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    cell, count, _, what = CELLS[scenario]
    with machine(count):
        product()
        cell()

    assert (f"{what} cannot be modified after being initialized\n", "") == capsys.readouterr()


@pytest.mark.parametrize("scenario", CELLS)
def test_s76_s78_s81_s87_configuration_is_skipped_without_gpus(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with machine(0):
        CELLS[scenario][0]()

    assert ("", "") == capsys.readouterr()


@pytest.mark.usefixtures("four_gpus")
def test_all_configuration_cells_run_in_one_notebook_with_restarts(capsys: pytest.CaptureFixture[str]) -> None:
    for cell, *_ in CELLS.values():
        cell()
        product()
        tf.runtime.restart()

    assert [
        "4 Physical GPUs, 1 Logical GPU",
        "4 Physical GPUs, 4 Logical GPUs",
        "4 Physical GPUs, 4 Logical GPUs",
        "4 Physical GPU, 5 Logical GPUs",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("four_gpus")
def test_s75_nearly_all_memory_of_all_visible_gpus_is_mapped() -> None:
    product()
    everything = gpus("pool")
    tf.runtime.restart()
    tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")[0], "GPU")
    product()

    assert [(V100_MIB - 1050) * MIB] * 4 == everything
    assert [(V100_MIB - 1050) * MIB] == gpus("pool")


@pytest.mark.usefixtures("one_gpu")
def test_s77_growth_starts_small_extends_and_never_releases() -> None:
    let_memory_grow()
    pools, kept = gpus("pool"), list[Any]()
    for _ in range(29):
        kept.append(tf.ones([256, 1024]))  # 1 MiB
        pools += [pool for pool in gpus("pool") if pool != pools[-1]]
    kept.clear()

    assert [2 * MIB, 6 * MIB, 14 * MIB, 30 * MIB] == pools
    assert ([30 * MIB], [SCRATCH]) == (gpus("pool"), gpus("in_use"))


@pytest.mark.usefixtures("four_gpus")
def test_s79_growth_must_be_the_same_on_all_gpus() -> None:
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], True)

    with pytest.raises(ValueError, match=r"^Memory growth cannot differ between GPU devices$"):
        product()


@pytest.mark.parametrize(("said", "pool_mib"), [("true", 2), ("false", V100_MIB - 1050), ("1", V100_MIB - 1050)])
def test_s80_environment_can_force_growth(said: str, pool_mib: int) -> None:
    with machine(2, TF_FORCE_GPU_ALLOW_GROWTH=said):
        product()

        assert [pool_mib * MIB] * 2 == gpus("pool")


@pytest.mark.usefixtures("four_gpus")
def test_s81_limit_is_that_of_the_first_gpu() -> None:
    limit_memory()

    assert [1024 * MIB, *[(V100_MIB - 1050) * MIB] * 3] == gpus("memory_limit")


@pytest.mark.usefixtures("four_gpus")
def test_s82_limit_fixes_the_total_amount() -> None:
    limit_memory()
    kept = tf.ones([4 * MIB])

    with pytest.raises(ResourceExhaustedError) as caught:
        tf.ones([252 * MIB])

    first, second, *_ = caught.value.message.splitlines()
    assert (
        f"{{{{function_node __wrapped__Fill_device_{LOCAL}GPU:0}}}} OOM when allocating tensor with shape[264241152] "
        f"and type float on {LOCAL}GPU:0 by allocator GPU_0_bfc [Op:Fill] name: "
    ) == first
    assert "simulated GPU:0 (Tesla V100-SXM2-16GB): 1008 MiB requested, 16 of 1024 MiB in use." in second
    assert "raise memory_limit in tf.config.set_logical_device_configuration" in second
    assert 4.0 * MIB == tf.reduce_sum(kept).numpy()


@pytest.mark.usefixtures("four_gpus")
def test_s83_what_is_left_of_the_card_is_for_others() -> None:
    limit_memory()
    gpu = tf.runtime.devices()[1]

    assert (V100_MIB * MIB, 1024 * MIB, 1024 * MIB) == (gpu.memory, gpu.memory_limit, gpu.pool)


# Using a single GPU on a multi-GPU system


def multiply_on_gpu_2() -> None:
    try:
        with tf.device("/device:GPU:2"):
            a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
            tf.matmul(a, b)
    except RuntimeError as e:
        print(e)


@pytest.mark.parametrize(("count", "device"), [(4, "GPU:2"), (2, "GPU:0")])
def test_s84_gpu_that_is_asked_for_is_used_or_replaced(
    count: int, device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with machine(count):
        tf.debugging.set_log_device_placement(True)
        multiply_on_gpu_2()

    printed = capsys.readouterr()
    assert ("", [("_EagerConst", device)] * 2 + [("MatMul", device)]) == (printed.out, lines(printed.err))


def test_s84_gpu_that_is_missing_is_caught_as_a_runtime_error(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(2):
        tf.config.set_soft_device_placement(False)
        multiply_on_gpu_2()

    printed = capsys.readouterr().out
    assert printed.startswith(f"Could not satisfy device specification '{LOCAL}GPU:2'. enable_soft_placement=0.")
    assert "/device:GPU:2" in printed


@pytest.mark.usefixtures("four_gpus")
def test_s84_error_is_the_one_that_current_code_catches_too() -> None:
    tf.config.set_soft_device_placement(False)

    with pytest.raises(InvalidArgumentError), tf.device("/device:GPU:7"):
        product()


@pytest.mark.usefixtures("four_gpus")
def test_s85_gpu_with_the_lowest_id_is_the_default() -> None:
    assert f"{LOCAL}GPU:0" == product().device


@pytest.mark.usefixtures("four_gpus")
@pytest.mark.parametrize("asked", [None, "/device:GPU:7"])
def test_s86_soft_placement_chooses_a_device(asked: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    tf.config.set_soft_device_placement(True)
    tf.debugging.set_log_device_placement(True)

    with tf.device(asked):
        print(product())

    printed = capsys.readouterr()
    assert PRODUCT == printed.out
    assert [("_EagerConst", "GPU:0"), ("_EagerConst", "GPU:0"), ("MatMul", "GPU:0")] == lines(printed.err)


# Using multiple GPUs


@pytest.mark.usefixtures("one_gpu")
def test_s88_two_gpus_are_simulated_on_one() -> None:
    make_two_of_one()
    towers: list[tf.Tensor] = []
    for gpu in tf.config.list_logical_devices("GPU"):
        with tf.device(gpu.name):
            towers.append(product())
            with pytest.raises(ResourceExhaustedError, match=f"by allocator GPU_{len(towers) - 1}_bfc"):
                tf.ones([300 * MIB])
    with tf.device("/CPU:0"):
        total = tf.add_n(towers)

    assert [f"{LOCAL}GPU:0", f"{LOCAL}GPU:1", f"{LOCAL}CPU:0"] == [one.device for one in (*towers, total)]
    assert [[44.0, 56.0], [98.0, 128.0]] == total.numpy().tolist()
    assert ([1024 * MIB] * 2, [0, 0]) == (gpus("memory_limit"), gpus("card"))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_s92_towers_are_placed_by_hand(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    with machine(count):
        tf.debugging.set_log_device_placement(True)
        gpus = tf.config.list_logical_devices("GPU")
        c: list[tf.Tensor] = []
        for gpu in gpus:
            with tf.device(gpu.name):
                a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
                b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
                c.append(tf.matmul(a, b))
        with tf.device("/CPU:0"):
            matmul_sum = tf.add_n(c)
        print(matmul_sum)

    printed = capsys.readouterr()
    of_one = ["_EagerConst", "_EagerConst", "MatMul"]
    add = [] if count == 1 else [("AddN", "CPU:0")]  # one tensor is its own sum
    assert [(op, f"GPU:{number}") for number in range(count) for op in of_one] + add == lines(printed.err)
    assert [[22.0 * count, 28.0 * count], [49.0 * count, 64.0 * count]] == matmul_sum.numpy().tolist()
    if count == 4:
        assert "tf.Tensor(\n[[ 88. 112.]\n [196. 256.]], shape=(2, 2), dtype=float32)\n" == printed.out
