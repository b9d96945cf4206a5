"""A shell in this process, with the extension loaded, on a machine with two simulated GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import nbtf as tf
from nbtf.notebook.holders import search, table
from nbtf.notebook.stills import memory_pictures
from tests.machines import machine
from tests.shells import interactive_shell

ENOUGH = 600.0
"""Seconds that no search takes, however busy the machine is: what is looked for is found, or is not there."""

INSTALLED = (*search._installed(), f"{Path(__file__).parents[1]}{os.sep}")


class Ran(NamedTuple):
    """What a cell did."""

    result: Any
    out: str
    error: BaseException | None


class Shell:
    """Runs cells as a notebook does."""

    def __init__(self, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.ip, self._capsys = shell, capsys

    def run(self, *lines: str, cell_id: str | None = None) -> Ran:
        self._capsys.readouterr()
        names = {} if cell_id is None else {"cell_id": cell_id}  # IPython 7 knows no names of cells
        done = self.ip.run_cell("\n".join(lines), store_history=True, **names)
        said = self._capsys.readouterr()
        return Ran(done.result, said.out + said.err, done.error_in_exec or done.error_before_exec)


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell that has not loaded the extension."""
    # A person's modules lead to a person's objects; those of the tests lead to all tests of the run.
    monkeypatch.setattr(search, "_installed", lambda: INSTALLED)
    monkeypatch.setattr(memory_pictures, "_SECONDS", 300.0)  # a busy machine searches as long as it takes
    monkeypatch.setattr(table, "SECONDS", 300.0)
    monkeypatch.chdir(tmp_path)
    with interactive_shell(tmp_path / "ipython") as shell, machine(2, memory="2GiB"):
        shell.user_ns["tf"] = tf
        yield Shell(shell, capsys)
        tf.unload_ipython_extension(shell)


@pytest.fixture
def shell(bare: Shell) -> Shell:
    """A shell that has."""
    tf.load_ipython_extension(bare.ip)
    return bare
