"""Do the guide of 2017 and its Chinese edition do here what they say? Scenarios S01 to S32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf.compat.v1 as tf
from nbtf.runtime import DeviceInfo
from tests.machines import LOCAL, MIB, SCRATCH, machine

K40C_MIB, K20M_MIB = 12288, 5120
OLD = "/job:localhost/replica:0/task:0/"
BUSES = ("02", "03", "83", "84")
PRODUCT = ["[[22. 28.]", " [49. 64.]]"]
SUM = ["[[ 44.  56.]", " [ 98. 128.]]"]
MAPPING_THEN = ["Device mapping:", f"{OLD}gpu:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0"]
MAPPING_LATER = [
    "Device mapping:",
    f"{LOCAL}GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5",
]


@pytest.fixture
def cpu_only() -> Iterator[None]:
    with machine(0):
        yield


@pytest.fixture
def k40c() -> Iterator[None]:
    """The computer of the first half of the guides."""
    with machine(1, "Tesla K40c"):
        yield


@pytest.fixture
def k20m() -> Iterator[None]:
    """The computer of the second half, with four cards."""
    with machine(4, "Tesla K20m"):
        yield


def matrices() -> tuple[Any, Any]:
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    return a, b


def product(device: str | None = None) -> Any:
    """The guides' product, all of it under a device."""
    with tf.device(device):
        return tf.matmul(*matrices())


def towers(names: list[str]) -> Any:
    """The guides' example for several GPUs."""
    c = []
    for d in names:
        with tf.device(d):
            a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
            b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
            c.append(tf.matmul(a, b))
    with tf.device("/cpu:0"):
        return tf.add_n(c)


def logged(fetch: Any, style: str, capsys: pytest.CaptureFixture[str], **options: bool) -> list[str]:
    """What the guides' session prints: the mapping, the nodes, the result."""
    tf.runtime.placement_log_style(style)
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True, **options))
    print(sess.run(fetch))
    return capsys.readouterr().out.splitlines()


def ran(fetch: Any, **options: bool) -> list[tuple[str, str]]:
    """The ops that a session runs for a fetch, and where."""
    with tf.runtime.recording() as record:
        tf.Session(config=tf.ConfigProto(**options)).run(fetch)
    return record.ops


def all_on(device: str) -> list[tuple[str, str]]:
    return [("Const", device), ("Const", device), ("MatMul", device)]


def copies(fetch: Any) -> list[tuple[str, str, int]]:
    with tf.runtime.recording() as record:
        tf.Session().run(fetch)
    return record.copies


def gpus() -> list[DeviceInfo]:
    return [device for device in tf.runtime.devices() if device.device_type == "GPU"]


def pool() -> int:
    [gpu] = gpus()
    assert gpu.pool is not None
    return gpu.pool // MIB


def in_use() -> int:
    [gpu] = gpus()
    assert gpu.in_use is not None
    return gpu.in_use


def missing(spelling: str) -> str:
    """Runs the product on a GPU that is not there; returns what `run` says to it."""
    c = product(spelling)
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(c)
    return caught.value.message


MISSING = (
    "Cannot assign a device for operation MatMul: {{node MatMul}} was explicitly assigned to /device:GPU:2 but "
    f"available devices are [ {LOCAL}CPU:0, {LOCAL}GPU:0 ]. "
    "Make sure the device specification refers to a valid device.\n"
    "\t [[MatMul]]"
)

# Supported devices


@pytest.mark.usefixtures("k40c")
def test_s01_old_spellings_are_devices() -> None:
    asked = [product(name).op.device for name in ("/cpu:0", "/gpu:0", "/gpu:1")]

    assert ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"] == asked


@pytest.mark.usefixtures("k40c")
def test_s17_new_spellings_are_the_same_devices() -> None:
    asked = [product(name).op.device for name in ("/cpu:0", "/device:GPU:0", "/device:GPU:1")]

    assert ["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"] == asked


@pytest.mark.usefixtures("k40c")
def test_s02_gpu_has_priority_for_matmul(capsys: pytest.CaptureFixture[str]) -> None:
    assert f"MatMul: {OLD}gpu:0" in logged(product(), "0.12", capsys)


@pytest.mark.usefixtures("k40c")
def test_s18_gpu_has_priority_for_matmul_in_later_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert f"MatMul: (MatMul): {LOCAL}GPU:0" in logged(product(), "1.4", capsys)


# Logging device placement


@pytest.mark.usefixtures("k40c")
def test_s03_log_is_that_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"b: {OLD}gpu:0", f"a: {OLD}gpu:0", f"MatMul: {OLD}gpu:0"]

    assert [*MAPPING_THEN, *nodes, *PRODUCT] == logged(product(), "0.12", capsys)


@pytest.mark.usefixtures("k40c")
def test_s19_log_of_the_chinese_edition_is_in_one_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"MatMul: (MatMul): {LOCAL}GPU:0", f"b: (Const): {LOCAL}GPU:0", f"a: (Const): {LOCAL}GPU:0"]

    assert [*MAPPING_LATER, *nodes, *PRODUCT] == logged(product(), "1.4", capsys)


# Manual device placement


def half_by_hand() -> tuple[Any, Any, Any]:
    with tf.device("/cpu:0"):
        a, b = matrices()
    return a, b, tf.matmul(a, b)


@pytest.mark.usefixtures("k40c")
def test_s04_what_stands_outside_the_block_is_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = half_by_hand()
    nodes = [f"b: {OLD}cpu:0", f"a: {OLD}cpu:0", f"MatMul: {OLD}gpu:0"]

    assert ["/device:CPU:0", "/device:CPU:0", ""] == [node.op.device for node in (a, b, c)]
    assert [*MAPPING_THEN, *nodes, *PRODUCT] == logged(c, "0.12", capsys)


@pytest.mark.usefixtures("k40c")
def test_s20_manual_placement_is_logged_in_one_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"MatMul: (MatMul): {LOCAL}GPU:0", f"b: (Const): {LOCAL}CPU:0", f"a: (Const): {LOCAL}CPU:0"]

    assert [*MAPPING_LATER, *nodes, *PRODUCT] == logged(half_by_hand()[2], "1.4", capsys)


@pytest.mark.usefixtures("k40c")
def test_s05_inputs_are_copied_to_the_gpu() -> None:
    assert [("CPU:0", "GPU:0", 24)] * 2 == copies(half_by_hand()[2])[:2]


@pytest.mark.usefixtures("k40c")
def test_s21_the_result_is_copied_back() -> None:
    assert ("GPU:0", "CPU:0", 16) == copies(half_by_hand()[2])[-1]


# Allowing GPU memory growth


def test_s06_nearly_all_memory_of_all_visible_gpus_is_mapped() -> None:
    left = "615"  # TensorFlow 1 left 5 percent, 614.4 MiB here
    with machine(1, "Tesla K40c", TF_DEVICE_MIN_SYS_MEMORY_IN_MB=left):
        tf.Session().run(product())
        assert 11673 == pool()
    with machine(1, "Tesla K40c"):
        tf.Session().run(product())
        assert K40C_MIB - 500 == pool()
    with machine(4, "Tesla K20m", CUDA_VISIBLE_DEVICES="0,2"):
        tf.Session().run(product())
        assert [(0, (K20M_MIB - 500) * MIB), (2, (K20M_MIB - 500) * MIB)] == [(gpu.card, gpu.pool) for gpu in gpus()]


def grow() -> tuple[Any, list[int]]:
    """Fills a session that may grow with variables of 1, 3, 7 and 15 MiB; returns it and its pools."""
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    session = tf.Session(config=config)
    pools: list[int] = []
    for mib in (1, 3, 7, 15):
        session.run(tf.Variable(tf.zeros([mib, MIB // 4])).initializer)
        pools.append(pool())
    return session, pools


@pytest.mark.usefixtures("k40c")
def test_s07_growth_starts_small_and_extends() -> None:
    assert [2, 6, 14, 30] == grow()[1]


@pytest.mark.usefixtures("k40c")
def test_s23_growth_may_be_set_in_the_constructor() -> None:
    tf.Session(config=tf.ConfigProto(gpu_options={"allow_growth": True})).run(product())

    assert 2 == pool()


@pytest.mark.usefixtures("k40c")
def test_s08_memory_is_not_released() -> None:
    session, _ = grow()
    used = in_use()
    session.close()

    assert (30, SCRATCH) == (pool(), in_use())
    assert used > 26 * MIB


@pytest.mark.usefixtures("k40c")
def test_s24_memory_that_was_freed_is_used_again() -> None:
    grow()[0].close()
    tf.reset_default_graph()

    assert [30] * 4 == grow()[1]


def test_s22_default_avoids_the_fragmentation_of_growth() -> None:
    regions: list[int] = []
    for growth in (False, True):
        with machine(1, "Tesla K40c"):
            tf.reset_default_graph()
            session = tf.Session(config=tf.ConfigProto(gpu_options={"allow_growth": growth}))
            for mib in (1, 3, 7):
                session.run(tf.Variable(tf.zeros([mib, MIB // 4])).initializer)
            regions.append(len(tf.runtime.memory_map("GPU:0")))

    assert [1, 3] == regions


def limited(fraction: float) -> Any:
    config = tf.ConfigProto()
    config.gpu_options.per_process_gpu_memory_fraction = fraction
    return tf.Session(config=config)


@pytest.mark.usefixtures("k40c")
def test_s09_fraction_is_of_the_whole_card() -> None:
    limited(0.4)

    assert [int(0.4 * K40C_MIB * MIB)] == [gpu.memory_limit for gpu in gpus()]


@pytest.mark.usefixtures("k20m")
def test_s25_fraction_is_of_each_card() -> None:
    limited(0.4)

    assert [int(0.4 * K20M_MIB * MIB)] * 4 == [gpu.memory_limit for gpu in gpus()]


@pytest.mark.usefixtures("k40c")
def test_s10_fraction_truly_bounds_the_memory() -> None:
    large = tf.zeros([5000, MIB // 4], name="large")

    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        limited(0.4).run(large)

    assert (
        f"OOM when allocating tensor with shape[5000,262144] and type float on {LOCAL}GPU:0 by allocator GPU_0_bfc"
    ) == caught.value.message.splitlines()[0]


@pytest.mark.usefixtures("k40c")
def test_s26_fraction_bounds_all_sessions_of_the_process() -> None:
    first = limited(0.4)
    second = limited(0.9)

    assert int(0.4 * K40C_MIB * MIB) == second.list_devices()[-1].memory_limit_bytes
    for session in (first, second):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="by allocator GPU_0_bfc"):
            session.run(tf.zeros([5000, MIB // 4]))


# Using a single GPU on a multi-GPU system


@pytest.mark.usefixtures("k20m")
def test_s11_gpu_with_the_lowest_id_is_the_default() -> None:
    assert all_on("GPU:0") == ran(product())


@pytest.mark.usefixtures("k20m")
def test_s27_gpu_with_the_lowest_id_is_told_as_the_reason() -> None:
    c = product()
    ran(c)

    assert "lowest-numbered GPU" == tf.runtime.explain_placement(c).why


@pytest.mark.usefixtures("k20m")
def test_s12_another_gpu_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"b: {OLD}gpu:2", f"a: {OLD}gpu:2", f"MatMul: {OLD}gpu:2"]

    assert [*nodes, *PRODUCT] == logged(product("/gpu:2"), "0.12", capsys)[5:]


@pytest.mark.usefixtures("k20m")
def test_s28_another_gpu_can_be_asked_for_in_the_new_spelling() -> None:
    assert all_on("GPU:2") == ran(product("/device:GPU:2"))


@pytest.mark.usefixtures("k40c")
def test_s13_missing_device_is_an_error_of_run() -> None:
    assert MISSING == missing("/gpu:2")


@pytest.mark.usefixtures("k40c")
def test_s29_missing_device_is_the_same_error_in_the_new_spelling() -> None:
    assert MISSING == missing("/device:GPU:2")


@pytest.mark.usefixtures("k40c")
def test_s14_soft_placement_takes_the_gpu_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"b: {OLD}gpu:0", f"a: {OLD}gpu:0", f"MatMul: {OLD}gpu:0"]

    printed = logged(product("/gpu:2"), "0.12", capsys, allow_soft_placement=True)

    assert [*MAPPING_THEN, *nodes, *PRODUCT] == printed


@pytest.mark.usefixtures("cpu_only")
def test_s30_soft_placement_takes_the_cpu_where_no_gpu_is() -> None:
    assert all_on("CPU:0") == ran(product("/device:GPU:2"), allow_soft_placement=True)


# Using multiple GPUs


def mapping(described: str, gpu: str) -> list[str]:
    cards = [
        f"{described}{gpu}:{i} -> device: {i}, name: Tesla K20m, pci bus id: 0000:{BUSES[i]}:00.0" for i in range(4)
    ]
    return ["Device mapping:", *cards]


@pytest.mark.usefixtures("k20m")
def test_s15_log_of_the_towers_is_that_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [f"{name}: {OLD}gpu:3" for name in ("Const_3", "Const_2", "MatMul_1")]
    nodes += [f"{name}: {OLD}gpu:2" for name in ("Const_1", "Const", "MatMul")]

    printed = logged(towers(["/gpu:2", "/gpu:3"]), "0.12", capsys)

    assert [*mapping(OLD, "gpu"), *nodes, f"AddN: {OLD}cpu:0", *SUM] == printed


@pytest.mark.usefixtures("k20m")
def test_s32_log_of_the_towers_in_todays_words(capsys: pytest.CaptureFixture[str]) -> None:
    cards = [f"{line}, compute capability: 3.5 (simulated)" for line in mapping(LOCAL, "GPU")[1:]]
    nodes = [f"MatMul: (MatMul): {LOCAL}GPU:2", f"MatMul_1: (MatMul): {LOCAL}GPU:3", f"AddN: (AddN): {LOCAL}CPU:0"]
    nodes += [f"{name}: (Const): {LOCAL}GPU:2" for name in ("Const", "Const_1")]
    nodes += [f"{name}: (Const): {LOCAL}GPU:3" for name in ("Const_2", "Const_3")]

    printed = logged(towers(["/device:GPU:2", "/device:GPU:3"]), "2.21", capsys)

    assert ["Device mapping:", *cards, *nodes, *SUM] == printed


def trained(names: list[str]) -> tuple[float, set[tuple[str, str]]]:
    """Trains `y = w x` on towers whose gradients the CPU averages; returns w, and where what ran."""
    data = [([1.0, 2.0], [2.0, 4.0]), ([3.0, 4.0], [6.0, 8.0])]
    gradients: list[Any] = []
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", shape=[], initializer=tf.zeros_initializer())
    for d, (x, y) in zip(names, data, strict=True):
        with tf.device(d):
            loss = tf.reduce_mean(tf.square(w * tf.constant(x) - tf.constant(y)))
            gradients += tf.gradients(loss, [w])
    with tf.device("/cpu:0"):
        step = tf.train.GradientDescentOptimizer(0.05).apply_gradients([(tf.add_n(gradients) / 2, w)])
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    with tf.runtime.recording() as record:
        for _ in range(20):
            sess.run(step)
    return float(sess.run(w)), set(record.ops)


@pytest.mark.usefixtures("k20m")
def test_s16_towers_average_their_gradients_on_the_cpu() -> None:
    w, where = trained(["/gpu:2", "/gpu:3"])

    assert {("Mul", "GPU:2"), ("Mul", "GPU:3"), ("AddN", "CPU:0"), ("ApplyGradientDescent", "CPU:0")} <= where
    assert np.isclose(2.0, w)


@pytest.mark.usefixtures("k20m")
def test_s31_towers_in_the_new_spelling_learn_the_same() -> None:
    old, _ = trained(["/gpu:2", "/gpu:3"])
    tf.reset_default_graph()

    assert old == trained(["/device:GPU:2", "/device:GPU:3"])[0]
