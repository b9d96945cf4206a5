"""Why a command cannot do what was asked: said on stderr in a sentence, exit status 2."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Generator, Sequence
from pathlib import Path

from nbtf._install import pip_install

LAB = pip_install("lab")


class CommandError(Exception):
    """What the user reads instead of a traceback: what is wrong, and what to do."""


def require(packages: Sequence[str], command: str, install: str = LAB) -> None:
    """Refuses when a package is not installed, with the line that installs it.

    Args:
      packages: names as they are imported.
      command: who needs them, for the sentence.
      install: the line to type.

    Raises:
      CommandError: one of them is missing.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(f"`{command}` needs {' and '.join(missing)}. Install with: {install}")


@contextlib.contextmanager
def reading(path: Path) -> Generator[None]:
    """Turns the system's error about a file that cannot be read into a sentence.

    Args:
      path: the file.

    Raises:
      CommandError: if the block raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from error


@contextlib.contextmanager
def writing(path: Path) -> Generator[None]:
    """Turns what the system says about a file that cannot be written into a sentence.

    Args:
      path: the file or folder.

    Raises:
      CommandError: the block raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error
