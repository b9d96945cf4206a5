"""Which notebooks failed at the last check? A file in the user's cache remembers them; the project stays untouched."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from nbtf._storage import files
from nbtf._storage.reading import read_text
from nbtf.cli.checking.verdicts import NotebookVerdict
from nbtf.cli.command_error import writing

NAME = "failed-notebooks.json"


def cache_file(environ: Mapping[str, str]) -> Path:
    """Returns the file that remembers them, in this system's cache folder.

    Args:
      environ: the environment.

    >>> cache_file({"XDG_CACHE_HOME": "caches"}).as_posix()
    'caches/nbtf/failed-notebooks.json'
    """
    if environ.get("XDG_CACHE_HOME"):
        folder = Path(environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        folder = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:
        folder = Path.home() / ".cache"
    return folder / "nbtf" / NAME


def failed_last(file: Path) -> set[str]:
    """Returns the full paths of the notebooks that failed last time; empty if the file cannot be read."""
    try:
        content: object = json.loads(read_text(file))
    except (OSError, ValueError):
        return set()
    return set(map(str, cast("list[object]", content))) if isinstance(content, list) else set()


def chosen_again(paths: Sequence[Path], file: Path) -> list[Path]:
    """Returns the notebooks that failed last time; all of them if none did."""
    failed = failed_last(file)
    return [path for path in paths if str(path.resolve()) in failed] or list(paths)


def remember(verdicts: Iterable[NotebookVerdict], file: Path) -> None:
    """Records which of these notebooks failed, and keeps the records of other notebooks that still exist.

    Raises:
      CommandError: if the file cannot be written.
    """
    failed = {path for path in failed_last(file) if Path(path).exists()}
    for verdict in verdicts:
        path = str(verdict.path.resolve())
        failed.discard(path)
        if verdict.is_wrong:
            failed.add(path)
    with writing(file):
        files.make_folder(file.parent)
        files.write(file, json.dumps(sorted(failed), indent=1) + os.linesep)
