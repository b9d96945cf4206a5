"""Is a folder with Pyodide, the browser's Python, complete and unmodified? Its lock file has a checksum per wheel."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from nbtf._storage import files
from nbtf._storage.reading import read_bytes, read_text
from nbtf.cli.command_error import CommandError, reading

CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""Pyodide itself, with Python; `npm pack pyodide` contains these files and the lock file."""

LOCK = "pyodide-lock.json"
NEEDED = ("numpy", "micropip", "packaging")
"""The packages that every lesson needs; other pure Python packages come from the site's own wheels."""


def copy_pyodide(folder: Path, target: Path) -> list[str]:
    """Checks a folder with Pyodide and copies what a page needs from it.

    Args:
      folder: contains Pyodide's core, its lock file, and all or some of the wheels named in the lock file.
      target: folder for the copy; created here.

    Returns:
      The names of the packages that were copied. The copied lock file names no others: Pyodide would request
      their files although the site has wheels of the same packages.

    Raises:
      CommandError: if something is missing, or a wheel does not match the lock file.
    """
    missing = [name for name in (*CORE, LOCK) if not (folder / name).is_file()]
    if missing:
        raise CommandError(f"{folder} has no {', no '.join(missing)}. `npm pack pyodide` has Pyodide's core and lock.")
    lock = _lock(folder / LOCK)
    lock["packages"] = _usable(_check_packages(folder, lock["packages"]))
    lacking = [name for name in NEEDED if name not in lock["packages"]]
    if lacking:
        raise CommandError(f"{folder} lacks wheels that its {LOCK} names: {_files(folder, lacking)}")
    files.make_folder(target)
    for name in [*CORE, *(package["file_name"] for package in lock["packages"].values())]:
        files.copy(folder / name, target / name)
    files.write(target / LOCK, json.dumps(lock))
    return sorted(lock["packages"])


def _lock(path: Path) -> dict[str, Any]:
    try:
        with reading(path):
            text = read_text(path)
        lock: Any = json.loads(text)
        names = [package["file_name"] + package["sha256"] for package in lock["packages"].values()]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CommandError(f"{path} is not a lock file of Pyodide") from None
    if not names:
        raise CommandError(f"{path} names no packages")
    return lock


def _check_packages(folder: Path, packages: dict[str, Any]) -> dict[str, Any]:
    """Returns the packages whose files are in the folder.

    Raises:
      CommandError: if a file does not match the lock file.
    """
    available: dict[str, Any] = {}
    for name, package in packages.items():
        path = folder / package["file_name"]
        if Path(package["file_name"]).name != package["file_name"] or not path.is_file():
            continue
        if hashlib.sha256(read_bytes(path)).hexdigest() != package["sha256"]:
            raise CommandError(f"{path} is not the file that {LOCK} names: its SHA-256 differs. Nothing was built.")
        available[name] = package
    return available


def _usable(packages: dict[str, Any]) -> dict[str, Any]:
    """Returns the packages whose dependencies are all available; loading any other package would fail."""
    while lame := [name for name, package in packages.items() if _depends(package) - set(packages)]:
        packages = {name: package for name, package in packages.items() if name not in lame}
    return packages


def _depends(package: Any) -> set[str]:
    """Returns the dependencies of a package, with names spelled as in the lock file."""
    return {re.sub(r"[-_.]+", "-", name).lower() for name in package.get("depends", ())}


def _files(folder: Path, names: list[str]) -> str:
    locked = _lock(folder / LOCK)["packages"]
    return ", ".join(locked[name]["file_name"] if name in locked else name for name in names)
