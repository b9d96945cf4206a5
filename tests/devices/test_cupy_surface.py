"""The real CuPy, on a machine without a GPU: it has what the CUDA device and the kernels use, and nobody notices it.

Nothing can be launched here. But CuPy looks at names and arguments before it launches anything, so each call that a
kernel makes is made on real CuPy arrays, and must get as far as the launch. Ufuncs ask for the card before they look
at dtypes: of these CuPy's own tables are read.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.devices.cupy_surface import SURFACE, used_by_the_device

ROOT = Path(__file__).parents[2]
WAITING = {
    "CheckNumerics": "the values decide whether it fails",
    "DenseBincount": "the values decide whether it fails",
    **dict.fromkeys(
        ("ResourceScatterDiv", "ResourceScatterMul"), "one place after the other, in the order of the rows"
    ),
    "DynamicStitch": "the largest index is the length of the result",
    "Lu": "whether it failed is known when it is done",
    "RandomGammaGrad": "the values decide how many terms are added",
    **dict.fromkeys(
        ("MatrixInverse", "MatrixSolve", "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd"),
        "solvers may not be asked about what is not finite",
    ),
    **dict.fromkeys(
        ("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum"), "the last id is the length"
    ),
    **dict.fromkeys(
        ("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum"),
        "rounds of pairs, as many as the largest segment needs: the same sum each time",
    ),
}
"""Ops whose kernels bring values to the host, which then waits for the card; and why they may."""


def has_driver() -> bool:
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def cupy_is_here() -> None:
    """Without CuPy a test skips, but fails where `CI` is set: there it must run."""
    end = pytest.fail if os.environ.get("CI") else pytest.skip
    if importlib.util.find_spec("cupy") is None:
        end('needs CuPy, no GPU: pip install --no-deps "cupy-cuda12x>=14.2,<15"')
    if has_driver():
        pytest.skip("there is a driver: the contract suite and tests/gpu/check.py ask CuPy itself")


def python(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {"PYTHONWARNINGS": "always", **os.environ, **environ}
    return subprocess.run([sys.executable, *args], cwd=ROOT, env=env, capture_output=True, text=True, timeout=1200)


@pytest.fixture(scope="module")
def answers(cupy_is_here: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("cupy") / "answers.json"
    done = python("-m", "tests.devices.ask_cupy", str(file))
    assert 0 == done.returncode, done.stderr
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_list_has_all_that_the_device_mentions() -> None:
    used = used_by_the_device()

    assert set() == used - set(SURFACE)
    assert {"cuda.runtime.memcpyAsync", "cuda.Event", "cuda.memory.SingleDeviceMemoryPool"} <= used


def test_cupy_has_what_the_device_uses(answers: dict[str, Any]) -> None:
    assert ([], []) == (answers["lacking"], answers["lacking parameters"])


def test_cupy_has_the_names_that_kernels_may_use(answers: dict[str, Any]) -> None:
    assert [] == answers["lacking names"]


def test_cupy_refuses_nothing_that_a_kernel_asks(answers: dict[str, Any]) -> None:
    far = answers["kernels"]["far"]

    assert {} == answers["kernels"]["refused"]
    assert far["launched"] > 10_000  # it was asked, and got as far as it can


def test_ufuncs_take_and_give_the_dtypes_of_numpy_s(answers: dict[str, Any]) -> None:
    assert [] == answers["kernels"]["differences"]
    assert answers["kernels"]["loops"] > 300


def test_kernels_bring_no_values_to_the_host_without_a_reason(answers: dict[str, Any]) -> None:
    assert sorted(WAITING) == answers["kernels"]["waits"]


def test_memory_lives_as_long_as_the_last_view_of_it(answers: dict[str, Any]) -> None:
    told = answers["allocators"]

    assert ([], ["freed"]) == (told["freed while viewed"], told["freed after"])


def test_an_allocator_is_asked_for_bytes_and_its_errors_pass(answers: dict[str, Any]) -> None:
    told = answers["allocators"]

    assert [0, 30] == told["sizes"]
    assert "RefusedError(16)" == told["passed"]


def test_the_allocator_of_a_thread_can_be_swapped(answers: dict[str, Any]) -> None:
    told = answers["allocators"]

    assert (True, True) == (told["swapped"], told["restored"])


def test_arrays_streams_and_pools_are_as_the_device_takes_them(answers: dict[str, Any]) -> None:
    assert [] == answers["lacking facts"]


def test_what_cupy_really_raises_is_understood(answers: dict[str, Any]) -> None:
    told = answers["errors"]

    assert {
        "pool": ["ResourceExhaustedError", False],
        "cudaMalloc": ["ResourceExhaustedError", False],
        "illegal address": ["InternalError", True],
        "invalid device": ["FailedPreconditionError", False],
        "busy": ["UnavailableError", False],
        "driver": ["InternalError", True],
        "compiler": ["InternalError", False],
        "nvrtc": ["InternalError", False],
        "library": ["FailedPreconditionError", False],
        "host": ["InternalError", False],
    } == told


def test_the_fake_refuses_what_cupy_refuses(answers: dict[str, Any]) -> None:
    assert [] == answers["differences of the fake"]


# A machine with CuPy and without a driver is one without a GPU

LOOKS = """
import sys
import nbtf as tf
assert tf.config.list_physical_devices("GPU") == tf.config.list_logical_devices("GPU") == []
assert tf.add(1.0, 2.0).device.endswith("CPU:0")
with tf.device("GPU:0"):
    x = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
assert x.device.endswith("CPU:0"), x.device
assert "cupy" not in sys.modules
"""


def test_cupy_without_a_driver_changes_nothing_and_prints_nothing(cupy_is_here: None) -> None:
    done = python("-c", LOOKS)

    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_importing_nbtf_imports_no_cupy(cupy_is_here: None) -> None:
    done = python("-c", "import sys, nbtf; print('cupy' in sys.modules, 'pynvml' in sys.modules)")

    assert ("False False\n", "") == (done.stdout, done.stderr)


@pytest.mark.parametrize("command", ["doctor", "devices"])
def test_the_command_line_says_that_the_driver_is_missing(cupy_is_here: None, command: str) -> None:
    done = python("-c", "import sys; from nbtf.cli import main; sys.exit(main(sys.argv[1:]))", command)

    assert "NVIDIA driver" in done.stdout
    assert ("CuPy " in done.stdout) == (command == "doctor")
    assert "" == done.stderr
