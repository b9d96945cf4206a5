"""How does a notebook get into its file?"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from nbtf._storage import files
from nbtf.cli.command_error import writing


def as_text(notebook: Any) -> str:
    """Returns the text of the notebook's file."""
    nbformat: Any = importlib.import_module("nbformat")  # has no types
    return nbformat.writes(notebook) + "\n"


def write(path: Path, notebook: Any) -> None:
    """Writes a notebook; one that was there stays as it is until the new one is on the disk.

    Raises:
      CommandError: the file cannot be written.
    """
    with writing(path):
        files.write(path, as_text(notebook))
