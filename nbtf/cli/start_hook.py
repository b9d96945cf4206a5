"""Is the start hook on, so that NBTF_SIMULATE works in programs without nbtf? Switches it on and off.

Its two files are installed beside the package. To switch it off, the line in the `.pth` file becomes a comment, which
Python ignores. If nbtf is used from its folder, the files are copied from there.
"""

from __future__ import annotations

import sysconfig
from importlib.resources import as_file, files
from pathlib import Path

from nbtf._storage import files as stored
from nbtf._storage.reading import read_text

START, MODULE = "nbtf_start.pth", "_nbtf_start.py"
_COMMENT = "# "


def folder() -> Path:
    """Returns the folder of installed packages, where Python looks for `.pth` files."""
    return Path(sysconfig.get_path("purelib"))


def is_on(target: Path | None = None) -> bool:
    """Returns whether the hook is on in a folder, by default that of installed packages."""
    target = target or folder()
    is_complete = all((target / name).is_file() for name in (START, MODULE))
    return is_complete and not read_text(target / START).startswith(_COMMENT)


def switch_on(target: Path | None = None) -> None:
    """Switches the hook on.

    Raises:
      OSError: if the folder cannot be written.
    """
    target = target or folder()
    for name in (MODULE, START):
        if not (target / name).is_file():
            with as_file(files("nbtf.simulate").joinpath(name)) as source:
                stored.copy(source, target / name)
    stored.write(target / START, read_text(target / START).removeprefix(_COMMENT))


def switch_off(target: Path | None = None) -> None:
    """Switches the hook off; does nothing if it is off.

    Raises:
      OSError: if the folder cannot be changed.
    """
    target = target or folder()
    if is_on(target):
        stored.write(target / START, _COMMENT + read_text(target / START))
