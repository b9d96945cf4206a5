"""Does the doctor tell which other libraries are here, and whether for a GPU, without importing them?"""

from __future__ import annotations

import subprocess
import sys

import pytest

from nbtf._install import pip_install
from nbtf.cli.finding import Finding
from nbtf.cli.other_libraries import other_libraries


def findings(needs: tuple[str, ...] = (), **versions: str) -> dict[str, Finding]:
    packages = {name.replace("_", "-"): version for name, version in versions.items()}
    return {finding.subject: finding for finding in other_libraries(packages.get, lambda _: needs)}


@pytest.mark.parametrize(
    ("version", "needs", "state", "text"),
    [
        ("2.13.0+cu128", (), "ok", "2.13.0+cu128: for CUDA 12.8"),
        ("2.13.0+cpu", (), "note", "2.13.0+cpu: built without CUDA, it sees no GPU"),
        ("2.13.0", ("numpy", "nvidia-cublas-cu12==12.8; platform_system"), "ok", "2.13.0: with NVIDIA's libraries"),
        ("2.13.0", ("numpy",), "ok", "2.13.0"),
    ],
)
def test_pytorch(version: str, needs: tuple[str, ...], state: str, text: str) -> None:
    assert Finding(state, "PyTorch", text) == findings(needs, torch=version)["PyTorch"]


def test_jax() -> None:
    assert Finding("ok", "JAX", "0.9.1: with jax-cuda13-plugin") == findings(jax="0.9.1", jax_cuda13_plugin="1")["JAX"]
    assert (
        Finding("note", "JAX", "0.9.1: without a plugin for NVIDIA's GPUs, it sees none")
        == findings(jax="0.9.1")["JAX"]
    )


def test_what_is_missing_says_for_what_it_is() -> None:
    assert {"PyTorch": "missing", "JAX": "missing", "nvidia-ml-py": "missing"} == {
        name: finding.state for name, finding in findings().items()
    }
    assert pip_install("nvml") in findings()["nvidia-ml-py"].text
    assert Finding("ok", "nvidia-ml-py", "13.590.1") == findings(nvidia_ml_py="13.590.1")["nvidia-ml-py"]


def test_nothing_is_imported() -> None:
    code = (
        "import sys; from nbtf.cli import main; main(['doctor']); print({'torch', 'jax', 'pynvml'} & set(sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.endswith("set()\n")
