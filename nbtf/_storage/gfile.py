"""Files and folders for `tf.io.gfile`: TensorFlow's names and errors on this computer's file system."""

from __future__ import annotations

import glob as patterns
import os
import shutil
import stat as modes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nbtf._storage import files
from nbtf._storage.files import StrPath
from nbtf._storage.system_errors import check_regular, named, text_of
from nbtf.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError


@dataclass(frozen=True)
class FileStatistics:
    """Length of a file, time of its last change, and whether it is a folder."""

    length: int
    """Length in bytes."""
    mtime_nsec: int
    """Time of the last change, in nanoseconds since 1970."""
    is_directory: bool
    """Whether it is a folder."""


def exists(path: Any) -> bool:
    """Returns whether a file or folder has this path.

    >>> tf.io.gfile.exists(getfixture("tmp_path"))
    True
    """
    return os.path.exists(path)


def isdir(path: Any) -> bool:
    """Returns whether a folder has this path.

    >>> tf.io.gfile.isdir(getfixture("tmp_path"))
    True
    """
    return os.path.isdir(path)


def listdir(path: Any) -> list[str]:
    """Returns the names in a folder.

    Raises:
      NotFoundError: if the folder does not exist.

    >>> tf.io.gfile.listdir(getfixture("tmp_path"))
    []
    """
    if not os.path.isdir(path):
        raise NotFoundError(f"Could not find directory {text_of(path)}")
    with named(path):
        return os.listdir(text_of(path))


def makedirs(path: Any) -> None:
    """Creates a folder and its parents; an existing folder is kept.

    >>> folder = getfixture("tmp_path") / "a" / "b"
    >>> tf.io.gfile.makedirs(folder)
    >>> folder.is_dir()
    True

    Raises:
      FailedPreconditionError: if a parent is a file.
    """
    above = text_of(path)
    while above and not os.path.lexists(above):
        above = os.path.dirname(above)
    if above and not os.path.isdir(above):
        raise FailedPreconditionError(f"{above} is not a directory")
    with named(path):
        files.make_folder(text_of(path))


def mkdir(path: Any) -> None:
    """Creates a folder; its parent must exist. An existing folder is kept.

    Raises:
      NotFoundError: if the parent does not exist.

    >>> tf.io.gfile.mkdir(getfixture("tmp_path") / "a")
    """
    with named(path):
        if not os.path.isdir(path):
            os.mkdir(path)


def remove(path: Any) -> None:
    """Deletes a file.

    Raises:
      NotFoundError: if it does not exist.
      FailedPreconditionError: if it is a folder.

    >>> path = getfixture("tmp_path") / "a.txt"
    >>> tf.io.write_file(str(path), "text")
    >>> tf.io.gfile.remove(path)
    """
    with named(path):
        os.remove(path)


def rmtree(path: Any) -> None:
    """Deletes a folder with everything in it, or a file.

    Raises:
      NotFoundError: if it does not exist.

    >>> folder = getfixture("tmp_path") / "a"
    >>> tf.io.gfile.makedirs(folder)
    >>> tf.io.gfile.rmtree(folder)
    """
    if not os.path.lexists(path):
        raise NotFoundError(f"{text_of(path)} not found")
    with named(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file.

    Args:
      src: the file.
      dst: the path of the copy.
      overwrite: whether to replace an existing file; False by default.

    Raises:
      AlreadyExistsError: if `dst` exists and `overwrite` is False.
      NotFoundError: if `src` does not exist.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a"), "text")
    >>> tf.io.gfile.copy(folder / "a", folder / "b")
    """
    check_regular(src)
    if os.path.exists(dst) and not overwrite:
        raise AlreadyExistsError("file already exists")
    with named(dst):
        files.copy(src, dst)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Renames or moves a file or folder.

    Args:
      src: the current path.
      dst: the new path.
      overwrite: whether to replace an existing file; False by default.

    Raises:
      AlreadyExistsError: if `dst` exists and `overwrite` is False.
      NotFoundError: if `src` does not exist.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a"), "text")
    >>> tf.io.gfile.rename(folder / "a", folder / "b")
    """
    if os.path.exists(dst) and not overwrite:
        raise AlreadyExistsError("file already exists")
    with named(src):
        os.replace(src, dst)


def glob(pattern: Any) -> list[str]:
    """Returns the paths that match a pattern such as `*.txt`, or any pattern of a list.

    >>> folder = getfixture("tmp_path")
    >>> tf.io.write_file(str(folder / "a.txt"), "text")
    >>> len(tf.io.gfile.glob(folder / "*.txt"))
    1
    """
    listed: Any = pattern if isinstance(pattern, list | tuple) else [pattern]  # pyright: ignore[reportUnknownVariableType]
    return [path for text in listed for path in matching(text_of(text))]


def matching(pattern: str) -> list[str]:
    """Returns the paths that match a pattern, sorted, with the prefix `./` for those in the current folder."""
    paths = sorted(patterns.glob(pattern, include_hidden=True))
    return [path if os.path.dirname(path) or path == pattern else os.path.join(".", path) for path in paths]


def join(path: StrPath, *paths: StrPath) -> str:
    """Returns path parts joined into one path.

    >>> tf.io.gfile.join("a", "b.txt")
    'a/b.txt'
    """
    return os.path.join(*[text_of(segment) for segment in (path, *paths)])


def stat(path: Any) -> FileStatistics:
    """Returns length, time of the last change, and whether the path is a folder.

    Raises:
      NotFoundError: if the path does not exist.

    >>> tf.io.gfile.stat(getfixture("tmp_path")).is_directory
    True
    """
    with named(path):
        status = os.stat(path)
    return FileStatistics(status.st_size, status.st_mtime_ns, modes.S_ISDIR(status.st_mode))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Any], None] | None = None
) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Yields each folder at or below `top`: its path, its subfolders and its files.

    Args:
      top: the folder to start with.
      topdown: whether a folder comes before its subfolders; True by default.
      onerror: called with the error of each folder that cannot be listed; by default errors are ignored.

    >>> [files for _, _, files in tf.io.gfile.walk(getfixture("tmp_path"))]
    [[]]
    """
    return os.walk(top, topdown=topdown, onerror=onerror)


def get_registered_schemes() -> list[str]:
    """Returns the supported schemes of paths: files on this computer.

    >>> tf.io.gfile.get_registered_schemes()
    ['file', '']
    """
    return ["file", ""]
