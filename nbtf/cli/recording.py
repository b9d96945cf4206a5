"""How do the outputs of a notebook get into it? Runs all cells, keeps what a reader needs, and no trace of here."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from nbtf.cli.command_error import CommandError
from nbtf.cli.execution import kernel
from nbtf.cli.notebook_file import as_text

LARGEST = 200_000
"""Bytes; what is larger is slow to open and to compare."""

_STATES = "application/vnd.jupyter.widget-state+json"
_VIEW = "application/vnd.jupyter.widget-view+json"
_CELL_SECONDS = 600


def execute(notebook: Any, folder: Path) -> None:
    """Runs all cells of a notebook and puts their outputs in.

    Args:
      notebook: as nbformat reads it; changed in place.
      folder: the kernel's working directory.

    Raises:
      CommandError: a cell raised something and is not tagged `raises-exception`, or the kernel ended.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = NotebookClient(
        notebook, km=kernel(), timeout=_CELL_SECONDS, record_timing=False, coalesce_streams=True, allow_errors=False
    )
    try:
        client.execute(cwd=str(folder), stderr=DEVNULL, cleanup_kc=True)
    except CellExecutionError as error:
        raise CommandError(f"a cell raised {error.ename}: {error.evalue}\n{_first_lines(error)}") from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise CommandError(str(error)) from error


def _first_lines(error: Any) -> str:
    return "\n".join(str(error).split("\n")[1:8])


def tidy(notebook: Any) -> list[str]:
    """Takes out what differs from computer to computer, and saved views where the file would grow too large.

    Args:
      notebook: just executed; changed in place.

    Returns:
      What was left out, in sentences.
    """
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    said: list[str] = []
    states = notebook.metadata.get("widgets", {}).get(_STATES, {}).get("state", {})
    views = sorted(_views(notebook), key=lambda view: len(json.dumps(states.get(view, {}))), reverse=True)
    for view in views:
        if size(notebook) <= LARGEST:
            break
        _forget(notebook, states, view)
        said.append(f"one saved view is left out: with it the file is larger than {LARGEST // 1000} KB")
    return said


def size(notebook: Any) -> int:
    """Returns how many bytes the notebook's file has."""
    return len(as_text(notebook).encode())


def _views(notebook: Any) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][_VIEW]["model_id"] for output in outputs if _VIEW in output.get("data", {})]


def _forget(notebook: Any, states: dict[str, Any], view: str) -> None:
    """Takes a view and its layout out; its fallback text stays."""
    layout = states.pop(view, {}).get("state", {}).get("layout", "")
    states.pop(layout.removeprefix("IPY_MODEL_"), None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("data", {}).get(_VIEW, {}).get("model_id") == view:
                output["data"].pop(_VIEW)
