"""`tf.gfile`: files and folders, under TensorFlow 1's names."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from typing import IO, Any

from nbtf._public import public_names as _public_names
from nbtf._storage import files
from nbtf._storage.reading import open_bytes, open_text
from nbtf.errors import AlreadyExistsError, NotFoundError

# ruff: noqa: N802  # TensorFlow's names


def __dir__() -> list[str]:
    return _public_names(__name__)


def GFile(name: Any, mode: str = "r") -> IO[Any]:
    """Returns an open file, which a `with` closes.

    As Python's `open`, and TensorFlow's: what is written can be read at once, so a file that was there is lost first.

    Args:
      name: its path.
      mode: as for Python's `open`.

    Raises:
      NotFoundError: there is no such file.
      OSError: if a file that is read is no regular file, such as a FIFO or a device.
    """
    try:
        if mode.startswith("r") and "+" not in mode:
            return open_bytes(name) if "b" in mode else open_text(name, mode)
        return open(name, mode, encoding=None if "b" in mode else "utf-8")
    except FileNotFoundError:
        raise _missing(name) from None


Open = GFile
FastGFile = GFile


def Exists(filename: Any) -> bool:
    """Tells whether there is a file or folder of that path."""
    return os.path.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Tells whether there is a folder of that path."""
    return os.path.isdir(dirname)


def ListDirectory(dirname: str | os.PathLike[str]) -> list[str]:
    """Returns the names in a folder; `NotFoundError` if there is none."""
    if not os.path.isdir(dirname):
        raise NotFoundError("Could not find directory")
    return os.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it; one that is there already stays."""
    os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: Any) -> None:
    """Makes a folder in one that is there."""
    try:
        os.mkdir(dirname)
    except FileNotFoundError:
        raise _missing(dirname) from None


def Remove(filename: Any) -> None:
    """Deletes a file; `NotFoundError` if there is none."""
    try:
        os.remove(filename)
    except FileNotFoundError:
        raise _missing(filename) from None


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder with all that is in it; `NotFoundError` if there is none."""
    try:
        shutil.rmtree(dirname)
    except FileNotFoundError:
        raise _missing(dirname) from None


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file.

    Args:
      oldpath: the file.
      newpath: where to.
      overwrite: whether a file that is there is replaced.

    Raises:
      AlreadyExistsError: there is one.
      NotFoundError: there is nothing to copy.
    """
    if os.path.exists(newpath) and not overwrite:
        raise AlreadyExistsError("file already exists")
    try:
        files.copy(oldpath, newpath)
    except FileNotFoundError:
        raise _missing(oldpath) from None


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Gives a file or folder another path.

    Args:
      oldname: the path it has.
      newname: the path it gets.
      overwrite: whether a file that is there is replaced.

    Raises:
      AlreadyExistsError: there is one.
    """
    if os.path.exists(newname) and not overwrite:
        raise AlreadyExistsError("file already exists")
    os.replace(oldname, newname)


def Glob(filename: Any) -> list[str]:
    """Returns the paths that a pattern such as `*.txt` stands for; of a list of patterns, those of each."""
    patterns: Any = filename if filename.__class__ is list else [filename]
    paths: list[str] = []
    for pattern in patterns:
        paths += sorted(glob.glob(pattern))
    return paths


def Stat(filename: Any) -> os.stat_result:
    """Returns what the system knows of a file; `NotFoundError` if there is none."""
    try:
        return os.stat(filename)
    except FileNotFoundError:
        raise _missing(filename) from None


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields each folder below one: its path, the folders and the files in it.

    Args:
      top: where to begin.
      in_order: whether a folder comes before those in it.
    """
    return os.walk(top, topdown=in_order)


def _missing(path: Any) -> NotFoundError:
    return NotFoundError(f"{path}; No such file or directory")
