"""Does the table show each device, say what is simulated, and how to simulate where there is no GPU?"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nbtf._runtime.context import Context, use_context
from nbtf.cli import devices, main
from nbtf.runtime import CardMonitor, DeviceInfo
from tests.fake_nvml import FakeCard, FakeNVML

CPU = DeviceInfo("CPU:0", "CPU")
SIMULATED = DeviceInfo(
    "GPU:0", "GPU", simulated=True, model="Tesla K20m", card=0, bus_id="0000:02:00.0", memory=5 << 30
)
REAL = DeviceInfo("GPU:1", "GPU", model="NVIDIA L4", card=1, memory=24 << 30)


def test_simulated_gpu_is_labelled_and_a_real_one_is_not() -> None:
    lines = devices.describe_devices([CPU, SIMULATED, REAL]).split("\n")

    assert [
        "device  model                   memory  card  bus id",
        "CPU:0   –                       –       –     –",
        "GPU:0   Tesla K20m (simulated)  5 GiB   0     0000:02:00.0",
        "GPU:1   NVIDIA L4               24 GiB  1     –",
    ] == lines


def test_memory_in_use_has_a_column_once_it_is_known() -> None:
    used = DeviceInfo("GPU:0", "GPU", memory=5 << 30, memory_limit=1 << 30, in_use=512)

    assert ["device  memory  limit  in use", "GPU:0   5 GiB   1 GiB  512 bytes"] == devices.describe_devices(
        [used]
    ).split("\n")


def test_device_that_is_not_visible_is_called_hidden() -> None:
    assert "hidden" in devices.describe_devices([DeviceInfo("GPU:0", "GPU", visible=False)])


def test_without_a_gpu_the_table_says_how_to_simulate_one() -> None:
    assert "NBTF_SIMULATED_GPUS=4 nbtf devices" in devices.describe_devices([CPU])


def test_why_there_is_no_real_gpu_is_told() -> None:
    lines = devices.describe_devices([CPU], "CuPy is not installed.").split("\n")

    assert ["", "No real GPU: CuPy is not installed. Run `nbtf doctor` for a fix.", devices.HINT] == lines[-3:]


def test_real_card_has_its_names_below_the_table() -> None:
    real = REAL._replace(card=5, bus_id="0000:8a:00.0", cuda=1)

    assert (
        "cuda:1 = GPU:1 here = card 5 (0000:8a:00.0)"
        == devices.describe_devices([CPU, SIMULATED, real]).split("\n")[-1]
    )


def test_card_has_the_number_that_nvidia_smi_shows() -> None:
    card = FakeCard(5)
    monitor = CardMonitor(lambda: FakeNVML(FakeCard(0), card))

    assert 5 == devices._numbered(REAL._replace(uuid=card.uuid, cuda=1), monitor).card
    assert 1 == devices._numbered(REAL._replace(uuid="GPU-gone", cuda=1), monitor).card


def test_with_a_gpu_the_table_says_nothing_more() -> None:
    assert "NBTF_SIMULATED_GPUS" not in devices.describe_devices([CPU, SIMULATED])


def test_machine_that_makes_no_sense_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBTF_SIMULATED_GPUS", "4xVoodoo")
    with use_context(Context()):
        status = main(["devices"])

    assert (2, True) == (
        status,
        capsys.readouterr().err.startswith("nbtf: NBTF_SIMULATED_GPUS is '4xVoodoo'. Unknown card"),
    )


def test_a_reader_who_stops_reading_gets_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "nbtf", "devices"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)

    assert (141, "") == (done.returncode, done.stderr)
