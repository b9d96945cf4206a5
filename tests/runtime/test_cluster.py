"""Names, places, copies and memory of a simulated cluster."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._devices.names import DeviceSpec
from nbtf._runtime.context import CURRENT
from tests.machines import LOCAL, MIB, SCRATCH, cluster, machine, worker

HOSTS, GPUS = 3, 2


# Names


def test_devices_are_listed_by_the_names_of_their_tasks() -> None:
    with cluster(2, 1):
        listed = [device.name for device in tf.config.list_logical_devices()]

    assert ["/device:CPU:0", *(worker(task, device) for task in (0, 1) for device in ("CPU:0", "GPU:0"))] == listed


def test_this_computer_has_its_cpu_alone() -> None:
    with cluster(2, 1):
        assert ["/physical_device:CPU:0"] == [device.name for device in tf.config.list_physical_devices()]
        assert LOCAL + "CPU:0" == tf.constant(1.0).device


def test_a_plan_of_the_devices_has_the_names_that_they_get() -> None:
    with cluster(11, 2):
        planned = [device.name for device in tf.runtime.devices()]
        tf.config.list_logical_devices()

        assert planned == [device.name for device in tf.runtime.devices()]
        assert ["CPU:0", "/job:worker/task:0/CPU:0", "/job:worker/task:0/GPU:0"] == planned[:3]
        assert "/job:worker/task:10/GPU:1" == planned[-1]


pieces = st.fixed_dictionaries(
    {},
    optional={
        "job": st.sampled_from(["worker", "localhost", "ps"]),
        "replica": st.sampled_from([0, 1]),
        "task": st.integers(0, HOSTS),
        "device_type": st.sampled_from(["CPU", "GPU"]),
        "device_index": st.integers(0, GPUS),
    },
)


def tensorflows_choice(*specs: DeviceSpec) -> str | None:
    """The device of an op inside blocks, by TensorFlow's rules; None where it refuses.

    Blocks are merged field by field, from CPU:0 of this process on (`_EagerDeviceContext.__enter__`, context.py). What
    is not there is looked for once more without type and index, GPUs first (`EagerContext::SelectDevice`, context.cc).
    """
    spec = DeviceSpec.from_string(LOCAL + "CPU:0")
    for inner in specs:
        spec = spec.make_merged_spec(inner)
    tasks = {LOCAL.removesuffix("/device:"): ["CPU:0"]}
    tasks |= {worker(task, "")[:-8]: ["GPU:0", "GPU:1", "CPU:0"] for task in range(HOSTS)}
    task = f"/job:{spec.job}/replica:{spec.replica}/task:{spec.task}"
    asked = f"{spec.device_type}:{spec.device_index}"
    if task not in tasks:
        return None
    return f"{task}/device:{asked if asked in tasks[task] else tasks[task][0]}"


@given(st.lists(pieces, min_size=1, max_size=3))
def test_partial_names_mean_what_they_mean_in_tensorflow(blocks: list[dict[str, Any]]) -> None:
    specs = [DeviceSpec(**block) for block in blocks]
    texts = [spec.to_string() for spec in specs]
    read = [DeviceSpec.from_string(text) for text in texts]  # an index without a type is not written

    with cluster(HOSTS, GPUS):
        one = tf.constant(1.0)
        opened = [tf.device(text) for text in texts]
        try:
            for block in opened:
                block.__enter__()
            try:
                device: str | None = tf.add(one, one).device
            except tf.errors.InvalidArgumentError:
                device = None
        finally:
            for block in reversed(opened):
                block.__exit__(None, None, None)

    assert tensorflows_choice(*read) == device


def test_a_task_that_is_not_there_is_refused_in_tensorflows_words() -> None:
    with cluster(2, 1):
        one = tf.constant(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught, tf.device("/job:worker/task:7/GPU:0"):
            tf.add(one, one)

    assert (
        f"Could not satisfy device specification '{worker(7, 'GPU:0')}'. enable_soft_placement=1. "
        "Supported device types [CPU, GPU]. All available devices "
        f"[{LOCAL}CPU:0, {worker(0, 'GPU:0')}, {worker(1, 'GPU:0')}, {worker(0, 'CPU:0')}, {worker(1, 'CPU:0')}]. "
        "[Op:AddV2] name: "
    ) == caught.value.message


def test_an_error_of_a_large_cluster_lists_some_devices_and_their_number() -> None:
    with cluster(128, 8):
        one = tf.constant(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="and 1089 more of 1153"), tf.device("/task:99"):
            tf.add(one, one)


def test_a_constant_for_a_task_that_is_not_there_is_refused() -> None:
    with (
        cluster(2, 1),
        pytest.raises(tf.errors.InvalidArgumentError, match="task:7/device:CPU:0 unknown device"),
        tf.device("/job:worker/task:7"),
    ):
        tf.constant(1.0)


def test_the_log_names_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    with cluster(2, 1):
        tf.debugging.set_log_device_placement(True)
        with tf.device("/job:worker/task:1/GPU:0"):
            tf.zeros([2])

    assert f"Fill in device {worker(1, 'GPU:0')}" in "".join(capsys.readouterr())


def test_reasons_name_the_task() -> None:
    with cluster(2, 1), tf.runtime.recording(), tf.device("/job:worker/task:1/GPU:5"):
        x = tf.zeros([2])
        explained = tf.runtime.explain_placement(x)

    assert ("soft placement", "/job:worker/task:1/GPU:5") == explained.reason
    assert "/job:worker/task:1/GPU:0" == explained.path[-1].answer


# Copies


@pytest.mark.parametrize(
    ("source", "target", "seconds"),
    [
        ("/job:worker/task:0/GPU:0", "/job:worker/task:1/GPU:0", 14e-6 + 4e6 / 12.5e9),
        ("/job:worker/task:0/GPU:0", "/job:worker/task:0/GPU:1", 3.4e-6 + 4e6 / 450e9),
        ("/job:worker/task:0/CPU:0", "/job:worker/task:0/GPU:1", 5.7e-6 + 4e6 / 63e9),
        ("/job:worker/task:0/CPU:0", "/job:worker/task:1/CPU:0", 14e-6 + 4e6 / 12.5e9),
        ("CPU:0", "/job:worker/task:1/GPU:0", 14e-6 + 4e6 / 12.5e9),
    ],
)
def test_a_copy_takes_the_modelled_time_of_its_link(source: str, target: str, seconds: float) -> None:
    with cluster(2, 2):
        with tf.device(source):
            x = tf.zeros([1_000_000])
        with tf.runtime.recording() as record, tf.device(target):
            tf.identity(x)

    [copy] = [event for event in record.events if isinstance(event, tf.runtime.Copied)]
    assert (pytest.approx(seconds), True, 4_000_000) == (copy.seconds, copy.modelled, copy.nbytes)
    assert [(source, target, 4_000_000)] == record.copies


def test_values_survive_a_way_through_all_hosts() -> None:
    with cluster(3, 1):
        x = tf.range(5.0)
        for task in (0, 1, 2):
            with tf.device(f"/job:worker/task:{task}/GPU:0"):
                x = tf.identity(x)

        assert (worker(2, "GPU:0"), [0.0, 1.0, 2.0, 3.0, 4.0]) == (x.device, x.numpy().tolist())


# Memory


def test_every_card_has_memory_of_its_own() -> None:
    with cluster(2, 2, memory="1GiB"):
        with tf.device("/job:worker/task:1/GPU:1"):
            x = tf.zeros([MIB])
        in_use = {device.name: device.in_use for device in tf.runtime.devices() if device.device_type == "GPU"}

        assert x.shape == [MIB]
        assert {
            "/job:worker/task:0/GPU:0": SCRATCH,
            "/job:worker/task:0/GPU:1": SCRATCH,
            "/job:worker/task:1/GPU:0": SCRATCH,
            "/job:worker/task:1/GPU:1": SCRATCH + 4 * MIB,
        } == in_use


def test_a_card_that_is_full_says_whose_it_is() -> None:
    with (
        cluster(2, 1, memory="64MiB"),
        tf.device("/job:worker/task:1/GPU:0"),
        pytest.raises(tf.errors.ResourceExhaustedError) as caught,
    ):
        tf.zeros([64 * MIB])

    assert f"on {worker(1, 'GPU:0')} by allocator GPU_0_bfc" in caught.value.message
    assert "simulated /job:worker/task:1/GPU:0" in caught.value.message


def test_a_thousand_devices_have_a_thousand_names() -> None:
    with cluster(128, 8):
        listed = [device.name for device in tf.config.list_logical_devices("GPU")]

    assert [worker(task, f"GPU:{number}") for task in range(128) for number in range(8)] == listed


# Begin and end


def test_a_call_says_what_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(0):
        said = tf.runtime.simulate_cluster(16, 8, "H100", "100Gb/s")

    assert f"{said}\n" == capsys.readouterr().out
    assert said.startswith("16 simulated hosts, 128 simulated GPUs (NVIDIA H100 80GB HBM3, 79.6 GiB each)")


def test_the_same_call_may_be_repeated_after_first_use() -> None:
    with machine(0):
        first = tf.runtime.simulate_cluster(2, 1)
        tf.constant(1.0)

        assert first == tf.runtime.simulate_cluster(2, 1)


def test_another_cluster_after_first_use_is_refused() -> None:
    with machine(0):
        tf.runtime.simulate_cluster(2, 1)
        tf.constant(1.0)
        with pytest.raises(RuntimeError, match=r"restart\(\) first, or simulate_cluster before the first op"):
            tf.runtime.simulate_cluster(3, 1)


def test_a_restart_keeps_the_cluster_and_simulate_gpus_removes_it() -> None:
    with machine(0):
        before = CURRENT.context
        try:
            tf.runtime.simulate_cluster(2, 1)
            tf.runtime.restart()
            assert 2 == len(tf.config.list_logical_devices("GPU"))
            tf.runtime.restart()
            tf.runtime.simulate_gpus(0)
            assert ["/device:CPU:0"] == [device.name for device in tf.config.list_logical_devices()]
        finally:
            CURRENT.context = before


def test_the_environment_asks_for_a_cluster() -> None:
    program = "import nbtf as tf; print(tf.config.list_logical_devices('GPU')[-1].name)"
    environ = {**os.environ, "NBTF_SIMULATED_GPUS": "2x4xK20m,10GbE"}
    ran = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)

    assert worker(1, "GPU:3") + "\n" == ran.stdout
    assert ran.stderr.startswith("nbtf: 2 simulated hosts, 8 simulated GPUs (Tesla K20m, 5 GiB each), 10GbE between")


# This process has no GPU of its own


def test_what_asks_for_gpus_of_this_process_is_told_of_none() -> None:
    with cluster(2, 2):
        assert (False, "") == (tf.test.is_gpu_available(), tf.test.gpu_device_name())


def test_a_session_has_the_devices_of_this_process() -> None:
    with cluster(2, 2), tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert [LOCAL + "CPU:0"] == [device.name for device in session.list_devices()]


def test_a_session_after_which_devices_are_listed_has_hidden_no_host() -> None:
    with cluster(2, 2):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            session.list_devices()

        assert 4 == len(tf.config.list_logical_devices("GPU"))
        with tf.device("/job:worker/task:1/GPU:1"):
            assert worker(1, "GPU:1") == tf.zeros([2]).device


# A page without a server


IN_A_PAGE = """
import sys, threading
import numpy as np

def refuse(thread):
    raise RuntimeError("can't start new thread")  # as Pyodide says it

before = set(sys.modules)
threading.Thread.start = refuse
import nbtf as tf

tf.runtime.simulate_cluster(hosts=2, gpus=2, model="H100")
times = tf.runtime.all_reduce_times(1_000_000)
with tf.device("/job:worker/task:1/GPU:0"):
    x = tf.ones([4])
with tf.runtime.recording() as record:
    tf.identity(x)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit(np.ones((8, 4), np.float32), np.ones((8, 1), np.float32), batch_size=8, verbose=0)
modules = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sum(op == "CollectiveReduceV2" for op, _ in record.ops), times.chosen, *sorted(modules))
"""
"""Trains on hosts of a simulated cluster where no thread can start, and names what was imported."""


def test_a_cluster_is_simulated_without_a_thread_a_socket_or_a_process() -> None:
    ran = subprocess.run([sys.executable, "-c", IN_A_PAGE], capture_output=True, text=True, check=True)
    summed, chosen, *modules = ran.stdout.splitlines()[-1].split()

    assert (4, "tree") == (int(summed), chosen)  # once on each card: all gradients are one pack
    assert {"nbtf"} == {name for name in modules if name not in sys.stdlib_module_names} - {
        "numpy",
        "cython_runtime",  # of NumPy's random numbers
        *[name for name in modules if name.startswith("_cython_")],
    }
    assert [] == [name for name in modules if name in FORBIDDEN]


FORBIDDEN = (
    "socket",
    "_socket",
    "ssl",
    "select",
    "asyncio",
    "multiprocessing",
    "subprocess",
    "concurrent",
    "distributed",
)
