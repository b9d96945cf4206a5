"""Which notebooks does a path mean? A notebook's own path means this notebook; a folder means those that belong to it.

In a Git repository, these are the notebooks that Git tracks. If it tracks none in the folder, or elsewhere, they are
those outside hidden folders and Python environments.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbtf._counts import counted
from nbtf.cli.command_error import CommandError

CHECKPOINTS = ".ipynb_checkpoints"
"""The folder in which Jupyter keeps the last saved version of a notebook."""

_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
"""Files and folders that mark a Python environment."""


@dataclass(slots=True)
class Choice:
    """The notebooks that paths mean, and how many others in the folders are left out, by the reason."""

    notebooks: list[Path] = field(default_factory=list[Path])
    left_out: dict[str, int] = field(default_factory=dict[str, int])

    def line(self) -> str:
        """Returns the sentence about what is left out; empty if nothing is."""
        counts = [f"{counted(count, 'notebook')} {reason}" for reason, count in self.left_out.items() if count]
        return f"left out: {'; '.join(counts)}" if counts else ""


def notebooks_in(
    paths: Iterable[Path], exclude: Collection[str] = (), say: Callable[[str], None] = print
) -> list[Path]:
    """Returns the notebooks at some paths, each once and those of a folder in order, and prints how many are left out.

    Args:
      paths: notebooks, which are always taken, and folders.
      exclude: glob patterns of notebooks and folders to leave out, such as `drafts` and `old_*.ipynb`.
      say: function that prints the line about notebooks that are left out.

    Raises:
      CommandError: if a path does not exist, or a folder has no notebooks.
    """
    choice = Choice()
    for path in paths:
        inside = _of_folder(path, exclude, choice) if path.is_dir() else [path]
        if not path.exists() or not inside:
            raise CommandError(f"found no notebook at {path}" + ("; " + choice.line()) * bool(choice.line()))
        choice.notebooks += inside
    if choice.line():
        say(choice.line())
    return list(dict.fromkeys(choice.notebooks))


def is_excluded(path: Path, patterns: Iterable[str], folder: Path) -> bool:
    """Returns whether a pattern matches a notebook, or a folder on the way to it.

    Args:
      path: the notebook.
      patterns: glob patterns, such as `drafts` and `old_*.ipynb`.
      folder: the folder that was searched; it and those above it are not matched.

    >>> folder = Path("course")
    >>> is_excluded(folder / "drafts" / "one.ipynb", ["drafts"], folder)
    True
    """
    full, top = path.absolute(), folder.absolute()
    steps = [full, *(parent for parent in full.parents if top in parent.parents)]
    return any(step.match(pattern) for pattern in patterns for step in steps)


def _of_folder(folder: Path, exclude: Collection[str], choice: Choice) -> list[Path]:
    """Returns the notebooks of a folder, and counts those that are left out."""
    present = sorted(_walk(folder))
    tracked = _tracked_by_git(folder)
    if tracked:
        reason, belonging = "that Git does not track", [path for path in present if path in tracked]
    else:
        reason = "in hidden folders and Python environments"
        belonging = [path for path in present if not _is_hidden_or_installed(path, folder)]
    notebooks = [path for path in belonging if not is_excluded(path, exclude, folder)]
    for text, count in ((reason, len(present) - len(belonging)), ("excluded", len(belonging) - len(notebooks))):
        choice.left_out[text] = choice.left_out.get(text, 0) + count
    return notebooks


def _walk(folder: Path) -> Iterator[Path]:
    """Yields all notebooks in a folder except checkpoints; folders behind symbolic links are not entered."""
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (CHECKPOINTS, ".git")]
        yield from (Path(inside, name) for name in names if name.endswith(".ipynb"))


def _tracked_by_git(folder: Path) -> set[Path]:
    """Returns the notebooks in a folder that Git tracks; empty outside a repository and without Git."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--", "*.ipynb"]
    try:
        listed = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return set()
    return {folder / os.fsdecode(name) for name in listed.split(b"\0") if name}


def _is_hidden_or_installed(path: Path, folder: Path) -> bool:
    """Returns whether a folder between `folder` and a notebook is hidden or a Python environment."""
    between = [parent for parent in path.parents if parent != folder and folder in parent.parents]
    return any(each.name.startswith(".") or any((each / mark).exists() for mark in _ENVIRONMENTS) for each in between)
