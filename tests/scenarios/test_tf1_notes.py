"""Do the notes of 2018, on choosing GPUs and checking that they are used, do here what they say? S51 to S66."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf._devices import nvml
from nbtf._devices.nvml import CardMonitor, CardProcess
from nbtf._ops import gpu_comparison
from nbtf._runtime import gpu_use
from nbtf._runtime.context import Context, use_context
from nbtf.runtime import DeviceInfo
from tests.fake_nvml import FakeCard, FakeNVML
from tests.machines import LOCAL, MIB, machine

ROOT = str(Path(nbtf.__file__).parents[1])
K40C_MIB, K20M_MIB = 12288, 5120

MY_SCRIPT = """
import nbtf.compat.v1 as tf
for device in tf.runtime.devices()[1:]:
    print(device.name, device.bus_id)
c = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
with tf.runtime.recording() as record:
    tf.Session().run(c)
print(record.ops[-1])
"""

FROM_PYTHON = """
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
{rest}
"""

TOO_LATE = """
import nbtf.compat.v1 as tf
tf.Session()
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
tf.Session()
print(len(tf.runtime.devices()) - 1)
"""


@pytest.fixture
def k40c() -> Iterator[None]:
    with machine(1, "Tesla K40c"):
        yield


def run(program: str, **environ: str) -> list[str]:
    """Runs a program in a process of its own, on the computer with four cards; returns the lines that it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "NBTF_", "TF_"))}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, "PYTHONPATH": ROOT, "NBTF_SIMULATED_GPUS": "4xTesla K20m", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def cards(*buses: str) -> list[str]:
    """What `MY_SCRIPT` prints where it sees these cards."""
    seen = [f"GPU:{number} 0000:{bus}:00.0" for number, bus in enumerate(buses)]
    return [*seen, f"('MatMul', '{'GPU' if buses else 'CPU'}:0')"]


def gpus() -> list[DeviceInfo]:
    return [device for device in tf.runtime.devices() if device.device_type == "GPU"]


def product() -> float:
    a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="a")
    b = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="b")
    return tf.matmul(a, b)


# Which GPUs


def test_s51_all_gpus_are_taken_and_one_computes() -> None:
    with machine(4, "Tesla K20m"), tf.runtime.recording() as record:
        tf.Session().run(product())

        assert [(K20M_MIB - 500) * MIB] * 4 == [gpu.pool for gpu in gpus()]
    assert {"GPU:0"} == {device for _, device in record.ops}


def test_s52_script_in_a_shell_sees_one_card(tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text(MY_SCRIPT, encoding="utf-8")
    line = f"CUDA_VISIBLE_DEVICES=1 '{sys.executable}' my_script.py"
    environ = {**os.environ, "PYTHONPATH": ROOT, "NBTF_SIMULATED_GPUS": "4xTesla K20m"}

    done = subprocess.run(line, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)

    assert cards("03") == done.stdout.splitlines()


def test_s53_one_number_is_one_card() -> None:
    assert cards("03") == run(MY_SCRIPT, CUDA_VISIBLE_DEVICES="1")


def test_s54_two_numbers_are_two_cards() -> None:
    assert cards("02", "03") == run(MY_SCRIPT, CUDA_VISIBLE_DEVICES="0,1")


@pytest.mark.parametrize(("line", "buses"), [('"0,1"', ("02", "03")), ("'\"0,1\"'", ())])
def test_s55_quotes_are_for_the_shell_only(line: str, buses: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "my_script.py").write_text(MY_SCRIPT, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": ROOT, "NBTF_SIMULATED_GPUS": "4xTesla K20m"}
    command = f"CUDA_VISIBLE_DEVICES={line} '{sys.executable}' my_script.py"

    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)

    assert cards(*buses) == done.stdout.splitlines()


def test_s56_card_that_is_left_out_is_masked() -> None:
    assert cards("02", "83", "84") == run(MY_SCRIPT, CUDA_VISIBLE_DEVICES="0,2,3")


def test_s57_empty_value_is_no_gpu() -> None:
    assert cards() == run(MY_SCRIPT, CUDA_VISIBLE_DEVICES="")


def test_s58_variable_may_be_set_from_python_before_the_first_use() -> None:
    assert cards("83") == run(FROM_PYTHON.format(rest=MY_SCRIPT))
    assert ["4"] == run(TOO_LATE)


# How much memory


@pytest.mark.usefixtures("k40c")
def test_s59_as_much_as_possible_is_taken() -> None:
    tf.Session().run(product())

    assert [((K40C_MIB - 500) * MIB,) * 2] == [(gpu.memory_limit, gpu.pool) for gpu in gpus()]


@pytest.mark.usefixtures("k40c")
def test_s60_fraction_of_the_actual_memory() -> None:
    gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction=0.7)
    tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))

    assert [int(0.7 * K40C_MIB * MIB)] == [gpu.memory_limit for gpu in gpus()]


@pytest.mark.usefixtures("k40c")
def test_s61_memory_on_demand() -> None:
    gpu_options = tf.GPUOptions(allow_growth=True)
    tf.Session(config=tf.ConfigProto(gpu_options=gpu_options)).run(product())

    assert [2 * MIB] == [gpu.pool for gpu in gpus()]


# Is the GPU used?


def test_s62_check_says_that_there_is_no_gpu_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_use, "probe", lambda environ: type("Probe", (), {"reason": "CuPy is not installed"}))
    with use_context(Context(environ={})):
        nothing = tf.runtime.is_gpu_in_use()
    with use_context(Context(environ={"NBTF_SIMULATED_GPUS": "2", "CUDA_VISIBLE_DEVICES": "-1"})):
        hidden = tf.runtime.is_gpu_in_use()

    assert "No: this computer lists no GPU: CuPy is not installed" == nothing.sentence
    assert ("visible", True) == (hidden.rung, "CUDA_VISIBLE_DEVICES" in hidden.sentence)


@pytest.mark.usefixtures("k40c")
def test_s63_simulated_gpu_is_not_said_to_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = tf.runtime.is_gpu_in_use().rungs[-1]
    monkeypatch.setattr(gpu_comparison, "_SIDE", 8)
    _, measured = gpu_comparison.compared_with_cpu("GPU:0")

    assert ("faster", None, "not asked") == simulated
    assert ("a product of 8 x 8 matrices took", "measured here") == (measured[:32], measured[-13:])


@pytest.mark.usefixtures("k40c")
def test_s64_log_and_check_tell_which_card(capsys: pytest.CaptureFixture[str]) -> None:
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    with tf.runtime.recording():
        print(sess.run(product()))

    card = "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5 (simulated)"
    nodes = [f"{LOCAL}GPU:0 -> {card}", f"MatMul: (MatMul): {LOCAL}GPU:0"]
    nodes += [f"{name}: (Const): {LOCAL}GPU:0" for name in "ab"]
    assert ["Device mapping:", *nodes, "[[22. 28.]", " [49. 64.]]"] == capsys.readouterr().out.splitlines()
    assert "No: MatMul ran on GPU:0, which is simulated (NumPy on this CPU)" == tf.runtime.is_gpu_in_use().sentence


def test_s65_session_alone_tells_which_gpus_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1, "Tesla K40c"):
        tf.Session(config=tf.ConfigProto(log_device_placement=True))
    with_gpu = capsys.readouterr()
    with machine(0):
        tf.Session(config=tf.ConfigProto(log_device_placement=True))
    without = capsys.readouterr()

    card = "device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5 (simulated)"
    assert (f"Device mapping:\n{LOCAL}GPU:0 -> {card}\n", "") == with_gpu
    assert ("", "Device mapping: no known devices.\n") == without


def test_s66_memory_of_a_card_is_told_as_nvidia_smi_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "strange_pids", lambda: "")
    processes = [(os.getpid(), 1400 * MIB), (700_001, 500 * MIB)]
    card = FakeCard(0, name="Tesla K40c", total=K40C_MIB * MIB, used=2010 * MIB, processes=processes)

    reading = CardMonitor(lambda: FakeNVML(card)).card(card.uuid, None)

    assert ("Tesla K40c", K40C_MIB * MIB, 2010 * MIB) == (reading.name, reading.total, reading.used)
    assert (CardProcess(os.getpid(), 1400 * MIB), CardProcess(700_001, 500 * MIB)) == reading.processes
