"""Which cell of a lesson installs nbtf in a kernel that lacks it?"""

from __future__ import annotations

from typing import Any

from nbtf._install import SOURCE, requirement

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
