"""Opens regular files only, because a FIFO waits for a writer and a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, Any, BinaryIO

_TYPES = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Flags with which opening never blocks, even if the path becomes a FIFO after the check."""

_ENDLESS_BYTES = 2**20
"""Bytes to read from a file with size 0: files in `/proc` report that size, and some of them never end."""

StrPath = str | os.PathLike[str]


def path_text(path: Any) -> str:
    """Returns a path as text.

    Raises:
      TypeError: if it is neither text nor an `os.PathLike` of text.
    """
    text = path.__fspath__() if hasattr(path, "__fspath__") else path
    if not isinstance(text, str):
        raise TypeError(f"`path` must be the path of a file: text or a `pathlib.Path`. Got {path!r}.")
    return text


def open_bytes(path: StrPath) -> BinaryIO:
    """Opens a regular file, or the target of a link to one, for reading bytes.

    Raises:
      IsADirectoryError: if `path` is a folder.
      OSError: if `path` is a FIFO, a socket or a device, which the error names, or cannot be opened.
    """
    return open(os.fspath(path), "rb", opener=_regular_only)


def open_text(path: StrPath, mode: str = "r", encoding: str = "utf-8") -> IO[str]:
    """Opens a regular file for reading text; raises the same errors as `open_bytes`."""
    return open(os.fspath(path), mode, encoding=encoding, opener=_regular_only)


def read_bytes(path: StrPath) -> bytes:
    """Returns the content of a regular file, up to its size when it was opened.

    Raises:
      OSError: if `path` is not a regular file, cannot be read, or has no end (like some files in `/proc`).
    """
    with open_bytes(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size or _ENDLESS_BYTES + 1)
    if len(content) > max(size, _ENDLESS_BYTES):
        text = f"Its size is reported as 0, but it has more than {_ENDLESS_BYTES:,} bytes; expected a regular file"
        raise OSError(errno.EINVAL, text, os.fspath(path))
    return content


def read_text(path: StrPath, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Returns the text of a regular file, with line feeds as line endings.

    Raises:
      OSError: as in `read_bytes`.
      UnicodeDecodeError: if the content is not text in this encoding.
    """
    text = read_bytes(path).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def type_of(mode: int) -> str:
    """Returns the type of a file that is not regular, given its mode: `a FIFO`."""
    return _TYPES.get(stat.S_IFMT(mode), "a special file")


def _regular_only(path: str, flags: int) -> int:
    """Opens a regular file; serves as `opener` for Python's `open`."""
    _check(path, os.stat(path))  # before opening, because opening a device may already have an effect
    descriptor = os.open(path, flags | _FLAGS)
    try:
        _check(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: str, status: os.stat_result) -> None:
    """Raises an error that names the type of a path, unless it is a regular file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"It is {type_of(status.st_mode)}; expected a regular file", path)
