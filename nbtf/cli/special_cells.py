"""The cells of a lesson that are not for every reader: those with folded outputs, and the one that installs nbtf."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf._install import SOURCE, requirement


def is_folded(cell: Any) -> bool:
    """Returns whether a cell's outputs are folded because they answer the question above it.

    >>> is_folded({"metadata": {"jupyter": {"outputs_hidden": True}}})
    True
    """
    return bool(cell["metadata"].get("jupyter", {}).get("outputs_hidden"))


def empty_folded_cells(cells: Iterable[Any]) -> bool:
    """Removes folded outputs from cells, and the mark that folds them, because JupyterLab shows their first line.

    Args:
      cells: as a file has them, or as nbformat reads them; changed in place.

    Returns:
      Whether any cell was changed.
    """
    folded = [cell for cell in cells if cell["cell_type"] == "code" and is_folded(cell)]
    for cell in folded:
        cell.update(outputs=[], execution_count=None)
        cell["metadata"].pop("collapsed", None)
        del cell["metadata"]["jupyter"]["outputs_hidden"]
    return bool(folded)


IS_MISSING = 'find_spec("nbtf") is None'
"""Text that is in every such cell, and in no other cell."""

WHERE = "# this kernel (Colab, Kaggle, VS Code or your own) does not have nbtf yet"

_FROM_SOURCE = """\
from importlib.util import find_spec

if {is_missing}:  {where}
    %pip install -q "{requirement}\""""

_FROM_FOLDER = """\
from importlib.util import find_spec
from pathlib import Path

if {is_missing}:  {where}
    folder = next((folder for folder in Path.cwd().parents if (folder / "nbtf").is_dir()), "the folder of nbtf")
    %pip install -q "{requirement}\""""


def install_cell(source: str = SOURCE) -> str:
    """Returns the text of the cell; it changes nothing if nbtf is installed, and keeps packages that are recent enough.

    Args:
      source: where to install nbtf from; empty for the folder above the notebook.
    """
    template = _FROM_SOURCE if source else _FROM_FOLDER
    return template.format(is_missing=IS_MISSING, where=WHERE, requirement=requirement("views", "{folder}", source))


def is_install_cell(cell: Any) -> bool:
    """Returns whether a cell's purpose is to install nbtf."""
    return cell["cell_type"] == "code" and IS_MISSING in "".join(cell["source"])
