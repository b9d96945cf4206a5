"""Why did a command fail? The reason is printed on stderr in one sentence, and the exit status is 2."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path

from nbtf._install import pip_install

LAB = pip_install("lab")


class CommandError(Exception):
    """The message that users see instead of a traceback: what is wrong, and what to do."""


def require(packages: Sequence[str], command: str, install: str = LAB) -> None:
    """Raises an error that contains the install command if a package is not installed.

    Args:
      packages: names as they are imported.
      command: the command that needs them, for the message.
      install: the command that installs them.

    Raises:
      CommandError: if one of them is not installed.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(f"`{command}` needs {' and '.join(missing)}. Install with: {install}")


@contextlib.contextmanager
def _explaining(verb: str, path: Path) -> Generator[None]:
    """Converts the system's error about a file or a folder into a one-sentence message.

    Raises:
      CommandError: if the block raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(f"cannot {verb} {path}: {error.strerror or error}") from error


Block = Callable[[Path], contextlib.AbstractContextManager[None]]
"""Makes a block in which errors about a path are explained."""

reading: Block = partial(_explaining, "read")
writing: Block = partial(_explaining, "write")
