"""Is it told whose a process is, and of other people's nothing more?"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nbtf._devices import processes
from nbtf._devices.processes import ProcessOwner, process_owner

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /proc")

NOTEBOOK = "/data/work/train.ipynb"


def proc(folder: Path, pid: str, **files: str) -> Path:
    """A system that tells of one process; the scheduler tells milliseconds."""
    for name, told in (("self", {"sched": "se.exec_start : 60000.5\n"}), (pid, files)):
        (folder / name).mkdir()
        for file, text in told.items():
            (folder / name / file).write_text(text)
    return folder


def kernel(folder: Path, **more: str) -> Path:
    files = {
        "comm": "python3\n",
        "cmdline": "python3\0-m\0ipykernel_launcher\0",
        "environ": f"TOKEN=secret\0JPY_SESSION_NAME={NOTEBOOK}\0HOME=/x\0",
        "sched": "python3 (7)\nse.exec_start                 :         15000.5\n",
    }
    return proc(folder, "7", **(files | more))


@pytest.fixture(autouse=True)
def me(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_user", {os.getuid(): "ada"}.get)


def test_own_kernel_is_told_by_its_notebook_and_how_long_it_is_idle(tmp_path: Path) -> None:
    found = process_owner(7, kernel(tmp_path))

    assert ProcessOwner(7, "ada", True, "python3", NOTEBOOK, True, 45.0) == found
    assert f"your kernel of {NOTEBOOK} (process 7), idle for 45 s" == found.text


def test_nothing_else_of_the_environment_is_kept(tmp_path: Path) -> None:
    assert "secret" not in repr(process_owner(7, kernel(tmp_path)))


def test_kernel_without_a_notebook_is_still_a_kernel(tmp_path: Path) -> None:
    found = process_owner(7, kernel(tmp_path, environ="JPY_SESSION_NAME=\0A=b", sched=""))

    assert ("your kernel (process 7)", None) == (found.text, found.idle)


def test_program_that_a_notebook_started_is_no_kernel(tmp_path: Path) -> None:
    found = process_owner(7, kernel(tmp_path, cmdline="python3\0train.py\0"))

    assert f"your process 7 (python3), started in {NOTEBOOK}" == found.text
    assert None is found.idle


def test_own_process_without_more_is_told_by_its_name(tmp_path: Path) -> None:
    assert "your process 9 (blender)" == process_owner(9, proc(tmp_path, "9", comm="blender\n")).text


def test_path_below_the_home_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/data")

    assert "~/work/train.ipynb" == process_owner(7, kernel(tmp_path)).notebook


def test_of_other_people_only_number_and_user_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kernel(tmp_path)
    monkeypatch.setattr(processes, "_user", {os.getuid(): "bob"}.get)
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    monkeypatch.setattr(processes, "_read", lambda *file: pytest.fail(f"{file} was read"))

    found = process_owner(7, folder)

    assert (ProcessOwner(7, "bob"), "process 7 of bob") == (found, found.text)


def test_process_that_cannot_be_seen_says_so(tmp_path: Path) -> None:
    assert "process 8, owner not visible" == process_owner(8, tmp_path).text


def test_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    assert "user 4000123" == processes._user(4_000_123)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_this_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = process_owner(os.getpid())

    assert (True, "this process") == (found.is_self, found.text)
