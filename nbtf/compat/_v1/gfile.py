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
    """Returns whether a file or folder exists at this path."""
    return _gfile.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Returns whether this path is a folder."""
    return _gfile.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a folder; raises `NotFoundError` if the folder does not exist."""
    return _gfile.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Creates a folder and its missing parents; does nothing if it exists."""
    _gfile.makedirs(dirname)


def MkDir(dirname: Any) -> None:
    """Creates a folder; its parent must exist."""
    _gfile.mkdir(dirname)


def Remove(filename: Any) -> None:
    """Deletes a file; raises `NotFoundError` if it does not exist."""
    _gfile.remove(filename)


def DeleteRecursively(dirname: Any) -> None:
    """Deletes a folder and its contents; raises `NotFoundError` if it does not exist."""
    _gfile.rmtree(dirname)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file; see `tf.io.gfile.copy`."""
    _gfile.copy(oldpath, newpath, overwrite)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Renames or moves a file or folder; see `tf.io.gfile.rename`."""
    _gfile.rename(oldname, newname, overwrite)


def Glob(filename: Any) -> list[str]:
    """Returns the paths that match a pattern such as `*.txt` or any pattern in a list."""
    return _gfile.glob(filename)


def Stat(filename: Any) -> _gfile.FileStatistics:
    """Returns a file's length, modification time and type; raises `NotFoundError` if it does not exist."""
    return _gfile.stat(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Yields each folder in a tree: its path, its subfolders and its files.

    Args:
      top: root of the tree.
      in_order: whether a folder is yielded before its subfolders.
    """
    return _gfile.walk(top, in_order)
