"""Which notebooks do the paths on a command line mean?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nbtf.cli.command_error import CommandError


def notebooks_in(paths: Iterable[Path]) -> list[Path]:
    """Returns the notebooks at some paths, each once; those of a folder in order, without checkpoints.

    Raises:
      CommandError: if a path does not exist, or a folder has no notebooks.
    """
    notebooks: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        inside = [path for path in inside if ".ipynb_checkpoints" not in path.parts]
        if not path.exists() or not inside:
            raise CommandError(f"found no notebook at {path}")
        notebooks += inside
    return list(dict.fromkeys(notebooks))
