"""The start hook, and programs that start processes: real child processes, in an environment with the hook."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from nbtf.cli import doctor, main, start_hook
from tests.hooked_environment import REPOSITORY, create_environment, run

PROGRAM = """
import sys

import torch
import torch.multiprocessing


def work(rank, count):
    print("child", rank, torch.cuda.device_count(), torch.ones(3, device=f"cuda:{rank}").sum().item(), flush=True)


if __name__ == "__main__":
    print("program", sys.argv[1:], torch.cuda.device_count(), flush=True)
    if "spawn" in sys.argv:
        torch.multiprocessing.spawn(work, args=(2,), nprocs=2)
"""
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_environment(tmp_path_factory.mktemp("environment"))


def test_the_hook_does_nothing_without_the_variable(environment: Path) -> None:
    code = "import sys; print('_nbtf_start' in sys.modules, 'nbtf' in sys.modules, len(sys.meta_path))"

    without, other, wanted = (
        run(environment, "-c", code, **variables).stdout.split()
        for variables in ({}, {"NBTF_SIMULATE": "jax"}, {"NBTF_SIMULATE": "torch"})
    )

    assert ["False", "False"] == without[:2]
    assert ["True", "False", without[2]] == other
    assert ["True", "False", str(int(without[2]) + 1)] == wanted


@needs_torch
def test_a_program_without_nbtf_has_gpus_and_so_have_its_children(environment: Path, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)

    alone = run(environment, program, "--lr", "0.1", NBTF_SIMULATE="torch")
    spawned = run(environment, program, "spawn", NBTF_SIMULATE="torch", NBTF_SIMULATED_GPUS="2xT4")

    assert "program ['--lr', '0.1'] 1\n" == alone.stdout
    assert ["child 0 2 3.0", "child 1 2 3.0", "program ['spawn'] 2"] == sorted(spawned.stdout.splitlines())


@needs_torch
def test_processes_of_a_program_that_nbtf_runs_have_its_gpus(environment: Path, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)

    by_command = run(environment, "-m", "nbtf", "run", "--gpus", "2", program, "spawn")
    by_module = run(environment, "-m", "nbtf.simulate", program, "--gpus", "7")
    by_both = run(environment, "-m", "nbtf", "run", "--gpus", "3", program, NBTF_SIMULATE="torch")

    assert ["child 0 2 3.0", "child 1 2 3.0", "program ['spawn'] 2"] == sorted(by_command.stdout.splitlines())
    assert "program ['--gpus', '7'] 1\n" == by_module.stdout
    assert "program [] 3\n" == by_both.stdout


def test_a_failed_import_is_reported_and_pytorch_loads_without_gpus(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("name = 'a stand-in'\n")

    done = run(
        environment,
        "-c",
        "import torch; print(torch.name)",
        NBTF_SIMULATE="torch",
        NBTF_SIMULATED_GPUS="2xVoodoo",
        PYTHONPATH=str(tmp_path),
    )

    assert "a stand-in\n" == done.stdout
    assert done.stderr.startswith("nbtf: PyTorch has no simulated GPUs: NBTF_SIMULATED_GPUS is '2xVoodoo'.")


def test_the_hook_is_switched_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start_hook, "folder", lambda: tmp_path)
    monkeypatch.setattr(doctor, "findings", lambda: iter([doctor._start_hook()]))
    shown: list[str] = []

    for arguments in ([], ["--start-hook", "on"], ["--start-hook", "off"], ["--start-hook", "on"]):
        assert 0 == main(["doctor", *arguments])
        shown.append(capsys.readouterr().out.split()[0])

    assert ["note", "ok", "note", "ok"] == shown
    assert {start_hook.START, start_hook.MODULE} == {path.name for path in tmp_path.iterdir()}


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start_hook, "folder", lambda: tmp_path / "missing")

    assert 2 == main(["doctor", "--start-hook", "on"])
    assert "nbtf: The start hook cannot be changed: " in capsys.readouterr().err


def test_the_wheel_has_the_hook_beside_the_package() -> None:
    """`.ci/run wheel` looks into the wheel itself."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]

    assert {f"nbtf/simulate/{name}": name for name in (start_hook.START, start_hook.MODULE)}.items() <= included.items()
