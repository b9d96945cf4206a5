"""Does the doctor say what stands between this computer and a real GPU, and the line that mends it?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtf import runtime
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import CARDS
from nbtf._devices.cuda.probe import Probe
from nbtf._install import pip_install
from nbtf.cli import real_gpus
from nbtf.cli.finding import Finding
from nbtf.cli.real_gpus import CuPy
from tests.fake_nvml import FakeCard, FakeNVML, NVMLError

CUDA12, CUDA13 = CuPy("cupy-cuda12x", "14.2.0"), CuPy("cupy-cuda13x", "14.2.0")
GPU = PhysicalGPU(CARDS[0]._replace(name="NVIDIA L4"), 5, "0000:8a:00.0", "GPU-1", False, 24 << 30, 0)
SEES = Probe((GPU,), "CuPy 14.2.0 sees 1 GPU.")


class Computer:
    """What the doctor finds; each part can be changed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.driver: str | None = "580.65.06"
        self.packages: Sequence[CuPy] = [CUDA12]
        self.seen, self.strange = SEES, ""
        self.nvml: Any = FakeNVML(FakeCard(0), FakeCard(1))
        ok = lambda name, purpose, package: Finding("ok", name, "")  # noqa: E731
        monkeypatch.setattr(real_gpus, "driver_version", lambda: self.driver)
        monkeypatch.setattr(real_gpus, "cupy_packages", lambda: self.packages)
        monkeypatch.setattr(real_gpus, "probe", lambda environ: self.seen)
        monkeypatch.setattr(real_gpus, "strange_pids", lambda: self.strange)
        monkeypatch.setattr(real_gpus, "toolkit_library", ok)
        monkeypatch.setattr(real_gpus, "kernel_cache", lambda environ: Finding("ok", "kernel cache", ""))

    def findings(self, **environ: str) -> dict[str, Finding]:
        monitor = runtime.CardMonitor(lambda: self.nvml)
        return {finding.subject: finding for finding in real_gpus.real_gpus(environ, monitor)}


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Computer:
    return Computer(monkeypatch)


def test_everything_in_place_is_ok(computer: Computer) -> None:
    findings = computer.findings()

    assert {"ok"} == {finding.state for finding in findings.values()}
    assert "NVIDIA L4 (cuda:0, 0000:8a:00.0)" == findings["real GPUs"].text
    assert ("14.2.0 (cupy-cuda12x)", "2 cards in this machine") == (findings["CuPy"].text, findings["NVML"].text)


def test_computer_without_driver_and_cupy_lacks_two_things(computer: Computer) -> None:
    computer.driver, computer.packages, computer.nvml = None, [], FakeNVML(broken=NVMLError("Not Found"))

    assert [("NVIDIA driver", "missing"), ("CuPy", "missing")] == [
        (finding.subject, finding.state) for finding in computer.findings().values()
    ]


@pytest.mark.parametrize(
    ("driver", "says"),
    [
        (None, "this computer has no NVIDIA driver"),
        ("550.54.14", pip_install("cuda12")),
        ("580.65.06", pip_install("cuda13")),
        ("unknown", pip_install("cuda12")),
    ],
)
def test_cupy_that_is_missing_is_the_one_for_the_driver(computer: Computer, driver: str | None, says: str) -> None:
    computer.driver, computer.packages, computer.nvml = driver, [], FakeNVML(broken=NVMLError("Not Found"))

    finding = computer.findings()["CuPy"]

    assert ("missing", True) == (finding.state, says in finding.text)


def test_two_builds_of_cupy_are_wrong(computer: Computer) -> None:
    computer.packages = [CUDA12, CUDA13]

    assert (
        Finding(
            "wrong",
            "CuPy",
            "cupy-cuda12x and cupy-cuda13x overwrite each other: pip uninstall -y cupy-cuda12x cupy-cuda13x, then "
            f"{pip_install('cuda13')}",
        )
        == computer.findings()["CuPy"]
    )


def test_driver_too_old_for_the_wheel_is_wrong(computer: Computer) -> None:
    computer.driver, computer.packages = "550.54.14", [CUDA13]

    assert (
        Finding(
            "wrong",
            "CuPy",
            "14.2.0 (cupy-cuda13x) is for CUDA 13 and needs driver 580 or newer; installed is 550.54.14: "
            f"pip uninstall -y cupy-cuda13x, then {pip_install('cuda12')}",
        )
        == computer.findings()["CuPy"]
    )


def test_driver_older_than_cuda_12_is_wrong(computer: Computer) -> None:
    computer.driver = "470.82.01"

    assert "wrong" == computer.findings()["NVIDIA driver"].state


def test_driver_that_left_no_file_is_told_by_nvml(computer: Computer) -> None:
    computer.driver = None

    assert "580.65.06" == computer.findings()["NVIDIA driver"].text


def test_amds_gpus_are_not_tried(computer: Computer) -> None:
    computer.packages = [CuPy("cupy-rocm-7-0", "14.2.0")]

    assert "note" == computer.findings()["CuPy"].state


# Masks


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        ("", "'' hides every GPU of this computer's 2: unset CUDA_VISIBLE_DEVICES"),
        ("-1", "'-1' hides every GPU of this computer's 2: unset CUDA_VISIBLE_DEVICES"),
        ("1,0", "'1,0': only these of this computer's 2 are visible, numbered from 0 in this order"),
    ],
)
def test_mask_is_noted(computer: Computer, mask: str, says: str) -> None:
    finding = computer.findings(CUDA_VISIBLE_DEVICES=mask)["CUDA_VISIBLE_DEVICES"]

    assert ("note", says) == (finding.state, finding.text)


@pytest.mark.parametrize("environ", [{"NBTF_GPU": "off"}, {"CUDA_VISIBLE_DEVICES": ""}])
def test_gpus_that_are_hidden_are_not_asked_for(
    computer: Computer, environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_gpus, "probe", lambda environ: pytest.fail("asked"))

    assert "real GPUs" not in computer.findings(**environ)


# The probe


def test_import_that_is_broken_comes_with_its_text(computer: Computer) -> None:
    computer.seen = Probe((), "CuPy cannot be imported: ImportError: libfoo.so: no such file.")

    assert (
        Finding(
            "wrong",
            "real GPUs",
            "CuPy cannot be imported: ImportError: libfoo.so: no such file: "
            "pip install --force-reinstall cupy-cuda12x==14.2.0",
        )
        == computer.findings()["real GPUs"]
    )


def test_why_cupy_finds_none_is_told_and_what_it_warns_of(computer: Computer) -> None:
    computer.seen = Probe((), "CuPy 14.2.0 finds no GPU: cudaErrorNoDevice.", ("two\n  lines",))

    findings = computer.findings()

    assert ("wrong", computer.seen.reason) == (findings["real GPUs"].state, findings["real GPUs"].text)
    assert "two lines" == findings["CuPy warns"].text


# NVML and processes


@pytest.mark.parametrize(
    ("broken", "state"),
    [(ModuleNotFoundError("no pynvml"), "missing"), (NVMLError("Driver/library version mismatch"), "wrong")],
)
def test_nvml_that_does_not_answer_says_why(computer: Computer, broken: Exception, state: str) -> None:
    def load() -> Any:
        raise broken

    finding = next(one for one in real_gpus.real_gpus({}, runtime.CardMonitor(load)) if one.subject == "NVML")

    assert state == finding.state
    assert (pip_install("nvml") if state == "missing" else str(broken)) in finding.text


def test_container_with_its_own_process_numbers_is_noted(computer: Computer) -> None:
    computer.strange = "this container has its own process numbers"

    assert "--pid=host" in computer.findings()["processes"].text


# The toolkit and the cache, as they are


@pytest.fixture
def toolkit() -> Any:
    return real_gpus.toolkit_library


def loaded(path: str) -> Any:
    return lambda name: SimpleNamespace(abs_path=path)


@pytest.mark.parametrize("path", ["/lib/libcublas.so.12", r"C:\bin\cublas64_12.dll"])
def test_library_of_the_right_cuda_is_ok(path: str, toolkit: Any) -> None:
    assert Finding("ok", "cublas", path) == toolkit("cublas", "matrix products", CUDA12, loaded(path))


def test_library_of_another_cuda_is_wrong(toolkit: Any) -> None:
    assert Finding(
        "wrong",
        "cublas",
        '/lib/libcublas.so.13 is for CUDA 13, but cupy-cuda12x needs 12: pip install "cupy-cuda12x[ctk]"',
    ) == toolkit("cublas", "matrix products", CUDA12, loaded("/lib/libcublas.so.13"))


def test_library_that_is_missing_is_wrong_and_says_what_for(toolkit: Any) -> None:
    def load(name: str) -> Any:
        raise RuntimeError(f"No such file:\n lib{name}.so")

    assert Finding(
        "wrong", "nvrtc", 'for compiling kernels: No such file: libnvrtc.so: pip install "cupy-cuda12x[ctk]"'
    ) == toolkit("nvrtc", "compiling kernels", CUDA12, load)


def test_cupy_built_here_needs_a_toolkit_from_elsewhere(toolkit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)

    assert toolkit("nvrtc", "x", CuPy("cupy", "14.2.0")).text.endswith(": install NVIDIA's CUDA toolkit")


def test_cache_below_a_folder_that_can_be_written_is_ok(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "yet"

    assert Finding("ok", "kernel cache", str(folder)) == real_gpus.kernel_cache({"CUPY_CACHE_DIR": str(folder)})


def test_cache_that_cannot_be_written_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    finding = real_gpus.kernel_cache({"CUPY_CACHE_DIR": str(file / "cache")})

    assert ("wrong", True) == (finding.state, finding.text.endswith("set CUPY_CACHE_DIR to a writable folder"))


def test_cache_in_memory_is_noted() -> None:
    assert "note" == real_gpus.kernel_cache({"CUPY_CACHE_IN_MEMORY": "1"}).state


def test_packages_are_known_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["cupy_cuda12x", "cupy-rocm-7-0", "cupy", "cupy-cuda115", "cupyx-tools", "numpy"]
    found = [SimpleNamespace(metadata={"Name": name}, version="1") for name in names]
    monkeypatch.setattr(real_gpus, "distributions", lambda: found)

    assert ["cupy", "cupy-cuda115", "cupy-cuda12x", "cupy-rocm-7-0"] == [
        one.package for one in real_gpus.cupy_packages()
    ]


# The driver


def test_driver_version_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n")

    assert "550.54.14" == real_gpus.driver_version(file)


@pytest.mark.parametrize(("system", "library"), [("win32", "nvcuda"), ("linux", "cuda")])
def test_driver_without_a_file_is_told_by_its_library(
    system: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_gpus.sys, "platform", system)
    monkeypatch.setattr(real_gpus.ctypes.util, "find_library", lambda name: name if name == library else None)

    assert "unknown" == real_gpus.driver_version(tmp_path / "version")


def test_without_file_and_library_there_is_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_gpus.ctypes.util, "find_library", lambda name: None)

    assert None is real_gpus.driver_version(tmp_path / "version")
