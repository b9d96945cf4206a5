"""How are changed outputs saved in a notebook? Only the cells that differ are updated, and only if no cell failed."""

from __future__ import annotations

from typing import Any

from nbtf.cli.checking.verdicts import NotebookVerdict, State
from nbtf.cli.command_error import CommandError
from nbtf.cli.notebook_file import read, write
from nbtf.cli.recording import STATES, VIEW, tidy


def update(verdict: NotebookVerdict) -> None:
    """Saves the new outputs of the cells that differ; a notebook with any other problem is not changed.

    Afterwards the verdict counts these cells as updated and as recorded.

    Raises:
      CommandError: if the file cannot be written; it is then unchanged.
    """
    differing = [cell for cell in verdict.cells if cell.state is State.DIFFERS]
    if not differing or verdict.problems or any(cell.state.is_wrong for cell in verdict.cells if cell not in differing):
        return
    notebook = read(verdict.path)
    for cell in differing:
        recorded: Any = notebook.cells[cell.index] if cell.index < len(notebook.cells) else {}
        if recorded.get("source") != cell.source or list(recorded.get("outputs", [])) != cell.recorded:
            raise CommandError(f"{verdict.path}: not updated; the file has changed since it was read")
        recorded.update(outputs=cell.printed, execution_count=recorded["execution_count"] or cell.number)
    if any(VIEW in output.get("data", {}) for cell in differing for output in cell.printed):
        _add_widgets(notebook.metadata, verdict.executed.metadata)
    tidy(notebook)
    write(verdict.path, notebook)
    for cell in differing:
        cell.state, cell.lines = State.SAME, []
    verdict.updated = len(differing)


def _add_widgets(metadata: Any, executed: Any) -> None:
    """Adds the widget states of this run, and keeps the recorded ones, which unchanged cells may show."""
    states = executed.get("widgets", {}).get(STATES)
    if states is not None and "widgets" in metadata:
        old = metadata["widgets"].get(STATES, {}).get("state", {})
        states = {**states, "state": {**old, **states["state"]}}
    if states is not None:
        metadata["widgets"] = {STATES: states}
