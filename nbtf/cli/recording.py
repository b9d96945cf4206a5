"""How are a notebook's outputs recorded? Runs all cells and keeps what readers need, with no trace of this computer."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from nbtf.cli import execution
from nbtf.cli.command_error import CommandError
from nbtf.cli.execution import CellRun, Conditions, KernelDiedError, code_cells
from nbtf.cli.marks import marks
from nbtf.cli.notebook_file import as_text

LARGEST = 220_000
"""Bytes; a larger notebook is slow to open and to compare."""

STATES = "application/vnd.jupyter.widget-state+json"
VIEW, _SVG = "application/vnd.jupyter.widget-view+json", "image/svg+xml"
_OURS = 'class="nbtf-still"'
_BETWEEN_MARKS = re.compile(r">(?=<(?!/|title\b))")
"""Where line breaks are added to a picture, so that files can be compared: between marks, each with its title."""

CELL_SECONDS = 600
"""Time limit of a cell: more than any cell of a guide needs, less than a night in CI."""

LINES_SHOWN = 7


def execute(notebook: Any, folder: Path, seconds: int | None = CELL_SECONDS) -> None:
    """Runs all cells of a notebook and stores their outputs in it.

    Args:
      notebook: as nbformat reads it; changed in place.
      folder: the kernel's working directory.
      seconds: time limit of a cell; None for no limit.

    Raises:
      CommandError: if a cell raised an error without being marked for it, or the kernel ended.
    """
    cell_marks = {index: marks(cell) for index, cell in code_cells(notebook)}
    skipped = [index for index, each in cell_marks.items() if each.skipped]
    conditions = Conditions(folder, os.environ, seconds, skipped=skipped, joined_streams=True)
    cells: list[CellRun] = []

    def keep(run: CellRun) -> None:
        if run.error is not None and not cell_marks[run.index].may_raise:
            source_lines = "\n".join(run.source.split("\n")[:LINES_SHOWN])
            raise CommandError(f"a cell raised {run.error.name}: {run.error.text}\n{source_lines}")
        cells.append(run)

    with contextlib.suppress(KernelDiedError):  # `keep` has already reported the error
        notebook.metadata.update(execution.run_to_end(notebook, conditions, keep))
    for count, run in enumerate(cells, start=1):
        notebook.cells[run.index].update(outputs=run.outputs, execution_count=count)


def tidy(notebook: Any) -> list[str]:
    """Removes what differs between computers, and the program and state of our views; their pictures stay.

    Args:
      notebook: just executed; changed in place.

    Returns:
      The remaining problems, as sentences.
    """
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    models = _take_views_out(notebook.metadata)
    for data in (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])):
        if data.get(VIEW, {}).get("model_id") in models:
            data.pop(VIEW)
        if _OURS in data.get(_SVG, ""):
            data.pop("text/html", None)  # some viewers prefer HTML to the picture, and then show no image
            data[_SVG] = _BETWEEN_MARKS.sub(">\n", data[_SVG])
    nbytes = size(notebook)
    return [f"it has {nbytes // 1000} KB, more than {LARGEST // 1000}: slow to open"] if nbytes > LARGEST else []


def size(notebook: Any) -> int:
    """Returns the size of the notebook's file in bytes."""
    return len(as_text(notebook).encode())


def _take_views_out(metadata: Any) -> set[str]:
    """Removes our views and their layouts from the saved widgets; returns the names of the views."""
    states = metadata.get("widgets", {}).get(STATES, {}).get("state", {})
    views = {
        name for name, model in states.items() if str(model.get("state", {}).get("_anywidget_id")).startswith("nbtf.")
    }
    layouts = {str(states[view]["state"].get("layout")).removeprefix("IPY_MODEL_") for view in views}
    for name in views | layouts:
        states.pop(name, None)
    if views and not states:
        metadata.pop("widgets")
    return views
