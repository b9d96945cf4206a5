from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbtf
from tests.machines import LOCAL

ROOT = str(Path(nbtf.__file__).parents[1])

CARDS = """
import nbtf.compat.v1 as tf
from nbtf.compat.v1 import device_lib
for device in device_lib.list_local_devices():
    if device.device_type == "GPU":
        print(device.name, device.physical_device_desc.split(",")[2].strip())
"""

LATE = """
import os
import nbtf.compat.v1 as tf
if {early}:
    os.environ["CUDA_VISIBLE_DEVICES"] = "2"
tf.Session()
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
print(len(tf.Session().list_devices()) - 1)
"""

MAPPING = """
import nbtf.compat.v1 as tf
tf.Session(config=tf.ConfigProto(log_device_placement=True))
"""


def run(program: str, **environ: str) -> tuple[str, str]:
    """Runs a program in a process of its own; returns what it writes to stdout and stderr."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "NBTF_", "TF_"))}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, "PYTHONPATH": ROOT, "NBTF_SIMULATED_GPUS": "4xTesla K20m", **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("visible", "buses"),
    [
        ("1", ["03"]),
        ("0,1", ["02", "03"]),
        ('"0,1"', []),
        ("0,2,3", ["02", "83", "84"]),
        ("", []),
        ("2,1", ["83", "03"]),
    ],
)
def test_a_program_sees_the_gpus_that_its_environment_shows(visible: str, buses: list[str]) -> None:
    stdout, _ = run(CARDS, CUDA_VISIBLE_DEVICES=visible)

    expected = [f"/device:GPU:{number} pci bus id: 0000:{bus}:00.0" for number, bus in enumerate(buses)]

    assert expected == stdout.splitlines()


@pytest.mark.parametrize(("early", "gpus"), [(True, 1), (False, 4)])
def test_a_program_may_hide_gpus_until_it_uses_them(early: bool, gpus: int) -> None:
    stdout, _ = run(LATE.format(early=early))

    assert f"{gpus}\n" == stdout


def test_a_session_that_logs_tells_whether_gpus_are_used() -> None:
    with_gpu, _ = run(MAPPING, CUDA_VISIBLE_DEVICES="1")
    without, told = run(MAPPING, CUDA_VISIBLE_DEVICES="-1")

    card = "device: 0, name: Tesla K20m, pci bus id: 0000:03:00.0, compute capability: 3.5 (simulated)"
    assert f"Device mapping:\n{LOCAL}GPU:0 -> {card}\n" == with_gpu
    assert "" == without
    assert told.endswith("Device mapping: no known devices.\n")
