"""Tests who gets simulated GPUs: by a call, by the environment, and in notebooks that are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbtf as tf
from nbtf._frameworks import simulating

PROGRAM = "import {first}, {second}; print(torch.cuda.device_count(), torch.ones(1, device='cuda:1').device)"


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "NBTF_SIMULATED_GPUS": "2xA100-40GB", **variables}
    return subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("first", "second"), [("nbtf", "torch"), ("torch", "nbtf")])
def test_pytorch_has_what_the_environment_asks_for(first: str, second: str) -> None:
    pytest.importorskip("torch")

    process = run(PROGRAM.format(first=first, second=second), NBTF_SIMULATE="torch")

    assert "2 cuda:1\n" == process.stdout, process.stderr
    assert "PyTorch has them as cuda:0 to cuda:1 and computes with its own CPU ops." in process.stderr


@pytest.mark.parametrize("libraries", ["torch", ""])
def test_the_machine_of_the_environment_is_announced_once(libraries: str) -> None:
    process = run("import nbtf as tf; tf.constant(1.0); tf.constant(2.0)", NBTF_SIMULATE=libraries)

    assert 1 == process.stderr.count("2 simulated GPUs"), process.stderr


def test_a_library_that_is_not_here_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(simulating, "find_spec", {"torch": None}.__getitem__)

    sentence = simulating.names_of_devices(["torch"], 1)

    assert (
        "PyTorch has them as cuda:0 and computes with its own CPU ops. PyTorch is not installed: pip install torch."
        == sentence
    )


def test_the_compiler_can_be_loaded_while_gpus_are_simulated() -> None:
    pytest.importorskip("torch")
    program = (
        "import nbtf, torch, warnings; warnings.simplefilter('ignore')\n"
        "print(torch.compile(torch.nn.Linear(3, 2).cuda())(torch.ones(4, 3, device='cuda')).device)"
    )

    process = run(program, NBTF_SIMULATE="torch")

    assert "cuda:0\n" == process.stdout, process.stderr


def test_without_a_word_pytorch_is_left_alone() -> None:
    pytest.importorskip("torch")

    assert "False\n" == run("import nbtf, torch; print(torch.cuda.is_available())").stdout


def test_nothing_imports_pytorch_that_has_not_been_imported() -> None:
    program = "import nbtf, sys; nbtf.runtime.simulate_gpus(1, frameworks='torch'); print('torch' in sys.modules)"

    assert "False\n" == run(program).stdout.splitlines(keepends=True)[-1]


def test_an_unknown_library_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"No simulated GPUs for 'theano'\. Expected 'torch'"):
        tf.runtime.simulate_gpus(1, frameworks="theano")
    assert "NBTF_SIMULATE is 'theano'" in run("import nbtf", NBTF_SIMULATE="theano").stderr


def test_a_notebook_of_pytorch_runs_on_simulated_gpus(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("torch")
    cell = nbformat.v4.new_code_cell("import torch\nprint(torch.zeros(1).cuda(3).device)")
    path, out = tmp_path / "notebook.ipynb", tmp_path / "out.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)

    command = [
        sys.executable,
        "-c",
        "from nbtf.cli import main; main()",
        "run",
        "--gpus",
        "4",
        str(path),
        "-o",
        str(out),
    ]
    process = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == process.returncode, process.stdout + process.stderr
    assert "PyTorch uses the simulated GPUs." in process.stdout
    assert "cuda:3\n" == nbformat.read(out, 4).cells[0].outputs[0].text
