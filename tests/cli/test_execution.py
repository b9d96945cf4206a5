"""Does the one runner of notebooks run cells once, in one kernel, and lose nothing of what they print?"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

from nbtf.cli.command_error import CommandError
from nbtf.cli.execution import CellRun, Conditions, KernelDiedError, run_to_end
from tests.cli.checking.cells import cell

nbformat = pytest.importorskip("nbformat", reason='needs the extra "lab"')

LIMIT = 30
"""Seconds a cell may take here; none of them needs one."""

WIDGETS = "from ipywidgets import Output\noutput = Output()\nfor number in range({}):\n    with output: print(number)"


def runs_of(folder: Path, *cells: Any, **conditions: Any) -> list[CellRun]:
    runs: list[CellRun] = []
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    run_to_end(notebook, Conditions(folder, dict(os.environ), LIMIT, **conditions), runs.append)
    return runs


def test_no_cell_with_a_widget_for_outputs_waits_until_its_time_is_over(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, *(cell(WIDGETS.format(number)) for number in range(1, 26)))

    assert [run.number for run in runs if run.seconds >= LIMIT or run.error is not None] == []


def test_code_around_a_cell_is_no_cell(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        cell("number"),
        cell("never"),
        cell("import IPython\nlen(In) - 1"),
        startup="number = 1",
        code_before={0: "number += 1"},
        code_after={0: "raise OSError('after')"},
        skipped=[1],
    )

    assert [(run.number, run.outputs[0]["data"]["text/plain"]) for run in runs] == [(1, "2"), (3, "2")]
    assert runs[0].broken == ["OSError: after"]


def test_startup_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot import nbtf in the notebook's kernel: ModuleNotFoundError"):
        runs_of(tmp_path, cell("1"), startup="import no_such_module")


SEND = 'kernel = get_ipython().kernel\nkernel.session.send(kernel.iopub_socket, "{}", {}, parent=kernel.get_parent())'
UNREADABLE = ("comm_open", "comm_msg", "display_data", "stream", "error")
"""Types of messages whose fields nbclient reads."""


def test_a_message_that_cannot_be_read_is_a_finding_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The last cell reaches its time limit: nothing is left that asyncio would print as never retrieved."""
    limited: list[CellRun] = []
    conditions = Conditions(tmp_path, dict(os.environ), 2)
    notebook = nbformat.v4.new_notebook(cells=[cell(f"{SEND.format('stream', {})}\nwhile True: pass")])
    with pytest.raises(KernelDiedError):
        run_to_end(notebook, conditions, limited.append)
    runs = runs_of(tmp_path, *(cell(SEND.format(kind, {})) for kind in UNREADABLE), cell("print(1)"))
    gc.collect()

    assert [[f"unreadable message {kind!r}"] for kind in UNREADABLE] == [
        [finding.partition(":")[0] for finding in run.broken] for run in runs[:-1]
    ]
    assert ([], "1\n") == (runs[-1].broken, runs[-1].outputs[0]["text"])
    assert "unreadable message 'stream'" in limited[0].broken[0]
    assert "never retrieved" not in caplog.text
