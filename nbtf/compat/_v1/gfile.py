"""`tf.gfile`: files and folders, under TensorFlow 1's names; see `tf.io.gfile`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtf._public import public_names as _public_names
from nbtf._storage import gfile as _gfile
from nbtf._storage.gfile import GFile as GFile

# ruff: noqa: N802  # TensorFlow's names


def __dir__() -> list[str]:
    return _public_names(__name__)


Open = GFile
FastGFile = GFile


def Exists(filename: Any) -> bool:
    """Returns whether a file or folder has this path."""
    return _gfile.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Returns whether a folder has this path."""
    return _gfile.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a folder; `NotFoundError` if it does not exist."""
    return _gfile.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it; one that exists stays."""
    _gfile.makedirs(dirname)


def MkDir(dirname: Any) -> None:
    """Makes a folder in one that exists."""
    _gfile.mkdir(dirname)


def Remove(filename: Any) -> None:
    """Deletes a file; `NotFoundError` if it does not exist."""
    _gfile.remove(filename)


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder with everything in it; `NotFoundError` if it does not exist."""
    _gfile.rmtree(dirname)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file; see `tf.io.gfile.copy`."""
    _gfile.copy(oldpath, newpath, overwrite)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Gives a file or folder another path; see `tf.io.gfile.rename`."""
    _gfile.rename(oldname, newname, overwrite)


def Glob(filename: Any) -> list[str]:
    """Returns the paths that match a pattern such as `*.txt`, or one of a list of patterns."""
    return _gfile.glob(filename)


def Stat(filename: Any) -> _gfile.FileStatistics:
    """Returns length, time of the last change, and whether it is a folder; `NotFoundError` if it does not exist."""
    return _gfile.stat(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Yields each folder below one: its path, the folders and the files in it.

    Args:
      top: where to begin.
      in_order: whether a folder comes before those in it.
    """
    return _gfile.walk(top, in_order)
